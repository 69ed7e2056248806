"""Promises: they hold in the data, in few steps, and say so; also on a cluster that loses its
runners."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from lakes import ARRAYS, LAKE, Screens, lake, minari_here, same  # noqa: F401

import ide3al
from ide3al.envs import ModelEnv


def actionable(data):
    return data.counts[data.actionable]


def test_each_pair_in_few_steps_and_certified():
    until = ide3al.Coverage(each_pair=20)
    seen = []
    data = ide3al.collect(
        lake(is_slippery=False), ide3al.IDE3AL(), until=until, progress_bar=seen.append
    )
    promise = data.card["promise"]
    assert (
        promise["holds"]
        and actionable(data).min() >= 20
        and data.card["pairs"]["least_count"] >= 20
    )
    assert promise["steps"] == len(data) and promise["ratio"] == pytest.approx(
        len(data) / promise["least_steps"]
    )
    assert 1 <= promise["ratio"] < 2
    # never fewer steps than samples
    assert promise["least_steps"] >= 20 * 11 * 4
    assert seen[-1]["short"] == 0 and any(now["least"] for now in seen)
    same(data, ide3al.collect(lake(is_slippery=False), ide3al.IDE3AL(), until=until))
    random = ide3al.collect(lake(is_slippery=False), ide3al.Random(), until=until)
    assert random.card["promise"]["holds"] and len(random) > 1.5 * len(data)
    assert random.card["promise"]["least_steps"] == pytest.approx(promise["least_steps"], rel=0.2)


def test_the_least_number_of_steps_is_that_of_an_independent_solver():
    """The linear program written out, for a chain without ends or cuts that matter."""
    from scipy.optimize import linprog

    env = ModelEnv("double-chain")
    data = ide3al.collect(env, np.full((20, 2), 0.5), total_timesteps=30_000, episode_steps=30_000)
    found = ide3al.audit(data, until=ide3al.Coverage(each_pair=10_000)).card["promise"]
    # the data's own frequencies, with the restarts that the estimate assumes
    n, cut = 20, 2 / (len(data) + 1)
    P = np.zeros((n, 2, n))
    np.add.at(P, (data.observations, data.actions, data.next_observations), 1)
    P /= P.sum(axis=2, keepdims=True)
    P = ((1 - cut) * P).reshape(2 * n, n)
    P[:, data.observations[0]] += cut
    flow = np.repeat(np.eye(n), 2, axis=0) - P
    wanted = np.full(2 * n, 10_000.0)
    best = linprog(
        np.ones(2 * n), A_eq=flow.T, b_eq=np.zeros(n), bounds=np.c_[wanted, np.full(2 * n, np.inf)]
    )
    assert found["least_steps"] == pytest.approx(best.fun, rel=1e-5)
    assert found["least_steps"] <= best.fun * (1 + 1e-9)


def test_states_only_and_effective_states():
    data = ide3al.collect(lake(), ide3al.IDE3AL(), until=ide3al.Coverage(each_state=30))
    assert actionable(data).sum(axis=1).min() >= 30 and data.card["promise"]["ratio"] < 4
    pairs = ide3al.collect(lake(), ide3al.IDE3AL(), until=ide3al.Coverage(each_pair=30))
    assert (
        len(data) < len(pairs)
        and data.card["promise"]["least_steps"] < pairs.card["promise"]["least_steps"]
    )
    even = ide3al.collect(
        ModelEnv("double-chain"),
        ide3al.IDE3AL(),
        until=ide3al.Coverage(effective_states=16),
        episode_steps=100,
    )
    assert even.card["effective_states"] >= 16 and even.card["promise"]["holds"]
    with pytest.raises(
        ide3al.CollectionError, match="cannot hold: 25 effective states of 20 states met"
    ) as caught:
        ide3al.collect(
            ModelEnv("double-chain"),
            ide3al.IDE3AL(),
            until=ide3al.Coverage(effective_states=25),
            episode_steps=100,
        )
    assert len(caught.value.data) > 20 * 2 * 20


def test_promises_that_cannot_hold_say_why(tmp_path):
    # state 1 of CliffWalking's cliff is never stood on
    until = ide3al.Coverage(each_pair=3, states=[0, 38])
    with pytest.raises(
        ide3al.CollectionError,
        match="cannot hold: never met: 38; every pair of the states met has 3 samples",
    ) as caught:
        env = gymnasium.make("CliffWalking-v1", max_episode_steps=100)
        ide3al.collect(env, ide3al.IDE3AL(), until=until, out=tmp_path / "cliff")
    assert (
        actionable(caught.value.data).min() >= 3 and (tmp_path / "cliff" / "episodes.log").exists()
    )
    short = ide3al.collect(
        lake(), ide3al.IDE3AL(), until=ide3al.Coverage(each_pair=50), total_timesteps=500
    )
    promise = short.card["promise"]
    assert (
        len(short) == 500
        and not promise["holds"]
        and promise["short"] == len(promise["short_named"]) > 0
    )
    assert promise["least_further_steps"] > 0
    for given, message in (
        ({}, "give one of"),
        ({"each_pair": 0}, "each_pair = 0"),
        ({"each_pair": 1.5}, "each_pair = 1.5"),
        ({"each_pair": 1, "each_state": 1}, "give one of"),
        ({"effective_states": float("nan")}, "effective_states = nan"),
        ({"effective_states": 3, "states": [1]}, "leave out states"),
    ):
        with pytest.raises(ide3al.Error, match=message):
            ide3al.Coverage(**given)
    with pytest.raises(ide3al.Error, match="99 is no element"):
        ide3al.collect(lake(), ide3al.IDE3AL(), until=ide3al.Coverage(each_pair=1, states=[99]))


@pytest.mark.parametrize("after", [1, 5, 8, 9])
def test_a_promise_goes_on_after_a_stop_as_if_nothing_had_happened(after, tmp_path):
    def stop(now):
        if now["episodes"] == after:
            raise KeyboardInterrupt

    given = {"until": ide3al.Coverage(each_pair=15), "seed": 2, "out": tmp_path / "x"}
    with pytest.raises(KeyboardInterrupt):
        ide3al.collect(Screens(), ide3al.IDE3AL(), **given, progress_bar=stop)
    resumed = ide3al.collect(Screens(), ide3al.IDE3AL(), **given, resume=True)
    same(resumed, ide3al.collect(Screens(), ide3al.IDE3AL(), **{**given, "out": tmp_path / "y"}))


class Rooms(gymnasium.Env):
    """Sixteen rooms of four places in a circle; episodes start anywhere. The only way to the next
    room is a door that one action of one place opens: until that is tried, a room seems to be
    reached by starting there alone. One action of another place ends the episode."""

    observation_space = gymnasium.spaces.Discrete(65)
    action_space = gymnasium.spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.taken = int(self.np_random.integers(64)), 0
        return self.place, {}

    def step(self, action):
        room, at = divmod(self.place, 4)
        if action < 2:
            at = min(max(at + (1 if action else -1), 0), 3)
        elif action == 2 and at == 3:
            room, at = (room + 1) % 16, 0
        self.place = 64 if action == 3 and at == 0 else 4 * room + at
        self.taken += 1
        return self.place, 0.0, self.place == 64, self.taken >= 200, {}


def test_places_known_only_from_starting_there_are_reached_by_the_roads_to_them():
    until = ide3al.Coverage(each_pair=8)
    data = ide3al.collect(Rooms(), ide3al.IDE3AL(), until=until, seed=0)
    assert data.card["promise"]["holds"] and actionable(data).min() >= 8
    assert data.card["promise"]["ratio"] < 2


class Closing(gymnasium.Env):
    """A corridor with a room at its end, where one begins, that closes after twelve steps."""

    observation_space = gymnasium.spaces.Discrete(6)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self):
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.taken = 5 if self.steps == 0 else 0, 0
        return self.place, {}

    def step(self, action):
        self.steps += 1
        last = 5 if self.steps <= 12 else 4
        self.place = min(max(self.place + (1 if action else -1), 0), last)
        self.taken += 1
        return self.place, 0.0, False, self.taken >= 12, {}


@pytest.mark.parametrize("environments", [0, 1, 3])
def test_masked_actions_are_not_gone_for(environments):
    env = (
        gymnasium.make_vec("Taxi-v4", num_envs=environments, vectorization_mode="sync")
        if environments
        else gymnasium.make("Taxi-v4")
    )
    until = ide3al.Coverage(each_pair=3)
    data = ide3al.collect(env, ide3al.IDE3AL(), until=until, seed=4)
    wanted = data.actionable[:, None] & data.possible
    # fewer than the six actions of each of the states
    assert wanted.sum() < 4 * data.actionable.sum() and not data.counts[~data.possible].any()
    assert data.counts[wanted].min() >= 3 and data.card["promise"]["ratio"] < 1.6


def test_episodes_that_are_taken_together_do_not_bring_the_same_samples():
    env = gymnasium.wrappers.TimeLimit(ModelEnv("four-rooms"), 100)
    until = ide3al.Coverage(each_pair=20)
    data = ide3al.collect(env, ide3al.IDE3AL(), until=until, seed=4)
    plans = {episode.plan for episode in data.episodes()}
    assert data.card["promise"]["ratio"] < 1.1 and len(plans) < len(list(data.episodes()))


def test_rare_outcomes_are_waited_for_where_observations_are_states():
    lakes = gymnasium.make_vec(
        "FrozenLake-v1", num_envs=4, vectorization_mode="sync", map_name="8x8"
    )
    data = ide3al.collect(lakes, ide3al.IDE3AL(), until=ide3al.Coverage(each_pair=10), seed=4)
    assert data.card["promise"]["holds"] and data.card["promise"]["ratio"] < 1.6


def test_what_is_out_of_reach_is_given_up_with_an_account():
    until = ide3al.Coverage(each_pair=30)
    with pytest.raises(ide3al.CollectionError, match="given up after .* steps") as caught:
        ide3al.collect(Closing(), ide3al.IDE3AL(), until=until)
    assert "are short" in str(caught.value) and len(caught.value.data) > 1000


def test_a_random_data_set_is_audited_and_completed():
    random = ide3al.collect(
        lake(), ide3al.Random(), total_timesteps=800, seed=3, dataset_id="lake/random-v0"
    )
    until = ide3al.Coverage(each_pair=10)
    card = ide3al.audit("lake/random-v0", until=until).card
    assert not card["promise"]["holds"] and card["promise"]["short"] > 0
    for s, a, missing in card["promise"]["short_named"]:
        assert missing == 10 - random.counts[s, a]
    whole = ide3al.collect(lake(), ide3al.IDE3AL(), until=until, initial_data="lake/random-v0")
    assert whole.card["promise"]["holds"] and actionable(whole).min() >= 10
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(whole, name)[:800], getattr(random, name))
    assert whole.card["completes"]["steps"] == 800
    for mode in AutoresetMode:
        vector = gymnasium.make_vec(
            "FrozenLake-v1",
            num_envs=3,
            vectorization_mode="sync",
            vector_kwargs={"autoreset_mode": mode},
            max_episode_steps=15,
        )
        many = ide3al.collect(vector, ide3al.IDE3AL(), until=until)
        assert many.card["promise"]["holds"] and actionable(many).min() >= 10
        # plans change while episodes are in progress, and none is lost or torn
        assert all(episode.states[0] == 0 and len(episode) <= 15 for episode in many.episodes())


def test_a_cluster_that_loses_runners_collects_the_same_bytes(cluster, tmp_path, monkeypatch):
    import ray

    from ide3al.runners.ray import RayRunner

    sources = []
    before = RayRunner.__init__

    def remembered(self, *given):
        before(self, *given)
        sources.append(self)

    monkeypatch.setattr(RayRunner, "__init__", remembered)

    def kill(now):
        if now["episodes"] == 10 and not now.get("done"):
            ray.kill(sources[-1]._runners[0])

    given = {"until": ide3al.Coverage(each_pair=15), "seed": 2}
    ide3al.collect(Screens(), ide3al.IDE3AL(), **given, out=tmp_path / "here")
    ide3al.collect(
        Screens,
        ide3al.IDE3AL(),
        **given,
        out=tmp_path / "ray",
        engine="ray",
        workers=2,
        progress_bar=kill,
    )
    assert sources[-1].replaced == 1
    for name in ("data.npz", "card.json", "card.html"):
        assert (tmp_path / "ray" / name).read_bytes() == (tmp_path / "here" / name).read_bytes(), (
            name
        )
    agents = [ide3al.IDE3AL(seed=1).fit(Screens, 600, engine="ray", workers=2) for _ in range(2)]
    assert agents[0].num_timesteps == 600
    np.testing.assert_array_equal(agents[0].visits, agents[1].visits)
    assert len(agents[0].states) == 6

    class Broken(Screens):
        def step(self, action):
            raise RuntimeError("the motor stalled")

    with pytest.raises(RuntimeError, match="the motor stalled"):
        ide3al.collect(Broken, ide3al.Random(), total_timesteps=10, engine="ray", workers=1)
    with pytest.raises(ide3al.Error, match="need a function that makes an environment"):
        ide3al.collect(lake(), LAKE, total_timesteps=10, engine="ray")
    with pytest.raises(ide3al.Error, match="workers = 0"):
        ide3al.IDE3AL().fit(lake, 10, engine="ray", workers=0)
