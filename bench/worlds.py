#!/usr/bin/env python3
"""How evenly do the agents explore environments that nobody here wrote?

    python bench/worlds.py [--runs 10] [--worlds NAME,...] [--agents NAME,...] [--json FILE] [--picture FILE]

Needs the package and: pip install "gymnasium[toy-text,classic-control]" minigrid matplotlib. Every agent has its default
settings and the same number of steps. Effective number of states, exp(entropy of the visits):
  data    in the steps that it learned from
  policy  when its final policy is followed for 10,000 more steps, episodes and all
  pairs   state-action pairs tried while learning
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import time
import warnings

import gymnasium as gym
import numpy as np
from gymnasium import spaces

import ide3al

warnings.filterwarnings("ignore")

AGENTS = {
    "ide3al": ide3al.IDE3AL,
    "count-based": ide3al.CountBased,
    "max-ent": ide3al.MaxEnt,
    "random": ide3al.Random,
}
#: Steps that a final policy is followed for.
FOLLOWED = 10_000


class Numbered(gym.Wrapper):
    """A few of the actions, numbered; episodes never end but are cut after some steps."""

    def __init__(self, env, steps, actions=None):
        super().__init__(env)
        self.steps, self.actions = steps, actions
        if actions is not None:
            self.action_space = spaces.Discrete(len(actions))

    def reset(self, **options):
        self.taken = 0
        return self.env.reset(**options)

    def step(self, action):
        action = action if self.actions is None else self.actions[action]
        observation, reward, _, _, info = self.env.step(action)
        self.taken += 1
        return observation, reward, False, self.taken >= self.steps, info


class Cells(gym.ObservationWrapper):
    """A box of numbers cut into equal cells, as one number."""

    def __init__(self, env, low, high, counts, numbers=lambda o: o):
        super().__init__(env)
        self.counts, self.numbers = np.array(counts), numbers
        self.low, self.width = np.array(low), (np.array(high) - low) / self.counts
        self.observation_space = spaces.Discrete(int(np.prod(counts)))

    def observation(self, observation):
        place = ((self.numbers(observation) - self.low) / self.width).astype(int)
        return int(np.ravel_multi_index(np.clip(place, 0, self.counts - 1), self.counts))


class Grid(gym.ObservationWrapper):
    """MiniGrid with one fixed layout: place, direction, whether something is carried, state of the doors."""

    def __init__(self, env, layout=7):
        super().__init__(env)
        self.layout = layout
        # what the agent sees on screen is not looked at, and dear
        self.unwrapped.gen_obs = dict
        # not declared: the agent finds out what there is
        self.observation_space = gym.Space()

    def reset(self, **options):
        observation, info = self.env.reset(seed=self.layout)
        return self.observation(observation), info

    def observation(self, _):
        env = self.unwrapped
        things = [thing for thing in env.grid.grid if thing is not None and thing.type == "door"]
        doors = tuple(bool(door.is_open) for door in things)
        x, y = env.agent_pos
        return int(x), int(y), int(env.agent_dir), env.carrying is not None, doors


def forces(*values):
    return [np.array([v], dtype=np.float32) for v in values]


def mountain_car():
    env = Numbered(gym.make("MountainCarContinuous-v0").unwrapped, 400, forces(-1, 0, 1))
    return Cells(env, [-1.2, -0.07], [0.6, 0.07], [12, 11])


def pendulum():
    env = Numbered(gym.make("Pendulum-v1").unwrapped, 200, forces(-2, 0, 2))
    return Cells(env, [-np.pi, -8], [np.pi, 8], [8, 8], lambda o: np.array([np.arctan2(o[1], o[0]), o[2]]))


def cart_pole():
    env = gym.make("CartPole-v1")
    return Cells(env, [-2.4, -3, -0.21, -3], [2.4, 3, 0.21, 3], [6, 4, 6, 4])


def acrobot():
    env = Numbered(gym.make("Acrobot-v1").unwrapped, 500)
    angles = lambda o: np.array([np.arctan2(o[1], o[0]), np.arctan2(o[3], o[2]), o[4], o[5]])  # noqa: E731
    return Cells(env, [-np.pi, -np.pi, -6, -12], [np.pi, np.pi, 6, 12], [6, 6, 5, 5], angles)


def minigrid(name, steps):
    def make():
        import minigrid  # noqa: F401  registers its environments

        return gym.wrappers.TimeLimit(Grid(gym.make(name).unwrapped), steps)

    return make


def limited(name, steps):
    return lambda: gym.wrappers.TimeLimit(gym.make(name).unwrapped, steps)


#: How to make each world, and the steps to learn from.
WORLDS = {
    "frozen-lake": (lambda: gym.make("FrozenLake-v1", map_name="8x8"), 20_000),
    "cliff-walking": (limited("CliffWalking-v1", 200), 10_000),
    "taxi": (lambda: gym.make("Taxi-v4"), 20_000),
    "mountain-car": (mountain_car, 40_000),
    "pendulum": (pendulum, 20_000),
    "door-key": (minigrid("MiniGrid-DoorKey-6x6-v0", 300), 30_000),
    "four-rooms": (minigrid("MiniGrid-FourRooms-v0", 400), 40_000),
    "cart-pole": (cart_pole, 30_000),
    "acrobot": (acrobot, 40_000),
    "lava-gap": (minigrid("MiniGrid-LavaGapS7-v0", 200), 20_000),
    "multi-room": (minigrid("MiniGrid-MultiRoom-N4-S5-v0", 300), 30_000),
    "blackjack": (lambda: gym.make("Blackjack-v1"), 20_000),
    "unlock-pickup": (minigrid("MiniGrid-UnlockPickup-v0", 300), 30_000),
}


def effective(counts):
    share = np.asarray([c for c in counts if c > 0], dtype=float)
    share /= share.sum()
    return float(np.exp(-(share * np.log(share)).sum()))


def explore(task):
    """One run: (data, pairs, policy, seconds)."""
    world, name, seed, settings = task
    make, steps = WORLDS[world]
    env, began = make(), time.perf_counter()
    learner = AGENTS[name](seed=seed, **settings).fit(env, total_timesteps=steps)
    learner.predict(env.reset()[0])
    seconds, visits = time.perf_counter() - began, np.asarray(learner.visits)
    env, seen = make(), {}
    observation, _ = env.reset(seed=1000 + seed)
    for _ in range(FOLLOWED):
        observation, _, terminated, truncated, _ = env.step(learner.predict(observation))
        seen[observation] = seen.get(observation, 0) + 1
        if terminated or truncated:
            observation, _ = env.reset()
    return effective(visits.sum(axis=1)), int((visits > 0).sum()), effective(seen.values()), seconds
