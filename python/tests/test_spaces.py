"""Every kind of space that Gymnasium has, and environments that do not keep to theirs: fitted,
followed, collected, saved and loaded."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import ide3al

PLACES = 6


class Walk(gymnasium.Env):
    """A walk over six places, shown and steered through any spaces: action 1 goes right, any other
    left; the last place ends the episode."""

    def __init__(self, observation_space, show, action_space=None, number=int, masks=None):
        self.observation_space = observation_space
        self.action_space = spaces.Discrete(2) if action_space is None else action_space
        self.show, self.number, self.masks = show, number, masks

    def _now(self):
        info = {} if self.masks is None else {"action_mask": self.masks(self.place)}
        return self.show(self.place), info

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.taken = 0, 0
        return self._now()

    def step(self, action):
        number = self.number(action)
        if self.masks is not None:
            assert self.masks(self.place)[number], f"action {number} is not allowed in {self.place}"
        self.place = min(max(self.place + (1 if number == 1 else -1), 0), PLACES - 1)
        self.taken += 1
        over = self.place == PLACES - 1
        observation, info = self._now()
        return observation, float(over), over, self.taken >= 30, info


def one_hot(dtype):
    return lambda k: np.eye(PLACES, dtype=dtype)[k]


def both(k):
    return {"place": k, "flags": np.array([k & 1, k >> 1 & 1], dtype=np.int8)}


def graph(k):
    nodes = np.full((k + 1, 1), k, dtype=np.int64)
    return spaces.GraphInstance(nodes, None, None)


def few(k):
    return np.array([k > 0, 1, k % 2], dtype=np.int8)


PLACE = spaces.Discrete(PLACES)
PARTS = spaces.Dict(place=PLACE, flags=spaces.MultiBinary(2))
THREE = spaces.Discrete(3)

#: Name, environment, whether states are finite: as many states are met as there are places.
SPACES = [
    ("discrete", lambda: Walk(PLACE, int), True),
    ("discrete from 5", lambda: Walk(spaces.Discrete(PLACES, start=5), lambda k: k + 5), True),
    ("numpy numbers", lambda: Walk(PLACE, np.int32), True),
    ("arrays without axes", lambda: Walk(PLACE, np.array), True),
    ("multi-discrete", lambda: Walk(spaces.MultiDiscrete([3, 2]), lambda k: np.array([k // 2, k % 2])), True),
    ("multi-discrete table", lambda: Walk(spaces.MultiDiscrete([[3], [2]]), lambda k: np.array([[k // 2], [k % 2]])), True),
    ("multi-binary", lambda: Walk(spaces.MultiBinary(PLACES), one_hot(np.int8)), True),
    ("large multi-binary", lambda: Walk(spaces.MultiBinary(40), lambda k: np.eye(40, dtype=np.int8)[k]), True),
    ("one-hot integers", lambda: Walk(spaces.Box(0, 1, (PLACES,), np.int8), one_hot(np.int8)), True),
    ("one-hot floats", lambda: Walk(spaces.Box(0, 1, (PLACES,), np.float32), one_hot(np.float32)), True),
    ("integer box", lambda: Walk(spaces.Box(0, 99, (2,), np.int64), lambda k: np.array([k, 7])), True),
    ("unbounded integer box", lambda: Walk(spaces.Box(-(2**63), 2**63 - 2, (1,), np.int64), lambda k: np.array([k])), True),
    ("image", lambda: Walk(spaces.Box(0, 255, (4, 4, 3), np.uint8), lambda k: np.full((4, 4, 3), k, np.uint8)), True),
    ("dictionary", lambda: Walk(PARTS, both), True),
    ("dictionary in another order", lambda: Walk(PARTS, lambda k: dict(reversed(both(k).items())) if k % 2 else both(k)), True),
    ("tuple", lambda: Walk(spaces.Tuple([PLACE, spaces.MultiBinary(1)]), lambda k: (k, np.array([k % 2], dtype=np.int8))), True),
    ("nested", lambda: Walk(spaces.Dict(a=spaces.Tuple([PLACE, PARTS])), lambda k: {"a": (k, both(k))}), True),
    ("text", lambda: Walk(spaces.Text(8), lambda k: "x" * (k + 1)), True),
    ("dictionary with text", lambda: Walk(spaces.Dict(place=PLACE, said=spaces.Text(8)), lambda k: {"place": k, "said": "abcdef"[k]}), True),
    ("sequence", lambda: Walk(spaces.Sequence(spaces.Discrete(9)), lambda k: tuple(range(k))), True),
    ("graph", lambda: Walk(spaces.Graph(spaces.Box(0, 9, (1,), np.int64), None), graph), True),
    ("one of two", lambda: Walk(spaces.OneOf([PLACE, spaces.MultiBinary(3)]), lambda k: (0, k)), True),
    ("strings without a space", lambda: Walk(None, lambda k: "abcdef"[k]), True),
    ("real numbers", lambda: Walk(spaces.Box(-1, 1, (1,), np.float32), lambda k: np.array([k / 6], np.float32)), False),
    ("real numbers in parts", lambda: Walk(spaces.Dict(x=spaces.Box(-1, 1, (1,)), on=spaces.Discrete(2)), lambda k: {"x": np.array([k / 7], np.float32), "on": k % 2}), False),
    ("many actions", lambda: Walk(PLACE, int, spaces.MultiDiscrete([2, 2]), lambda a: int(a[0])), True),
    ("dictionaries of actions", lambda: Walk(PLACE, int, spaces.Dict(go=spaces.Discrete(2), say=spaces.Discrete(2)), lambda a: int(a["go"])), True),
    ("integer actions", lambda: Walk(PLACE, int, spaces.Box(0, 4, (1,), np.int64), lambda a: int(a[0])), False),
    ("real actions", lambda: Walk(PLACE, int, spaces.Box(-1, 1, (1,), np.float32), lambda a: int(a[0] > 0)), False),
    ("masked actions", lambda: Walk(PLACE, int, THREE, masks=few), True),
    ("beyond a declared space", lambda: Walk(spaces.Discrete(3), int), True),
    ("beyond declared bounds", lambda: Walk(spaces.Box(-1, 1, (1,), np.float32), lambda k: np.array([k * 0.7], np.float32)), False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "finite"), [row[1:] for row in SPACES], ids=[r[0] for r in SPACES]
)
def test_every_kind_of_space(make, finite, tmp_path):
    env = make()
    agent = ide3al.IDE3AL(seed=3).fit(env, 300)
    assert agent.num_timesteps == 300 or agent.repeat > 1
    if finite:
        met = agent.visits.sum(axis=1) > 0
        assert met.sum() == PLACES
    observation, _ = env.reset(seed=0)
    for _ in range(40):
        observation, _, terminated, truncated, _ = env.step(agent.predict(observation))
        assert agent.state_of(observation) is not None
        if terminated or truncated:
            observation, _ = env.reset()
            agent.reset()
    agent.save(tmp_path / "agent.zip")
    loaded = ide3al.IDE3AL.load(tmp_path / "agent.zip", env=make())
    copied = pickle.loads(pickle.dumps(copy.deepcopy(agent)))
    for other in (loaded, copied):
        np.testing.assert_array_equal(other.policy, agent.policy)
        assert other.notes == agent.notes and other.num_timesteps == agent.num_timesteps
        assert repr(other.states) == repr(agent.states)
        other.predict(observation)
    data = ide3al.collect(make(), loaded, 60, out=tmp_path / "out")
    again = ide3al.audit(tmp_path / "out")
    np.testing.assert_array_equal(again.observations, data.observations)
    assert again.keys == data.keys
    learned = ide3al.collect(make(), ide3al.IDE3AL(), 120, learn=True)
    assert len(learned) == 120
    assert len(ide3al.collect(make(), "random", 40)) == 40


def test_observations_are_those_of_the_environment():
    agent = ide3al.Random().fit(Walk(PARTS, both), 200)
    data = ide3al.collect(Walk(PARTS, both), agent, 100, cell=lambda seen: (0, seen["place"]))
    assert agent.states == list(range(24)) and data.card["grid"]["columns"] == PLACES
    text = Walk(spaces.Dict(place=PLACE, said=spaces.Text(8)), lambda k: {"place": k, "said": "ab"})
    agent = ide3al.Random().fit(text, 200)
    assert {"place": 3, "said": "ab"} in agent.states
    assert agent.state_of({"place": 3, "said": "no"}) is None
    data = ide3al.collect(text, agent, 100)
    assert {"place": 3, "said": "ab"} in data.states


def test_masked_actions_are_never_taken_nor_missed():
    env = Walk(PLACE, int, THREE, masks=few)
    agent = ide3al.IDE3AL().fit(env, 2_000)
    assert agent.coverage == 1.0 and agent.visits.shape == agent.policy.shape
    assert (agent.policy[~agent.action_masks] == 0).all()
    assert (agent.visits[~agent.action_masks] == 0).all()
    np.testing.assert_allclose(agent.policy.sum(axis=1), 1)
    mask = np.array([False, True, False])
    assert {int(agent.predict(2, action_masks=mask)) for _ in range(20)} == {1}
    until = ide3al.Coverage(each_pair=3)
    data = ide3al.collect(env, ide3al.IDE3AL(), 5_000, until=until)
    assert data.card["promise"]["holds"] and data.card["pairs"]["untried"] == 0
    counts = ide3al.collect(env, np.full((PLACES, 3), 1 / 3), 400).counts
    assert (counts[::2, 2] == 0).all() and (counts[1:5:2, 2] > 0).all()
    with pytest.raises(ide3al.Error, match="not allowed here"):
        ide3al.collect(env, lambda observation: 2, 100)
    many = gymnasium.vector.SyncVectorEnv([lambda: Walk(PLACE, int, THREE, masks=few)] * 2)
    ide3al.IDE3AL().fit(many, 300)
    assert len(ide3al.collect(many, "random", 50)) == 50


class Asking(Walk):
    """Tells its mask when asked, as Stable-Baselines3's contributions do."""

    def action_masks(self):
        return few(self.place)

    def step(self, action):
        assert few(self.place)[int(action)]
        return super().step(action)


def test_masks_that_are_asked_for():
    env = gymnasium.wrappers.TimeLimit(Asking(PLACE, int, THREE), 20)
    agent = ide3al.IDE3AL().fit(env, 500)
    ide3al.collect(env, agent, 100)
    assert agent.coverage == 1.0


def test_simulators_are_enumerated_without_masked_actions():
    mdp = ide3al.MDP.from_simulator(Walk(PLACE, int, THREE, masks=few))
    keys = mdp.state_keys
    assert len(keys) == PLACES and not mdp.is_even
    assert [len(mdp.actions(s)) for s in range(PLACES)] == [int(few(k).sum()) for k in keys]


def test_observations_beyond_what_is_declared_are_noted():
    agent = ide3al.IDE3AL().fit(Walk(spaces.Discrete(3), int), 300)
    assert agent.policy.shape == (PLACES, 2)
    assert any("beyond their declared space Discrete(3)" in note for note in agent.notes)
    box = Walk(spaces.Box(-1, 1, (1,), np.float32), lambda k: np.array([k * 0.7], np.float32))
    agent = ide3al.IDE3AL().fit(box, 400)
    assert any("beyond their declared bounds: observation, declared" in n for n in agent.notes)
    pole = gymnasium.make("CartPole-v1")
    agent = ide3al.IDE3AL().fit(pole, 600)
    # a wheel's width beyond the track, as whoever steps past the end of an episode sees it
    agent.predict(np.array([6.0, 0.0, 0.9, 0.0], dtype=np.float32))


def test_layouts_drawn_anew_are_detected():
    class Drawn(Walk):
        """Where right leads is drawn with each episode."""

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.way = self.np_random.permutation(PLACES - 1)
            return 0, {}

        def step(self, action):
            self.place = int(self.way[(self.place + int(action)) % (PLACES - 1)])
            self.taken += 1
            return self.place, 0.0, False, self.taken >= 30, {}

    class Slippery(Walk):
        """Goes where it likes, in every episode alike."""

        def step(self, action):
            return super().step(int(self.np_random.integers(2)))

    changes = "changes between episodes"
    assert any(changes in n for n in ide3al.IDE3AL().fit(Drawn(PLACE, int), 2_000).notes)
    for steady in (Slippery(PLACE, int), gymnasium.make("FrozenLake-v1"), Walk(PLACE, int)):
        assert not any(changes in n for n in ide3al.IDE3AL().fit(steady, 3_000).notes)
