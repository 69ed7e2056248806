#!/usr/bin/env python3
"""Environments of other people's packages: does everything work, and who explores how far?

    make environments
    python benches/environments.py [--runs 5] [--scale 1.0] [--only NAME,...]
        [--workers N] [--json FILE]

Needs the package and what the Makefile installs into target/environments. For each environment the
agent is fitted, followed, used to collect data, saved and loaded, with the seed of every run;
whatever raises is listed. Then IDE3AL and its rivals learn for the same steps (``ide3al.compare``):
effective states (the exponential of the entropy of the visits) and distinct states in the data that
each learned from, mean of the runs and half the 95 % interval. In continuous environments states
are cells that are the same for all agents. ``--scale`` multiplies the steps. The file of ``--json``
is written after each environment, and a run that is interrupted goes on from it.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import gymnasium as gym  # noqa: E402
import numpy as np  # noqa: E402

import ide3al  # noqa: E402
import ide3al.wrappers  # noqa: E402

warnings.filterwarnings("ignore")
gym.logger.min_level = gym.logger.ERROR

#: Environment and steps.
ENVIRONMENTS = {
    "Acrobot-v1": 20_000,
    "CartPole-v1": 20_000,
    "MountainCar-v0": 20_000,
    "MountainCarContinuous-v0": 20_000,
    "Pendulum-v1": 20_000,
    "Blackjack-v1": 10_000,
    "CliffWalking-v1": 10_000,
    "FrozenLake-v1": 10_000,
    "Taxi-v4": 10_000,
    "LunarLander-v3": 20_000,
    "LunarLanderContinuous-v3": 20_000,
    "BipedalWalker-v3": 10_000,
    "Ant-v5": 10_000,
    "HalfCheetah-v5": 10_000,
    "Hopper-v5": 10_000,
    "InvertedDoublePendulum-v5": 10_000,
    "InvertedPendulum-v5": 10_000,
    "Reacher-v5": 10_000,
    "Swimmer-v5": 10_000,
    "Walker2d-v5": 10_000,
    "MiniGrid-DoorKey-5x5-v0": 10_000,
    "MiniGrid-Empty-8x8-v0": 10_000,
    "MiniGrid-FourRooms-v0": 10_000,
    "MiniGrid-LavaCrossingS9N1-v0": 10_000,
    "MiniGrid-MultiRoom-N2-S4-v0": 10_000,
    "fixed MiniGrid-DoorKey-6x6-v0": 10_000,
    "fixed MiniGrid-FourRooms-v0": 10_000,
    "deep-sea-treasure-v0": 10_000,
    "four-room-v0": 10_000,
    "minecart-v0": 10_000,
    "mo-mountaincar-v0": 10_000,
    "resource-gathering-v0": 10_000,
    "highway-fast-v0": 1_000,
    "merge-v0": 1_000,
    "parking-v0": 3_000,
    "PointMaze_UMaze-v3": 10_000,
}
PACKAGES = ("minigrid", "mo_gymnasium", "highway_env", "gymnasium_robotics")


def rivals():
    return [ide3al.IDE3AL(), ide3al.CountBased(), ide3al.MaxEnt(), ide3al.Random()]


class Maker:
    """Makes an environment, in any process."""

    def __init__(self, name):
        self.name = name

    def __call__(self):
        for package in PACKAGES:
            module = importlib.import_module(package)
            gym.register_envs(module)
        if self.name.startswith("fixed "):
            return ide3al.wrappers.State(gym.make(self.name[6:]), seed=1)
        return gym.make(self.name)


#: Most steps that an agent is fitted for before it is followed, saved and loaded.
EXERCISED = 1_000


def exercise(maker, steps, seed):
    """Fits, follows, collects, saves and loads: nothing may raise."""
    env = maker()
    agent = ide3al.IDE3AL(seed=seed).fit(env, steps)
    observation, _ = env.reset(seed=seed)
    for _ in range(100):
        observation, _, terminated, truncated, _ = env.step(agent.predict(observation))
        if terminated or truncated:
            observation, _ = env.reset()
            agent.reset()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agent.zip"
        agent.save(path)
        loaded = ide3al.IDE3AL.load(path, env=env)
        data = ide3al.collect(env, loaded, 100, out=Path(folder) / "data")
        again = ide3al.audit(Path(folder) / "data")
        assert np.array_equal(again.observations, data.observations)
    notes = agent.notes
    env.close()
    return notes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--workers", type=int, help="runs at once; 1: all in this process")
    parser.add_argument("--only", help="names, separated by commas")
    parser.add_argument("--json", help="file for everything that was measured")
    given = parser.parse_args()
    chosen = given.only.split(",") if given.only else list(ENVIRONMENTS)
    unknown = set(chosen) - set(ENVIRONMENTS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    names = [type(agent).__name__ for agent in rivals()]
    print(f"| environment | steps | {' | '.join(names)} | of the best rival |")
    print("|---" * (len(names) + 3) + "|")
    file = Path(given.json) if given.json else None
    kept = json.loads(file.read_text()) if file is not None and file.exists() else {}
    failed, ratios = [], {}
    for name in chosen:
        steps = max(600, int(given.scale * ENVIRONMENTS[name]))
        if (kept.get(name, {}).get("steps"), kept.get(name, {}).get("runs")) != (steps, given.runs):
            try:
                kept[name] = measured(Maker(name), steps, given.runs, given.workers)
            except Exception as problem:  # listed at the end, with all the others
                failed.append((name, problem))
                traceback.print_exc()
                continue
            if file is not None:
                file.write_text(json.dumps(kept))
        ratios[name] = shown(name, kept[name])
    if ratios:
        mean = math.exp(np.mean([math.log(ratio) for ratio in ratios.values()]))
        least = min(ratios, key=ratios.get)
        print(
            f"\n{len(ratios)} environments, {given.runs} runs each: geometric mean of the ratios "
            f"{mean:.2f}, least {ratios[least]:.2f} ({least})"
        )
    for name, problem in failed:
        print(f"FAILED {name}: {type(problem).__name__}: {problem}")
    return 1 if failed else 0


def measured(maker, steps, runs, workers):
    """Everything about one environment."""
    begun = time.monotonic()
    for seed in range(runs):
        notes = exercise(maker, min(steps, EXERCISED), seed)
    result = ide3al.compare(maker, rivals(), steps, runs, workers=workers)
    return {
        "steps": steps,
        "runs": runs,
        "seconds": time.monotonic() - begun,
        "notes": notes,
        **{metric: values[:, :, -1].tolist() for metric, values in result.values.items()},
    }


def shown(name, found):
    """Prints a row of the table; returns the first agent's share of the best other's."""
    effective = np.array(found["effective_states"])
    distinct = np.array(found["distinct_states"]).mean(axis=1)
    ratio, low, high = of_best(effective)
    cells = [
        f"{row.mean():.0f}{half(row)} ({mean:.0f})"
        for row, mean in zip(effective, distinct, strict=True)
    ]
    interval = "" if math.isnan(low) else f" ({low:.2f} to {high:.2f})"
    row = f"| {name} | {found['steps']:,} | {' | '.join(cells)} | {ratio:.2f}{interval} |"
    print(row, flush=True)
    return ratio


def half(values):
    """Half the 95 % interval of a mean, where runs are several."""
    runs = len(values)
    if runs < 2:
        return ""
    quantile = {2: 12.7, 3: 4.3, 4: 3.18, 5: 2.78}.get(runs, 2.0)
    return f" ± {quantile * values.std(ddof=1) / math.sqrt(runs):.0f}"


def of_best(values):
    """The first agent's mean as a share of the best other's, with a 95 % interval from resampling
    runs."""
    best = 1 + int(values[1:].mean(axis=1).argmax())
    ratio = values[0].mean() / values[best].mean()
    runs = values.shape[1]
    if runs < 3:
        return ratio, math.nan, math.nan
    drawn = np.random.default_rng(0).integers(runs, size=(2, 4000, runs))
    shares = values[0][drawn[0]].mean(axis=1) / values[best][drawn[1]].mean(axis=1)
    return ratio, *np.quantile(shares, [0.025, 0.975])


if __name__ == "__main__":
    sys.exit(main())
