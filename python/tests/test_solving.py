"""Solving from Python is solving in Rust: certificates, parameters, Ctrl-C."""

import _thread
import threading
import time

import numpy as np
import pytest

import ide3al

FORMULATIONS = ["frobenius", "infinity", "column-sum", "dual", "state-entropy"]


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_every_formulation_comes_with_a_certificate(formulation):
    mdp = ide3al.MDP.domain("double-chain")
    solution = ide3al.solve(mdp, formulation, xi=0.1)
    assert solution.status == "optimal"
    assert solution.gap <= 5e-8
    assert solution.policy.shape == (20, 2)
    np.testing.assert_allclose(solution.policy.sum(axis=1), 1, atol=1e-12)
    assert solution.policy.min() >= 0.1 - 1e-9
    # both solvers agree
    other = ide3al.solve(mdp, formulation, xi=0.1, solver="conic")
    assert abs(solution.objective - other.objective) < 1e-6


def test_objectives_follow_from_the_policy():
    """Judged from the definitions, with NumPy alone."""
    mdp = ide3al.MDP.domain("single-chain")
    column = ide3al.solve(mdp, "column-sum", xi=0.05)
    M = np.einsum("sa,sat->st", column.policy, mdp.dense())
    assert np.abs(1 - M.sum(axis=0)).sum() == pytest.approx(column.objective, abs=1e-9)
    entropy = ide3al.solve(mdp, "state-entropy", xi=0.05)
    M = np.einsum("sa,sat->st", entropy.policy, mdp.dense())
    values, vectors = np.linalg.eig(M.T)
    d = np.real(vectors[:, np.argmax(values.real)])
    d /= d.sum()
    assert -(d * np.log(d)).sum() == pytest.approx(entropy.objective, abs=1e-6)
    np.testing.assert_allclose(entropy.chain.stationary, d, atol=1e-9)
    assert entropy.chain.state_entropy == pytest.approx(entropy.objective, abs=1e-6)


def test_a_solution_shows_itself():
    solution = ide3al.solve(ide3al.MDP.domain("river-swim"))
    assert "frobenius" in repr(solution) and "mixing time" in repr(solution)
    html = solution._repr_html_()
    assert html.startswith("<table>") and "<MDP" not in html
    assert 0 < solution.metrics["optimal_entropy_share"] <= 1 + 1e-9
    assert solution.metrics["bounds"]["certified"] <= solution.chain.state_entropy
    assert solution.chain.recurrent_classes == 1


def test_horizon_chooses_zeta():
    solution = ide3al.solve(ide3al.MDP.domain("single-chain"), xi=0.05, horizon=50)
    tried = dict(solution.tried)
    assert solution.zeta in tried and tried[solution.zeta] == max(tried.values())
    assert solution.chain.figures["horizon"] == 50


def test_states_with_different_actions():
    P = np.zeros((3, 2, 3))
    P[0, 0, 1] = P[0, 1, 2] = P[1, 1, 0] = P[2, 0, 0] = 1.0
    solution = ide3al.solve(ide3al.MDP(P), xi=0.1)
    assert [row.size for row in solution.policy] == [2, 1, 1]
    np.testing.assert_allclose(solution.policy[0], [0.5, 0.5], atol=1e-6)
    analysis = ide3al.analyze(solution.mdp, solution.policy)
    np.testing.assert_allclose(analysis.stationary, [0.5, 0.25, 0.25], atol=1e-6)
    assert analysis.mixing_time == np.inf and analysis.period == 2


def test_warm_start_and_limits():
    mdp = ide3al.MDP.domain("garnet", states=60, seed=1)
    first = ide3al.solve(mdp, xi=0.05)
    again = ide3al.solve(mdp, xi=0.06, warm=first)
    cold = ide3al.solve(mdp, xi=0.06)
    assert again.objective == pytest.approx(cold.objective, abs=1e-6)


def test_policies_are_written(tmp_path):
    solution = ide3al.solve(ide3al.MDP.domain("double-chain"))
    solution.save_policy(tmp_path / "policy.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "policy.npy").reshape(20, 2), solution.policy)


def test_frontier():
    mdp = ide3al.MDP.domain("double-chain")
    trade_off = ide3al.frontier(mdp, xi=0.05, points=5)
    assert len(trade_off) == 5 and trade_off.vary == "zeta"
    assert np.all(np.diff(trade_off["zeta"]) > 0)
    # a tighter target can only be farther away
    assert np.all(np.diff(trade_off["objective"]) <= 1e-7)
    assert trade_off._repr_svg_().startswith("<svg")
    assert ide3al.frontier(mdp, "dual", points=3).vary == "xi"


def test_the_interpreter_is_free_while_solving():
    mdp = ide3al.MDP.domain("garnet", states=400, actions=4, branching=5)
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.perf_counter()
    solution = ide3al.solve(mdp, "infinity", xi=0.05, time_limit=0.5)
    end = time.perf_counter()
    done.set()
    thread.join()
    assert end - begin > 0.05, f"too quick to tell: {solution.seconds} s"
    during = [t for t in ticks if begin < t < end]
    assert len(during) > 10


def test_ctrl_c_ends_a_solve():
    mdp = ide3al.MDP.domain("garnet", states=3000, actions=4, branching=8)
    timer = threading.Timer(0.5, _thread.interrupt_main)
    begin = time.perf_counter()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        ide3al.solve(mdp, "infinity", xi=0.05, tolerance=0.0, max_iterations=10**9)
    assert time.perf_counter() - begin < 20


def test_ctrl_c_ends_frontiers_and_analyses():
    mdp = ide3al.MDP.domain("garnet", states=1500, actions=4, branching=8)
    large = ide3al.MDP.domain("garnet", states=200_000, actions=2, branching=20)
    for work in (
        lambda: ide3al.frontier(mdp, "infinity", xi=0.05, points=50, tolerance=0.0),
        lambda: ide3al.analyze(large, horizon=10_000),
    ):
        timer = threading.Timer(0.3, _thread.interrupt_main)
        begin = time.perf_counter()
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            work()
        assert time.perf_counter() - begin < 10
