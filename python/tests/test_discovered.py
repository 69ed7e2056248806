"""Learning in episodes: discovered states, episodes that end or are truncated, and refusals."""

import gymnasium
import numpy as np
import pytest

import ide3al
from ide3al.encoding.discrete import DiscoveredStates, to_key

AGENTS = [
    ide3al.IDE3AL,
    ide3al.MaxEnt,
    ide3al.CountBased,
    ide3al.Random,
    ide3al.RMax,
    ide3al.RFUCRL,
    ide3al.EntGame,
]


class Corridor(gymnasium.Env):
    """Places 0..n - 1, left and right; observed as whatever `seen` makes of a place. Cut after some
    steps."""

    observation_space = gymnasium.Space()
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(
        self, n=12, steps=60, seen=lambda place: (place, "left" if place < 6 else "right")
    ):
        self.n, self.steps, self.seen = n, steps, seen

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.taken = 0
        return self.seen(self.place), {}

    def step(self, action):
        self.place = min(max(self.place + (1 if action else -1), 0), self.n - 1)
        self.taken += 1
        return self.seen(self.place), 0.0, False, self.taken >= self.steps, {}


def effective(visits):
    share = visits.sum(axis=1) / visits.sum()
    share = share[share > 0]
    return np.exp(-(share * np.log(share)).sum())


@pytest.mark.parametrize("agent", AGENTS)
def test_states_are_found_and_kept(agent, tmp_path):
    fitted = agent(seed=1).fit(Corridor(), total_timesteps=3000)
    n = len(fitted.states)
    assert fitted.visits.shape == fitted.policy.shape == (n, 2) and fitted.visits.sum() == 3000
    assert (0, "left") in fitted.states and fitted.model.n_states == n
    np.testing.assert_allclose(fitted.policy.sum(axis=1), 1, atol=1e-9)
    assert 0 < fitted.metrics["entropy"] <= np.log(n) + 1e-9
    # anything may be asked for
    assert fitted.predict((99, "nowhere")) in (0, 1)
    fitted.save(tmp_path / "agent.zip")
    loaded = agent.load(tmp_path / "agent.zip", env=Corridor())
    assert loaded.states == fitted.states
    np.testing.assert_array_equal(loaded.policy, fitted.policy)
    assert [loaded.predict(s) for s in loaded.states] == [fitted.predict(s) for s in fitted.states]
    first, second = fitted.fit(Corridor(), 500), loaded.fit(Corridor(), 500)
    np.testing.assert_array_equal(first.visits, second.visits)


def test_it_reaches_what_random_actions_do_not():
    agents = {a: a(seed=0).fit(Corridor(n=40, steps=80), total_timesteps=6000) for a in AGENTS}
    states = {a: effective(agent.visits) for a, agent in agents.items()}
    assert len(agents[ide3al.IDE3AL].states) == 40
    assert states[ide3al.IDE3AL] > 1.5 * states[ide3al.Random]
    assert states[ide3al.IDE3AL] > 0.95 * max(states.values())


def test_declared_and_found_states_are_learned_alike():
    class Declared(Corridor):
        observation_space = gymnasium.spaces.Discrete(500)

    declared = ide3al.IDE3AL(seed=4).fit(Declared(seen=int), total_timesteps=1500)
    found = ide3al.IDE3AL(seed=4).fit(Corridor(seen=int), total_timesteps=1500)
    assert declared.visits.shape == (500, 2)
    # most of what is declared does not exist; nothing but the numbering tells the two apart
    np.testing.assert_array_equal(declared.visits[found.states], found.visits)


def test_images_and_dictionaries_are_told_apart_by_their_content():
    class Screen(Corridor):
        observation_space = gymnasium.spaces.Dict(
            {
                "screen": gymnasium.spaces.Box(0, 255, (3, 3), np.uint8),
                "text": gymnasium.spaces.Text(5),
            }
        )

    seen = lambda place: {"screen": np.full((3, 3), place, np.uint8), "text": "x"}  # noqa: E731
    agent = ide3al.IDE3AL().fit(Screen(n=5, seen=seen), total_timesteps=400)
    assert len(agent.states) == 5
    assert agent.predict(seen(3)) in (0, 1)
    data = ide3al.collect(Screen(n=5, seen=seen), agent, total_timesteps=100)
    assert data.n_states == 5 and len(data) == 100


def test_cut_episodes_are_planned_for():
    """Episodes of thirty steps are planned for as if they ended at random after thirty."""
    agent = ide3al.IDE3AL(seed=0).fit(Corridor(n=50, steps=30), total_timesteps=5000)
    realised = ide3al.collect(Corridor(n=50, steps=30), agent, total_timesteps=5000).counts
    stationary = agent.metrics["stationary"]
    shares = np.zeros(len(stationary))
    shares[: len(realised)] = (realised.sum(axis=1) / realised.sum())[: len(stationary)]
    assert np.abs(shares - stationary).sum() < 0.7
    assert agent.metrics["entropy"] > np.log(10)


def test_absorbing_states_are_named_and_paper_mode_says_what_falls_apart():
    class Trap(Corridor):
        def step(self, action):
            if self.place == self.n - 1:
                action = 1
            return super().step(action)

    agent = ide3al.IDE3AL(seed=0).fit(Trap(n=4, steps=10**9), total_timesteps=2000)
    assert any("looks absorbing" in note for note in agent.notes)
    declared = Trap(n=4, steps=10**9, seen=int)
    declared.observation_space = gymnasium.spaces.Discrete(4)
    paper = ide3al.IDE3AL(paper=True, formulation="state-entropy").fit(
        declared, total_timesteps=500
    )
    assert any("cannot be visited for ever" in note for note in paper.notes)


def test_batches_grow_and_paper_mode_is_the_papers():
    updates = []
    ide3al.IDE3AL().fit(
        Corridor(), 5000, callback=lambda agent: updates.append(agent.num_timesteps)
    )
    sizes = np.diff([0, *updates])
    assert 20 < len(updates) < 110 and sizes[0] == 50 and sizes[-2] > 5 * sizes[0]
    env = gymnasium.make("FrozenLake-v1")
    paper = ide3al.IDE3AL(paper=True, seed=2).fit(env, total_timesteps=640)
    assert "paper=True" in repr(paper)
    with pytest.raises(ide3al.Error, match="need to know all states beforehand"):
        ide3al.IDE3AL(paper=True).fit(Corridor(), total_timesteps=10)
    with pytest.warns(DeprecationWarning, match="prior does nothing"):
        ide3al.IDE3AL(prior=0.1)


def test_what_is_refused():
    with pytest.raises(
        ide3al.Error, match="type set cannot be told from others.*TransformObservation"
    ):
        ide3al.IDE3AL().fit(Corridor(seen=lambda place: {place}), total_timesteps=100)
    for nan in (float("nan"), np.array([0.0, np.nan]), (1, np.float32("nan"))):
        with pytest.raises(ide3al.Error, match="NaN"):
            ide3al.Random().fit(Corridor(seen=lambda place, nan=nan: nan), total_timesteps=100)
    with pytest.raises(ide3al.Error, match="every one of .* steps was cut short"):
        ide3al.IDE3AL().fit(Corridor(steps=1), total_timesteps=1000)

    class Over(Corridor):
        def step(self, action):
            return "over", 0.0, True, False, {}

    with pytest.raises(ide3al.Error, match="every step ended its episode in the same state"):
        ide3al.IDE3AL().fit(Over(), total_timesteps=1000)
    with pytest.raises(ide3al.Error, match="known = 0"):
        ide3al.RMax(known=0)
    for rival in (ide3al.RFUCRL, ide3al.EntGame):
        with pytest.raises(ide3al.Error, match="horizon = 0"):
            rival(horizon=0)
    with pytest.raises(ide3al.Error, match="total_timesteps = 0"):
        ide3al.IDE3AL().fit(Corridor(), total_timesteps=0)
    agent = ide3al.IDE3AL().fit(Corridor(), total_timesteps=100)
    with pytest.raises(
        ide3al.Error,
        match="has learned .* states and 2 actions; the environment has 16 states and 4 actions",
    ):
        agent.fit(gymnasium.make("FrozenLake-v1"), total_timesteps=10)
    wider = Corridor()
    wider.action_space = gymnasium.spaces.Discrete(3)
    with pytest.raises(ide3al.Error, match="any number of states and 3 actions"):
        agent.fit(wider, total_timesteps=10)


def test_a_bandit_is_no_error():
    """Every step ends the episode, but the action decides where."""

    class Bandit(Corridor):
        def step(self, action):
            return ("arm", int(action)), 0.0, True, False, {}

    agent = ide3al.IDE3AL().fit(Bandit(), total_timesteps=500)
    assert len(agent.states) == 3
    np.testing.assert_allclose(agent.policy[agent.states.index((0, "left"))], 0.5, atol=0.1)


def test_keys_of_observations():
    assert to_key(np.float64(2.0)) == 2.0 and to_key([1, [2, 3]]) == (1, (2, 3))
    assert to_key(np.zeros(2)) != to_key(np.zeros((1, 2))) != to_key(np.zeros((1, 2), np.int64))
    found = DiscoveredStates()
    assert [found.number(x) for x in ("a", b"b", "a", None)] == [0, 1, 0, 2]
    assert DiscoveredStates.load(found.save()).keys == ["a", b"b", None]
    with pytest.raises(ide3al.Error, match="cannot be written to a file"):
        found.number(object())
        found.save()
