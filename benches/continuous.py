#!/usr/bin/env python3
"""How evenly do the agents explore continuous environments that nobody here wrote, raw?

    python benches/continuous.py [--runs 10] [--worlds NAME,...] [--agents NAME,...] [--json FILE]
    python benches/continuous.py --curve FILE [--runs 10]

Needs the package and: pip install "gymnasium[classic-control]" gymnasium-robotics matplotlib. Every
agent has its default settings, the same abstraction and the same number of steps. Entropies in nats
over bins that no agent knows of:
  data    of the steps that it learned from
  policy  when its final policy is followed for 10,000 more steps, episodes and all"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import sys
import time
import warnings
from pathlib import Path

# one process per core: none of them needs threads of its own
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import gymnasium as gym  # noqa: E402
import numpy as np  # noqa: E402

import ide3al  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
from worlds import AGENTS, interval  # noqa: E402  (beside this file)

warnings.filterwarnings("ignore")

#: Steps that a final policy is followed for.
FOLLOWED = 10_000
PI = math.pi


class Endless(gym.Wrapper):
    """Episodes never end but are cut after some steps."""

    def __init__(self, env, steps):
        super().__init__(env)
        self.steps = steps

    def reset(self, **options):
        self.taken = 0
        return self.env.reset(**options)

    def step(self, action):
        observation, reward, _, _, info = self.env.step(action)
        self.taken += 1
        return observation, reward, False, self.taken >= self.steps, info


class Unbounded(gym.ObservationWrapper):
    """Observations whose space says nothing of their bounds."""

    def __init__(self, env):
        super().__init__(env)
        self.observation_space = gym.spaces.Box(
            -np.inf, np.inf, env.observation_space.shape, np.float32
        )

    def observation(self, observation):
        return observation


def endless(name, steps):
    return lambda: Endless(gym.make(name).unwrapped, steps)


def maze(name):
    def make():
        import contextlib
        import io

        with contextlib.redirect_stderr(io.StringIO()):
            import gymnasium_robotics

            gym.register_envs(gymnasium_robotics)
            return Endless(gym.make(name).unwrapped, 300)

    return make


def plain(observation):
    return np.asarray(observation, dtype=np.float64)


def angle(observation):
    return np.array([math.atan2(observation[1], observation[0]), observation[2]])


def angles(o):
    return np.array([math.atan2(o[1], o[0]), math.atan2(o[3], o[2]), o[4], o[5]])


def position(observation):
    return observation["observation"][:2]


# : How to make each world, the steps to learn from, and the bins: low, high, counts, and the
# numbers they are of.
WORLDS = {
    "mountain-car": (endless("MountainCarContinuous-v0", 400), 40_000, ([-1.2, -0.07], [0.6, 0.07], [12, 11], plain)),
    "pendulum": (endless("Pendulum-v1", 200), 20_000, ([-PI, -8], [PI, 8], [8, 8], angle)),
    "point-maze": (maze("PointMaze_UMaze-v3"), 40_000, ([-1.5, -1.5], [1.5, 1.5], [12, 12], position)),
    "acrobot": (
        endless("Acrobot-v1", 500), 40_000, ([-PI, -PI, -6, -12], [PI, PI, 6, 12], [6, 6, 5, 5], angles),
    ),
    "cart-pole": (lambda: gym.make("CartPole-v1"), 30_000, ([-2.4, -3, -0.21, -3], [2.4, 3, 0.21, 3], [6, 4, 6, 4], plain)),
    "three-force-car": (endless("MountainCar-v0", 200), 40_000, ([-1.2, -0.07], [0.6, 0.07], [12, 11], plain)),
    "unbounded-car": (
        lambda: Unbounded(endless("MountainCarContinuous-v0", 400)()), 40_000,
        ([-1.2, -0.07], [0.6, 0.07], [12, 11], plain),
    ),
}  # fmt: skip


def entropy(counts):
    share = np.asarray([c for c in counts if c > 0], dtype=float)
    share /= share.sum()
    return float(-(share * np.log(share)).sum())


class Binned(gym.Wrapper):
    """Counts visits of bins, and lets everything else pass."""

    def __init__(self, env, low, high, counts, numbers):
        super().__init__(env)
        self.low, self.counts, self.numbers = np.array(low), np.array(counts), numbers
        self.scale = self.counts / (np.array(high) - self.low)
        self.seen = {}

    def step(self, action):
        outcome = self.env.step(action)
        place = np.floor((self.numbers(outcome[0]) - self.low) * self.scale)
        place = tuple(np.clip(place, 0, self.counts - 1).astype(int).tolist())
        self.seen[place] = self.seen.get(place, 0) + 1
        return outcome


def follow(learner, env, seed, steps=FOLLOWED):
    observation, _ = env.reset(seed=seed)
    for _ in range(steps):
        observation, _, terminated, truncated, _ = env.step(learner.predict(observation))
        if terminated or truncated:
            observation, _ = env.reset()
    return entropy(env.seen.values())


def explore(task):
    """One run: (data, policy, cells, repeat, seconds)."""
    world, name, seed, settings = task
    make, steps, bins = WORLDS[world]
    env, began = Binned(make(), *bins), time.perf_counter()
    abstraction = ide3al.Abstraction(**settings)
    learner = AGENTS[name](seed=seed, abstraction=abstraction).fit(env, total_timesteps=steps)
    learner.predict(env.reset()[0])
    seconds = time.perf_counter() - began
    policy = follow(learner, Binned(make(), *bins), 1000 + seed)
    return entropy(env.seen.values()), policy, len(learner.states), learner.repeat, seconds


FIGURES = ("data", "policy", "cells", "repeat", "seconds")


def attempt(task):
    try:
        return task, explore(task)
    except Exception as problem:  # a world that an agent cannot learn is a result too
        import traceback

        traceback.print_exc()
        return task, f"{type(problem).__name__}: {problem}"


def measure(worlds, agents, seeds, processes, settings):
    """{world: {agent: {figure: [value per run]}}}; printed as it comes."""
    tasks = [
        (world, agent, seed, settings) for world in worlds for agent in agents for seed in seeds
    ]
    found = {}
    with multiprocessing.Pool(processes) as pool:
        for (world, agent, _, _), outcome in pool.imap(attempt, tasks):
            if isinstance(outcome, str):
                raise SystemExit(f"{world}, {agent}: {outcome}")
            of = found.setdefault(world, {}).setdefault(agent, {name: [] for name in FIGURES})
            for name, value in zip(FIGURES, outcome, strict=True):
                of[name].append(value)
            if len(of["data"]) == len(seeds):
                shown = [
                    f"{name} {interval(of[name])[0]:6.3f} +- {interval(of[name])[1]:5.3f}"
                    for name in FIGURES[:2]
                ]
                more = [f"{name} {np.mean(of[name]):.1f}" for name in FIGURES[2:]]
                print(
                    f"{world:16s}{agent:13s}"
                    + "   ".join([*shown, f"least {min(of['policy']):.3f}", *more]),
                    flush=True,
                )
    return found


def report(found):
    """The table of the documents."""
    agents = list(next(iter(found.values())))
    print(
        "\n| world | steps | bins (ln) | "
        + " | ".join(f"{a}: data / policy" for a in agents)
        + " |"
    )
    print("|" + "---|" * (len(agents) + 3))
    for world, of in found.items():
        counts = WORLDS[world][2][2]
        cells = []
        for agent in agents:
            shown = [
                "{:.2f} ± {:.2f}".format(*interval(of[agent][name])) for name in ("data", "policy")
            ]
            cells.append(" / ".join(shown))
        bins = f"{' x '.join(map(str, counts))} ({math.log(math.prod(counts)):.2f})"
        print(f"| {world} | {WORLDS[world][1]:,} | {bins} | " + " | ".join(cells) + " |")


#: Steps at which the curve looks at what was learned so far, and steps that it is followed for.
MARKS, BRIEFLY = (1000, 2500, 5000, 10_000, 20_000, 30_000, 40_000), 4000


def curve_of(task):
    """Entropy of the policy learned so far against steps, in one run on the mountain car."""
    name, seed = task
    make, steps, bins = WORLDS["mountain-car"]
    marks, found = list(MARKS), []

    def look(agent):
        if marks and agent.num_timesteps >= marks[0]:
            marks.pop(0)
            found.append(
                (agent.num_timesteps, follow(agent, Binned(make(), *bins), 1000 + seed, BRIEFLY))
            )

    AGENTS[name](seed=seed).fit(make(), total_timesteps=steps, callback=look)
    return task, found


def curve(agents, runs, processes, path):
    """Draws and prints the curves."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colours = {
        "ide3al": "#0072b2",
        "count-based": "#e69f00",
        "max-ent": "#009e73",
        "random": "#999999",
    }
    runs_of = {agent: [] for agent in agents}
    with multiprocessing.Pool(processes) as pool:
        for (agent, _), found in pool.imap(
            curve_of, [(agent, seed) for agent in agents for seed in range(runs)]
        ):
            runs_of[agent].append(found)
    figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
    for agent, found in runs_of.items():
        steps = np.mean([[at for at, _ in run] for run in found], axis=0)
        centre, half = zip(
            *(interval(values) for values in zip(*([v for _, v in run] for run in found)))
        )
        print(
            agent,
            " ".join(f"{at:.0f}: {c:.2f} +- {h:.2f}" for at, c, h in zip(steps, centre, half)),
            flush=True,
        )
        axis.plot(steps, centre, "o-", color=colours[agent], label=agent, markersize=3.5)
        axis.fill_between(
            steps, np.subtract(centre, half), np.add(centre, half), color=colours[agent], alpha=0.2
        )
    axis.axhline(math.log(12 * 11), linestyle=":", color="black", linewidth=1)
    axis.set(
        xlabel="steps",
        ylabel="entropy over 12 x 11 bins, nats",
        title=f"MountainCarContinuous: policy learned so far, {runs} runs",
    )
    axis.legend(frameon=False)
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument(
        "--first", type=int, default=0, help="seed of the first run; the others follow"
    )
    parser.add_argument("--worlds", default=",".join(WORLDS))
    parser.add_argument("--agents", default=",".join(AGENTS))
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--abstraction", default="{}", help="settings as JSON: '{\"cells\": 20}'")
    parser.add_argument("--json", help="write every figure of every run")
    parser.add_argument("--read", help="take the figures from a file that --json wrote")
    parser.add_argument("--curve", help="draw entropy against steps on the mountain car instead")
    given = parser.parse_args()
    if given.curve:
        curve(given.agents.split(","), given.runs, given.processes, given.curve)
        return
    if given.read:
        with open(given.read) as file:
            found = json.load(file)
    else:
        settings, seeds = (
            json.loads(given.abstraction),
            range(given.first, given.first + given.runs),
        )
        found = measure(
            given.worlds.split(","), given.agents.split(","), seeds, given.processes, settings
        )
    if given.json:
        with open(given.json, "w") as file:
            json.dump(found, file, indent=1)
    report(found)


if __name__ == "__main__":
    main()
