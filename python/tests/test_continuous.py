"""Continuous environments: cells, actions and repeats are chosen, learned with, saved and loaded."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import ide3al
from ide3al.cells import Centres, Grid
from ide3al.log import Log


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
    log = Log(1, 100)
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
        learned = agent().fit(Room(speed=0.05), 6000)
        lived = learned.account(Room(speed=0.05), 4000)
        entropies[agent] = lived.binned_entropy(8)
        assert lived.distance < 0.5 and lived.realised.sum() == pytest.approx(1)
        assert "elsewhere than predicted" in repr(lived)
    assert entropies[ide3al.IDE3AL] > entropies[ide3al.Random] + 0.1
