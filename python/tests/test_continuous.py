"""Continuous environments: cells, actions and repeats are chosen, learned with, saved, loaded."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import ide3al
from ide3al.encoding.grid import Centres, Grid
from ide3al.encoding.history import TransitionHistory
from ide3al.encoding.tree import Moves, refined
from ide3al.evaluation.account import neighbour_entropy


class Room(gymnasium.Env):
    """A point in the unit square, moved by a force; episodes are cut after some steps."""

    action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
    observation_space = spaces.Box(0.0, 1.0, (2,), np.float32)

    def __init__(self, steps=50, speed=0.15):
        self.steps, self.speed = steps, speed
        self.noise = np.random.default_rng(0)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.taken = np.array([0.1, 0.1]), 0
        return self.seen(), {}

    def seen(self):
        return self.at.astype(np.float32)

    def step(self, action):
        noise = self.noise.normal(0, 0.01, 2)
        self.at = np.clip(self.at + self.speed * np.asarray(action) + noise, 0, 1)
        self.taken += 1
        return self.seen(), 0.0, False, self.taken >= self.steps, {}


def test_grid_and_centres():
    grid = Grid([0, -1], [1, 1], [4, 2])
    vectors = np.array([[0.0, -1.0], [0.3, 0.5], [5.0, 5.0]])
    assert grid.keys(vectors).tolist() == [0, 3, 7]
    assert np.allclose(grid.centres(grid.keys(vectors))[1], [0.375, 0.5])
    # what was visited a thousand times as often gets no more cells
    rng = np.random.default_rng(0)
    crowd, rest = rng.uniform(0, 0.1, (10_000, 2)), rng.uniform(0, 1, (1000, 2))
    cells = Centres.among(np.concatenate([crowd, rest]), np.ones(2), 50)
    inside = (cells.points < 0.1).all(axis=1).sum()
    assert len(cells.points) == 50 and inside <= 4
    assert len(np.unique(cells.keys(rest))) >= 48


def test_decisions_are_stretches_of_one_action():
    log = TransitionHistory(1, 100)
    log.begin([0.0])
    for k, action in enumerate([0, 0, 0, 1, 1, 1]):
        log.step(action, [k + 1.0], 0)
    log.step(1, [7.0], 1)
    log.begin([0.0])
    log.step(0, [1.0], 0)
    first, last = log.decisions(2)
    # the odd third step of action 0 led to no decision of 2; the last stretch is still under way
    assert list(zip(first.tolist(), last.tolist(), strict=True)) == [(0, 2), (3, 5), (5, 7)]
    first, last = log.decisions(3)
    # the rest of one step ended the episode
    assert list(zip(first.tolist(), last.tolist(), strict=True)) == [(0, 3), (3, 6), (6, 7)]


@pytest.mark.parametrize("agent", [ide3al.IDE3AL, ide3al.MaxEnt, ide3al.CountBased, ide3al.Random])
def test_learns_predicts_and_goes_on_from_a_file(agent, tmp_path):
    whole = agent(seed=3).fit(Room(), 3000)
    assert whole.num_timesteps == 3000
    assert whole.policy.shape == (len(whole.states), 9)
    whole.save(tmp_path / "agent")
    with pytest.raises(ide3al.Error, match="give env"):
        agent.load(tmp_path / "agent").predict(np.array([0.5, 0.5]))
    again = agent.load(tmp_path / "agent", Room())
    assert again.repeat == whole.repeat and again.states == whole.states
    observation = np.array([0.5, 0.5], dtype=np.float32)
    chosen = [again.predict(observation) for _ in range(20)]
    assert all(Room.action_space.contains(a) for a in chosen)
    assert np.array_equal(chosen, [whole.predict(observation) for _ in range(20)])
    # both go on alike
    for one in (whole, again):
        one.fit(Room(), 2500)
    assert np.array_equal(whole.visits, again.visits) and np.array_equal(whole.policy, again.policy)


def test_explores_more_evenly_than_at_random():
    entropies = {}
    for agent in (ide3al.IDE3AL, ide3al.Random):
        learned = agent().fit(Room(speed=0.05), 2000)
        followed = learned.account(Room(speed=0.05), 4000)
        entropies[agent] = followed.binned_entropy(8)
        assert followed.distance < 0.5 and followed.realised.sum() == pytest.approx(1)
        assert "elsewhere than predicted" in repr(followed)
    assert entropies[ide3al.IDE3AL] > entropies[ide3al.Random] + 0.1


class Mixed(Room):
    """The same point within a dictionary: twice, beside a goal that stays, a switch, and numbers
    without bounds."""

    observation_space = spaces.Dict(
        {
            "achieved": spaces.Box(-np.inf, np.inf, (2,), np.float64),
            "more": spaces.Tuple(
                [spaces.Box(-np.inf, np.inf, (2,), np.float64), spaces.Discrete(2)]
            ),
            "wanted": spaces.Box(-np.inf, np.inf, (2,), np.float64),
        }
    )

    def seen(self):
        switch = np.int64(self.at[0] > 0.5)
        return {"achieved": self.at.copy(), "more": (self.at.copy(), switch), "wanted": np.ones(2)}


def test_dictionaries_and_tuples_without_bounds():
    agent = ide3al.IDE3AL().fit(Mixed(), 2000)
    # the copy is left out, and so is what no action changes
    assert agent.partition.names == ["achieved[0]", "achieved[1]", "more.1"]
    counts = agent.partition.cells.counts.tolist()
    # as many as the steps suffice for, and both values of what has two
    assert counts[0] == counts[1] <= 8 and counts[2] == 2
    assert Room.action_space.contains(agent.predict(Mixed().reset()[0]))


def test_cells_are_as_many_as_the_steps_suffice_for():
    agent = ide3al.Random().fit(Room(), 600)
    assert agent.partition.cells.counts.tolist() == [4, 4]
    # fitting again cuts them finer, up to the most there are
    fitted = [agent.fit(Room(), 3000).partition.cells.counts.tolist() for _ in range(3)]
    assert [4, 4] < fitted[0] < fitted[1] == fitted[2] == [12, 12]
    assert ide3al.Random(abstraction=ide3al.Abstraction(9)).fit(Room(), 600).states


def test_everything_can_be_told(tmp_path):
    def turned(observation):
        return [np.cos(6 * observation[0]), np.sin(6 * observation[0]), observation[1]]

    abstraction = ide3al.Abstraction(
        cells=[5, 7], actions=[[1, 0], [-1, 0], [0, 1], [0, -1]], features=turned, angles=[(0, 1)], low=[0, -np.inf],
        high=[1, np.inf], repeat=3,
    )  # fmt: skip
    agent = ide3al.IDE3AL(abstraction=abstraction).fit(Room(), 1500)
    assert agent.partition.names == ["feature 2", "angle of feature 0, feature 1"]
    assert agent.partition.cells.counts.tolist() == [5, 7] and agent.repeat == 3
    assert np.allclose(agent.partition.cells.high, [1, np.pi])
    assert agent.policy.shape[1] == 4
    agent.save(tmp_path / "agent")
    with pytest.raises(ide3al.Error, match="features=..., which no file can hold"):
        ide3al.IDE3AL.load(tmp_path / "agent", Room())
    again = ide3al.IDE3AL.load(tmp_path / "agent", Room(), features=turned)
    assert np.array_equal(again.fit(Room(), 500).visits, agent.fit(Room(), 500).visits)
    # cells along each number can only mean a grid
    assert ide3al.Abstraction([5, 5, 6, 6]).kind == "grid" and ide3al.Abstraction(5).kind is None
    # more numbers than a grid is good for
    clouds = ide3al.Abstraction(40, kind="k-means")
    agent = ide3al.CountBased(abstraction=clouds).fit(Room(), 1000)
    assert agent.partition.cells.kind == "k-means" and len(agent.states) <= 40


def test_actions_are_held_for_a_measured_time():
    # slower points need more steps for their actions to tell
    rooms = [Room(speed=speed, steps=200) for speed in (0.2, 0.03, 0.01)]
    cells = ide3al.Abstraction(bounds="declared")
    repeats = [ide3al.Random(abstraction=cells).fit(room, 2000).repeat for room in rooms]
    assert repeats[0] == 1 and repeats[0] < repeats[1] < repeats[2]
    agent = ide3al.IDE3AL().fit(Room(speed=0.03), 1500)
    chosen = np.array([agent.predict(np.array([0.4, 0.4])) for _ in range(20 * agent.repeat)])
    groups = chosen.reshape(20, agent.repeat, 2)
    assert (groups == groups[:, :1]).all() and len(np.unique(groups[:, 0], axis=0)) > 1


def test_memory_is_bounded_and_nothing_counted_is_lost():
    abstraction = ide3al.Abstraction(memory=1000, repeat=1)
    agent = ide3al.IDE3AL(abstraction=abstraction).fit(Room(), 3000)
    assert len(agent.partition.history) == 1000 and agent.partition.history.full
    assert agent.visits.sum() >= 2990


def test_episodes_that_end_do_so_in_one_state():
    class Pit(Room):
        def step(self, action):
            observation, reward, _, cut, info = super().step(action)
            return observation, reward, bool(self.at[0] > 0.8), cut, info

    agent = ide3al.IDE3AL().fit(Pit(), 3000)
    over = [k for k, centre in enumerate(agent.states) if np.isnan(centre).any()]
    assert len(over) == 1 and agent.visits[over[0]].sum() > 3
    assert agent.account(Pit(), 1000).predicted[over[0]] > 0
    # the nearest cell known answers for one that was never met
    assert Room.action_space.contains(agent.predict(np.array([0.99, 0.99])))


def test_pictures(tmp_path):
    agent = ide3al.IDE3AL(abstraction=ide3al.Abstraction(12)).fit(Room(), 1000)
    axes = ide3al.plot_visitation(agent, trajectories=2)
    assert axes.get_xlabel() == "observation[0]" and len(axes.lines) >= 2 + 26
    axes = ide3al.plot_visitation(agent, parts=3, numbers=("observation[1]", 0))
    assert len(axes) == 3 and axes[0].get_ylabel() == "observation[0]"
    for wrong in (
        {"numbers": (0, 7)},
        {"numbers": (1, 1)},
        {"parts": 0},
        {"parts": 2, "ax": axes[0]},
    ):
        with pytest.raises(ide3al.Error):
            ide3al.plot_visitation(agent, **wrong)


def lines(observation_space, observations, action_space=Room.action_space):
    """An environment that shows some observations in turn."""

    class Shows(gymnasium.Env):
        def reset(self, *, seed=None, options=None):
            self.k = 0
            return observations[0], {}

        def step(self, action):
            self.k += 1
            return observations[min(self.k, len(observations) - 1)], 0.0, False, self.k > 30, {}

    env = Shows()
    env.observation_space, env.action_space = observation_space, action_space
    return env


BOX = spaces.Box(-1.0, 1.0, (2,), np.float32)
GOOD = np.zeros(2)
BAD = [
    (lines(BOX, [GOOD, np.array([np.inf, 0.0])]), {}, "not finite .*clip it"),
    (lines(BOX, [GOOD, np.array([np.nan, 0.0])]), {}, "not finite"),
    (
        lines(spaces.Box(0, 255, (8, 8, 3), np.uint8), [GOOD]),
        {"kind": "grid"},
        "holds images; .*features=",
    ),
    (lines(BOX, [GOOD, np.zeros(3)]), {}, "must not change"),
    (lines(BOX, [GOOD, "north"]), {}, "no array of numbers"),
    (lines(BOX, [GOOD]), {}, "nothing in the observations changed"),
    (
        lines(spaces.Box(-1.0, 1.0, (2000,), np.float32), [np.zeros(2000)]),
        {},
        "2000 numbers .*features=",
    ),
    (
        lines(spaces.Box(-1.0, 1.0, (40,), np.float32), [np.zeros(40), np.arange(40) / 40]),
        {"kind": "grid", "cells": 10},
        "too many to be numbered; .*k-means",
    ),
    (lines(BOX, [GOOD, np.array([-np.inf, 0.0])]), {"low": -1, "high": 1}, "not finite"),
    (lines(spaces.Dict(a=BOX), [{"a": GOOD}, {"b": GOOD}]), {}, "has no part 'a'"),
    (lines(spaces.Text(3), ["no"]), {"cells": 3}, "holds no numbers; give .*features="),
    (
        lines(BOX, [GOOD, GOOD + 0.5], spaces.Box(-np.inf, np.inf, (1,))),
        {},
        "actions without bounds",
    ),
    (lines(BOX, [GOOD, GOOD + 0.5]), {"actions": [[3.0, 0.0]]}, "is no element of"),
    (lines(BOX, [GOOD, GOOD + 0.5], spaces.Discrete(2)), {"actions": 3}, "finite already"),
    (lines(BOX, [GOOD, GOOD + 0.5], spaces.Box(-1, 1, (20,))), {"actions": 5}, "give a list"),
    (lines(BOX, [GOOD, GOOD + 0.5]), {"cells": [3, 4, 5]}, "3 numbers for 2"),
    (lines(BOX, [GOOD, GOOD + 0.5]), {"low": [0, 0, 0]}, "3 numbers for 2"),
    (lines(BOX, [GOOD, GOOD + 0.5]), {"low": 0.5, "high": 0.2}, "exceeds high"),
    (lines(BOX, [GOOD, GOOD + 0.5]), {"angles": [(0, 5)]}, "places from 0 to 1"),
    (lines(BOX, [GOOD, GOOD + 0.5]), {"features": lambda o: np.zeros(0)}, "made 0 numbers"),
]


@pytest.mark.parametrize(("env", "settings", "message"), BAD)
def test_bad_environments(env, settings, message):
    agent = ide3al.IDE3AL(abstraction=ide3al.Abstraction(**settings))
    with pytest.raises(ide3al.Error, match=message):
        agent.fit(env, 400)


@pytest.mark.parametrize(
    "settings",
    [
        {"cells": 0}, {"cells": 2.5}, {"cells": [3, 3], "kind": "k-means"}, {"kind": "hexagons"}, {"repeat": 0},
        {"memory": 3}, {"actions": 1}, {"actions": []}, {"features": 3}, {"bounds": "none"}, {"low": [np.nan]},
        {"angles": [(0, 0)]}, {"refine": True, "kind": "grid"}, {"refine": True, "cells": [3, 3]},
    ],
)  # fmt: skip
def test_bad_settings(settings):
    with pytest.raises(ide3al.Error):
        ide3al.IDE3AL(abstraction=ide3al.Abstraction(**settings)).fit(Room(), 300)


def test_misfits(tmp_path):
    agent = ide3al.IDE3AL().fit(Room(), 300)
    with pytest.raises(ide3al.Error, match="knows observations of 2 numbers and 9 actions"):
        agent.fit(gymnasium.make("CartPole-v1"), 300)
    with pytest.raises(ide3al.Error, match="paper"):
        ide3al.IDE3AL(paper=True).fit(Room(), 300)
    with pytest.raises(ide3al.Error, match="finite"):
        lake = gymnasium.make("FrozenLake-v1")
        ide3al.Random().fit(lake, 50).account(lake)
    agent.save(tmp_path / "agent")
    with pytest.raises(ide3al.Error, match="observations of 2 numbers"):
        ide3al.IDE3AL.load(tmp_path / "agent", gymnasium.make("CartPole-v1"))


def test_nearest_neighbours_tell_entropy():
    rng = np.random.default_rng(0)
    even = rng.uniform(0, 1, (3000, 2))
    assert neighbour_entropy(even) == pytest.approx(0, abs=0.08)
    assert neighbour_entropy(0.5 * even) == pytest.approx(-2 * np.log(2), abs=0.08)
    normal = rng.normal(0, 0.1, (3000, 1))
    assert neighbour_entropy(normal) == pytest.approx(
        0.5 * np.log(2 * np.pi * np.e * 0.01), abs=0.08
    )
    # a wall that everything sticks to is no infinity
    assert -15 < neighbour_entropy(np.zeros((100, 2))) < -3
    with pytest.raises(ide3al.Error, match="neighbours = 5"):
        neighbour_entropy(even[:5], 5)


class Halves(Room):
    """A line on which nothing differs to the left, and which the right half of leaves for one of
    two places by where one is."""

    action_space = spaces.Discrete(2)
    observation_space = spaces.Box(0.0, 1.0, (1,), np.float32)

    def seen(self):
        return self.at[:1].astype(np.float32)

    def step(self, action):
        x, self.taken = self.at[0], self.taken + 1
        odd = np.floor(16 * x) % 2 == 1
        self.at[0] = (
            self.noise.uniform(0.5, 1)
            if x < 0.5
            else self.noise.uniform(0, 0.25)
            if odd
            else self.noise.uniform(0.25, 0.5)
        )
        return self.seen(), 0.0, False, self.taken >= self.steps, {}


def test_cells_are_split_where_their_halves_lead_elsewhere(tmp_path):
    # the even cells are 8, each an eighth wide: only to the right do their halves differ
    abstraction = ide3al.Abstraction(11, refine=True, repeat=1, bounds="declared")
    agent = ide3al.Random(abstraction=abstraction).fit(Halves(), 4000)
    tree = agent.partition.cells
    leaves = np.flatnonzero(tree.axes < 0)
    wide = (tree.highs - tree.lows)[leaves, 0]
    right = tree.lows[leaves, 0] >= 0.5
    assert len(leaves) == 11 and right.sum() == 7
    assert (wide[right] == 1 / 16).sum() == 6 and (wide[~right] == 1 / 8).all()
    # nothing counted is lost, and every count is of the cells as they are now
    assert agent.visits.sum() == 4000 and len(agent.states) == 11
    agent.save(tmp_path / "agent")
    again = ide3al.Random.load(tmp_path / "agent", Halves())
    assert again.partition.cells.same(tree) and again.states == agent.states
    for one in (again, agent):
        one.fit(Halves(), 1000)
    assert np.array_equal(again.visits, agent.visits)


def test_splits_that_chance_suggested_are_undone():
    rng = np.random.default_rng(1)
    low, high, whole = np.zeros(1), np.ones(1), np.zeros(1, dtype=bool)

    def grown(sides, n):
        # 6 cells: 4 even ones, and two more where they are worth it
        begins = rng.uniform(0, 1, (n, 1))
        ends = np.where(
            sides & (begins > 0.875), rng.uniform(0, 0.25, (n, 1)), rng.uniform(0.5, 0.75, (n, 1))
        )
        first = np.arange(0, 2 * n, 2)
        vectors = np.stack([begins, ends], axis=1).reshape(-1, 1)
        return refined(
            vectors, low, high, whole, 6, Moves(first, np.zeros(n, dtype=np.int64), first + 1)
        )

    assert (grown(True, 400).axes < 0).sum() == 5
    assert (grown(False, 400).axes < 0).sum() == 4
    # few samples prove nothing
    assert (grown(True, 30).axes < 0).sum() == 4


def test_refined_cells_of_whole_numbers_and_pictures():
    agent = ide3al.IDE3AL(abstraction=ide3al.Abstraction(60, refine=True)).fit(Mixed(), 2000)
    tree = agent.partition.cells
    # a switch is on or off: no cell holds both, none is cut within one of them
    place = agent.partition.names.index("more.1")
    leaves = tree.axes < 0
    assert set((tree.highs - tree.lows)[leaves, place]) == {1.0}
    assert Room.action_space.contains(agent.predict(Mixed().reset()[0]))
    ide3al.plot_visitation(agent)
    flat = ide3al.IDE3AL(abstraction=ide3al.Abstraction(30, refine=True)).fit(Room(), 1000)
    axes = ide3al.plot_visitation(flat, trajectories=1)
    assert len(axes.collections) >= 1 + (flat.partition.cells.axes >= 0).sum()
