"""Episodes and policies that depend on the step."""

import json
import pathlib
import pickle

import gymnasium
import numpy as np
import pytest

import ide3al

DATA = pathlib.Path(__file__).parents[2] / "tests" / "data" / "occupancy.json"


def reference():
    for model in json.loads(DATA.read_text()):
        n, a = model["states"], model["actions"]
        P = np.zeros((n, a, n))
        for s, action, t, p in model["transitions"]:
            P[s, action, t] += p
        for case in model["cases"]:
            value = case["optima"].get("episode")
            if value is not None:
                yield ide3al.MDP(P, start=0), case["steps"], case["xi"], value


@pytest.mark.parametrize("solver", ["auto", "conic"])
def test_reference_values(solver):
    cases = list(reference())
    assert len(cases) >= 15
    for mdp, steps, xi, value in cases:
        solution = ide3al.solve(mdp, "episode", steps=steps, xi=xi, solver=solver)
        assert solution.objective == pytest.approx(value, abs=1e-6)
        assert solution.gap <= 1e-6 and solution.bound >= solution.objective - 1e-12
        assert solution.policy.shape == (steps, mdp.n_states, mdp.n_actions)
        assert solution.policy.min() >= xi - 1e-12


def average(mdp, policy):
    """The definition, in NumPy."""
    P = mdp.sparse().toarray().reshape(mdp.n_states, mdp.n_actions, mdp.n_states)
    d = mdp.start.copy()
    total = np.zeros_like(d)
    for table in policy:
        total += d
        d = np.einsum("s,sa,sat->t", d, table, P)
    return total / len(policy)


def test_what_is_promised_is_what_happens():
    mdp = ide3al.MDP.domain("river-swim")
    solution = ide3al.solve(mdp, "episode", steps=9, xi=0.05)
    d = average(mdp, solution.policy)
    assert -(d[d > 0] * np.log(d[d > 0])).sum() == pytest.approx(solution.objective, abs=1e-12)
    assert solution.episode.distribution == pytest.approx(d, abs=1e-12)
    assert solution.metrics["formulation"] == "episode" and solution.metrics["steps"] == 9
    assert "no policy has more" in repr(solution)
    # no stationary policy does better within these steps
    rng = np.random.default_rng(1)
    for _ in range(300):
        p = 0.05 + 0.9 * rng.dirichlet([0.5, 0.5], size=6)
        seen = average(mdp, np.broadcast_to(p, (9, 6, 2)))
        assert (
            -(seen * np.log(seen, where=seen > 0, out=np.zeros(6))).sum() <= solution.bound + 1e-9
        )
    stationary = ide3al.solve(mdp, horizon=9, xi=0.05, compare="always")
    share = stationary.metrics["horizon_optimal_entropy_share"]
    assert 0 < share <= 1 + 1e-7
    assert stationary.metrics["horizon_optimal_entropy"] == pytest.approx(
        solution.objective, abs=1e-6
    )


@pytest.mark.parametrize("name", ["policy.json", "policy.npz", "policy.npy"])
def test_files_have_a_leading_time_axis(tmp_path, name):
    mdp = ide3al.MDP.domain("double-chain", states=7)
    solution = ide3al.solve(mdp, "episode", steps=5)
    solution.save_policy(tmp_path / name)
    back = ide3al.load_policy(mdp, tmp_path / name)
    assert np.array_equal(back, solution.policy)
    if name.endswith("npz"):
        assert np.load(tmp_path / name)["policy"].shape == (5, 7, 2)
    seen = ide3al.analyze(mdp, back)
    assert isinstance(seen, ide3al.EpisodeAnalysis)
    assert seen.state_entropy == pytest.approx(solution.objective, abs=1e-12)
    assert "5 steps" in repr(seen)


def test_states_with_different_actions(tmp_path):
    P = np.zeros((3, 2, 3))
    P[0, 0, 1] = P[0, 1, 2] = P[1, 0, 2] = P[2, 0, 0] = 1
    mdp = ide3al.MDP(P, start=0)
    solution = ide3al.solve(mdp, "episode", steps=4, xi=0)
    assert [row.size for row in solution.policy[0]] == [2, 1, 1]
    solution.save_policy(tmp_path / "p.npz")
    again = ide3al.load_policy(mdp, tmp_path / "p.npz")
    assert all(np.array_equal(a, b) for s, t in zip(again, solution.policy) for a, b in zip(s, t))
    assert ide3al.analyze(mdp, again).state_entropy == pytest.approx(solution.objective, abs=1e-12)


def test_roll_outs_follow_the_step():
    from ide3al.envs import register

    register()
    env = gymnasium.make("ide3al/DoubleChain-v0", states=9)
    mdp = ide3al.MDP.domain("double-chain", states=9)
    solution = ide3al.solve(mdp, "episode", steps=6, xi=0.02)
    data = ide3al.collect(env, solution.policy, 60_000, seed=4)
    # every episode is cut after its six steps
    assert np.flatnonzero(data.truncations)[:3].tolist() == [5, 11, 17]
    assert (data.observations[::6] == mdp.start.argmax()).all()
    shares = np.bincount(data.observations, minlength=9) / len(data)
    assert shares == pytest.approx(solution.episode.distribution, abs=0.01)
    entropy = -(shares[shares > 0] * np.log(shares[shares > 0])).sum()
    assert entropy == pytest.approx(solution.objective, abs=5e-3)


def test_bad_input():
    mdp = ide3al.MDP.domain("double-chain")
    for given, words in [
        ({}, "give the number of steps"),
        ({"steps": 0}, "steps = 0: an episode has at least one step"),
        ({"steps": -3}, "steps = -3"),
        ({"steps": 10**12}, "too large to hold"),
        ({"steps": 5, "xi": 0.7}, "xi = 0.7"),
        ({"steps": 5, "zeta": 0.7}, "zeta: episode takes none"),
        ({"steps": 5, "horizon": 3}, "horizon: episode takes none"),
    ]:
        with pytest.raises(ide3al.Error, match=words):
            ide3al.solve(mdp, "episode", **given)
    with pytest.raises(ide3al.Error, match="steps = 4: dual takes none"):
        ide3al.solve(mdp, "dual", steps=4)
    with pytest.raises(ide3al.Error, match=r"step 1: policy: expected shape \(20, 2\)"):
        ide3al.analyze(mdp, np.full((3, 4, 2), 0.5))
    with pytest.raises(ide3al.Error, match="horizon = 4"):
        ide3al.analyze(mdp, np.full((3, 20, 2), 0.5), horizon=4)
    broken = np.full((3, 20, 2), 0.5)
    broken[1, 7] = 0.9
    with pytest.raises(ide3al.Error, match="state 7: in step 2"):
        ide3al.analyze(mdp, broken)


def test_travel_times_survive_pickling(tmp_path):
    mdp = ide3al.MDP.domain("double-chain", states=5).with_times(np.arange(1.0, 11.0))
    again = pickle.loads(pickle.dumps(mdp))
    assert again == mdp and np.array_equal(again.times, mdp.times)
    for name in ("model.json", "model.npz"):
        mdp.save(tmp_path / name)
        assert np.array_equal(ide3al.MDP.load(tmp_path / name).times, mdp.times)
    with pytest.raises(ide3al.Error, match="travel time = -1"):
        mdp.with_times(np.full((5, 2), -1.0))
    with pytest.raises(ide3al.Error, match="one per state-action pair"):
        mdp.with_times(np.ones(3))
