#!/usr/bin/env python3
"""How evenly do the agents explore environments that nobody here wrote?

    python benches/worlds.py [--runs 10] [--worlds NAME,...] [--agents NAME,...] [--json FILE]
    [--picture FILE] [--curves FILE] [--scale SHARE] [--processes N]

Needs the package and: pip install "gymnasium[toy-text,classic-control]" minigrid matplotlib. Every
agent has its default settings and the same number of steps. Effective number of states, exp(entropy
of the visits):
  data    in the steps that it learned from
  policy  when its final policy is followed for 10,000 more steps, episodes and all
  pairs   state-action pairs tried while learning"""

from __future__ import annotations

import argparse
import functools
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
    "rmax": functools.partial(ide3al.RMax, levels=False),
    "rmax-levels": ide3al.RMax,
    "count-based": ide3al.CountBased,
    "max-ent": ide3al.MaxEnt,
    "random": ide3al.Random,
}
#: Steps that a final policy is followed for.
FOLLOWED = 10_000


class Curve(gym.Wrapper):
    """Writes down at geometric marks how many states were met, how many pairs tried, and how many
    states the visits amount to."""

    def __init__(self, env, steps):
        super().__init__(env)
        self.marks = sorted(
            {round(10 ** (k / 4)) for k in range(4, 29)} & set(range(steps)) | {steps}
        )
        self.met, self.tried, self.visits, self.taken, self.points = set(), set(), {}, 0, []

    def reset(self, **options):
        self.here, info = self.env.reset(**options)
        self.met.add(name_of(self.here))
        return self.here, info

    def step(self, action):
        here = name_of(self.here)
        self.tried.add((here, int(action)))
        self.visits[here] = self.visits.get(here, 0) + 1
        outcome = self.env.step(action)
        self.here = outcome[0]
        self.met.add(name_of(self.here))
        self.taken += 1
        if self.taken in self.marks:
            self.write()
        return outcome

    def write(self):
        self.points.append((len(self.met), len(self.tried), effective(self.visits.values())))

    def finish(self):
        """The samples that leave terminal states are no steps of the environment, so that the last
        mark may not have been reached."""
        while len(self.points) < len(self.marks):
            self.write()


def name_of(observation):
    return int(observation) if isinstance(observation, np.integer) else observation


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
    """MiniGrid with one fixed layout: place, direction, whether something is carried, state of the
    doors."""

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
    return Cells(
        env, [-np.pi, -8], [np.pi, 8], [8, 8], lambda o: np.array([np.arctan2(o[1], o[0]), o[2]])
    )


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
    "unlock": (minigrid("MiniGrid-Unlock-v0", 288), 20_000),
    "door-key-8": (minigrid("MiniGrid-DoorKey-8x8-v0", 300), 30_000),
    "key-corridor": (minigrid("MiniGrid-KeyCorridorS3R3-v0", 300), 30_000),
    "lava-crossing": (minigrid("MiniGrid-LavaCrossingS9N2-v0", 324), 20_000),
    "simple-crossing": (minigrid("MiniGrid-SimpleCrossingS9N2-v0", 324), 20_000),
    "red-blue-doors": (minigrid("MiniGrid-RedBlueDoors-6x6-v0", 300), 20_000),
    "locked-room": (minigrid("MiniGrid-LockedRoom-v0", 400), 40_000),
}


def effective(counts):
    share = np.asarray([c for c in counts if c > 0], dtype=float)
    share /= share.sum()
    return float(np.exp(-(share * np.log(share)).sum()))


def explore(task):
    """One run: (data, pairs, policy, seconds, area, curve)."""
    world, name, seed, steps = task
    make = WORLDS[world][0]
    env, began = Curve(make(), steps), time.perf_counter()
    learner = AGENTS[name](seed=seed).fit(env, total_timesteps=steps)
    env.finish()
    curve = env.points
    learner.predict(env.reset()[0])
    seconds, visits = time.perf_counter() - began, np.asarray(learner.visits)
    env, seen = make(), {}
    observation, _ = env.reset(seed=1000 + seed)
    for _ in range(FOLLOWED):
        observation, _, terminated, truncated, _ = env.step(learner.predict(observation))
        seen[observation] = seen.get(observation, 0) + 1
        if terminated or truncated:
            observation, _ = env.reset()
    area = float(np.mean([pairs for _, pairs, _ in curve]))
    data, policy = effective(visits.sum(axis=1)), effective(seen.values())
    return data, int((visits > 0).sum()), policy, seconds, area, curve


FIGURES = ("data", "pairs", "policy", "seconds", "area", "curve")
#: 97.5 % quantiles of Student's t by degrees of freedom.
T = [
    0,
    12.71,
    4.30,
    3.18,
    2.78,
    2.57,
    2.45,
    2.36,
    2.31,
    2.26,
    2.23,
    2.20,
    2.18,
    2.16,
    2.14,
    2.13,
    2.12,
    2.11,
    2.10,
    2.09,
]


def interval(values):
    """Mean and half the 95 % interval."""
    values = np.asarray(values, dtype=float)
    if values.size < 2:
        return float(values.mean()), math.nan
    t = T[values.size - 1] if values.size <= len(T) else 1.96
    return float(values.mean()), float(t * values.std(ddof=1) / math.sqrt(values.size))


def attempt(task):
    try:
        return task, explore(task)
    except Exception as problem:  # a world that an agent cannot learn is a result too
        return task, f"{type(problem).__name__}: {problem}"


def measure(worlds, agents, runs, processes, scale=1.0):
    """{world: {agent: {figure: [value per run]}}}; printed as it comes."""
    tasks = [
        (world, agent, seed, round(WORLDS[world][1] * scale))
        for world in worlds
        for agent in agents
        for seed in range(runs)
    ]
    found = {}
    with multiprocessing.Pool(processes) as pool:
        for (world, agent, _, _), outcome in pool.imap(attempt, tasks):
            if isinstance(outcome, str):
                raise SystemExit(f"{world}, {agent}: {outcome}")
            of = found.setdefault(world, {}).setdefault(agent, {name: [] for name in FIGURES})
            for name, value in zip(FIGURES, outcome, strict=True):
                of[name].append(value)
            if len(of["data"]) == runs:
                print(line(world, agent, of), flush=True)
    return found


def line(world, agent, of):
    shown = [
        f"{name} {interval(of[name])[0]:7.1f} +- {interval(of[name])[1]:5.1f}"
        for name in ("data", "pairs", "policy", "area")
    ]
    return f"{world:15s}{agent:13s}" + "   ".join(shown) + f"   {np.mean(of['seconds']):6.1f} s"


def report(found):
    """The table of the README, and what is asked of the default."""
    means = {
        w: {
            a: {f: interval(v)[0] for f, v in of.items() if f != "curve"}
            for a, of in agents.items()
        }
        for w, agents in found.items()
    }
    agents = list(next(iter(found.values())))
    print("\n| world | steps | " + " | ".join(f"{a}: data / policy" for a in agents) + " | pairs |")
    print("|" + "---|" * (len(agents) + 3))
    for world, of in found.items():
        cells = []
        for agent in agents:
            shown = [
                "{:.0f} ± {:.0f}".format(*interval(of[agent][name])) for name in ("data", "policy")
            ]
            cells.append(" / ".join(shown))
        pairs = ", ".join(f"{means[world][a]['pairs']:.0f}" for a in agents)
        print(f"| {world} | {WORLDS[world][1]:,} | " + " | ".join(cells) + f" | {pairs} |")
    rivals = [a for a in agents if a != "ide3al"]
    if "ide3al" not in agents or not rivals:
        return
    for figure in ("policy", "data", "area"):
        ratios = {
            w: m["ide3al"][figure] / max(m[a][figure] for a in rivals) for w, m in means.items()
        }
        worst = min(ratios, key=ratios.get)
        mean = math.exp(np.mean(np.log(list(ratios.values()))))
        print(
            f"\n{figure}: ide3al / best rival, geometric mean {mean:.2f}, least {ratios[worst]:.3f} ({worst})"
        )
        print("  " + ", ".join(f"{w} {r:.2f}" for w, r in ratios.items()))
    classics = [a for a in rivals if a.startswith("rmax")]
    if classics:
        ratios = [m["ide3al"]["area"] / max(m[a]["area"] for a in classics) for m in means.values()]
        print(
            f"\narea: ide3al / better R-MAX, geometric mean {math.exp(np.mean(np.log(ratios))):.2f}"
        )
    if "random" in agents:
        fewer = [w for w, m in means.items() if m["ide3al"]["pairs"] < m["random"]["pairs"]]
        print("pairs: fewer than random on " + (", ".join(fewer) or "no world"))


#: Told apart by those who do not see all colours.
COLOURS = {
    "ide3al": "#0072b2",
    "rmax": "#cc79a7",
    "rmax-levels": "#d55e00",
    "count-based": "#e69f00",
    "max-ent": "#009e73",
    "random": "#999999",
}


def curves(found, path):
    """Pairs tried and effective states against steps, mean and range over runs."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    titles = {1: "pairs tried", 2: "effective states"}
    figure, axes = plt.subplots(
        len(found), 2, figsize=(10, 2.6 * len(found) + 0.8), squeeze=False, sharex="row"
    )
    for row, (world, of) in zip(axes, found.items(), strict=True):
        steps = WORLDS[world][1]
        marks = sorted({round(10 ** (k / 4)) for k in range(4, 29)} & set(range(steps)) | {steps})
        for axis, (column, title) in zip(row, titles.items(), strict=True):
            for agent, figures in of.items():
                runs = np.array([[point[column] for point in run] for run in figures["curve"]])
                x = marks[: runs.shape[1]]
                axis.fill_between(
                    x, runs.min(0), runs.max(0), color=COLOURS[agent], alpha=0.2, lw=0
                )
                axis.plot(x, runs.mean(0), color=COLOURS[agent], label=agent)
            axis.set_xscale("log")
            axis.set_title(f"{world}: {title}", fontsize=10)
            axis.grid(alpha=0.3)
            axis.spines[["top", "right"]].set_visible(False)
        row[0].set_xlabel("steps")
        row[1].set_xlabel("steps")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(labels), frameon=False)
    figure.tight_layout(rect=(0, 0.4 / (2.6 * len(found) + 0.8), 1, 1))
    figure.savefig(path, dpi=100)


def picture(found, path):
    """Effective states under the final policy, as a share of the best agent's, world by world."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    worlds, agents = list(found), list(next(iter(found.values())))
    figure, axes = plt.subplots(1, 2, figsize=(11, 0.45 * len(worlds) + 1.6), sharey=True)
    height = 0.8 / len(agents)
    titles = {"policy": "under the final policy", "data": "in the data"}
    for axis, (name, title) in zip(axes, titles.items(), strict=True):
        for k, agent in enumerate(agents):
            best = [max(interval(of[a][name])[0] for a in agents) for of in found.values()]
            centre, half = zip(*(interval(of[agent][name]) for of in found.values()), strict=True)
            places = np.arange(len(worlds)) + (k - 0.5 * (len(agents) - 1)) * height
            axis.barh(
                places, np.divide(centre, best), height, xerr=np.divide(half, best), color=COLOURS[agent],
                label=agent, error_kw={"elinewidth": 0.8, "ecolor": "#333333"},
            )  # fmt: skip
        axis.set_title(f"Effective states {title}", fontsize=11)
        axis.set_xlabel("share of the best agent's, mean and 95 % interval")
        axis.margins(y=0.01)
        axis.grid(axis="x", alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_yticks(range(len(worlds)), worlds)
    axes[0].invert_yaxis()
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(agents), frameon=False)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--worlds", default=",".join(WORLDS))
    parser.add_argument("--agents", default=",".join(AGENTS))
    parser.add_argument("--scale", type=float, default=1, help="share of the steps to learn from")
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--json", help="write every figure of every run")
    parser.add_argument("--picture", help="draw the figures")
    parser.add_argument("--curves", help="draw pairs and effective states against steps")
    parser.add_argument("--read", help="take the figures from a file that --json wrote")
    given = parser.parse_args()
    if given.read:
        with open(given.read) as file:
            found = json.load(file)
    else:
        found = measure(
            given.worlds.split(","),
            given.agents.split(","),
            given.runs,
            given.processes,
            given.scale,
        )
    if given.json:
        with open(given.json, "w") as file:
            json.dump(found, file, indent=1)
    report(found)
    if given.picture:
        picture(found, given.picture)
    if given.curves:
        curves(found, given.curves)


if __name__ == "__main__":
    main()
