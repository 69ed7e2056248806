#!/usr/bin/env python3
"""Do refined cells explore more evenly than every fixed grid of as many cells?

    python benches/refinement.py [--runs 6] [--cells 144] [--worlds mountain-car,pendulum]

Needs what benches/continuous.py needs. IDE3AL with its defaults but for the cells; on pendulum,
cosine and sine are told to be one angle, so that both worlds have two numbers and every grid of
that many cells can be tried. Entropy in nats of the final policy, followed for 20,000 steps, over
fine bins that all layouts have in common."""

from __future__ import annotations

import argparse
import multiprocessing

import continuous  # beside this file; first, since it says how many threads there are
import numpy as np

import ide3al

FOLLOWED = 20_000
#: Steps to learn from, bins along each number, and what is told of the world.
WORLDS = {
    "mountain-car": (40_000, [36, 33], {}),
    "pendulum": (20_000, [32, 32], {"angles": [(0, 1)]}),
}


def layouts(cells):
    """All grids of that many cells, at most nine times as many along one number as along the other,
    and what is no grid."""
    found = {
        "refined": {"cells": cells, "refine": True},
        "k-means": {"cells": cells, "kind": "k-means"},
    }
    for first in range(1, cells + 1):
        second, rest = divmod(cells, first)
        if rest == 0 and max(first, second) <= 9 * min(first, second):
            found[f"{first} x {second}"] = {"cells": [first, second]}
    return found


def explore(task):
    world, name, seed, cells = task
    make, _, (low, high, _, numbers) = continuous.WORLDS[world]
    steps, bins, told = WORLDS[world]
    abstraction = ide3al.Abstraction(**layouts(cells)[name], **told)
    learner = ide3al.IDE3AL(seed=seed, abstraction=abstraction).fit(make(), total_timesteps=steps)
    binned = continuous.Binned(make(), low, high, bins, numbers)
    return task, continuous.follow(learner, binned, 1000 + seed, FOLLOWED), len(learner.states)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--cells", type=int, default=144)
    parser.add_argument("--worlds", default=",".join(WORLDS))
    given = parser.parse_args()
    tasks = [
        (world, name, seed, given.cells)
        for world in given.worlds.split(",")
        for name in layouts(given.cells)
        for seed in range(given.runs)
    ]
    found = {}
    with multiprocessing.Pool() as pool:
        for (world, name, _, _), entropy, met in pool.imap(explore, tasks):
            of = found.setdefault((world, name), [])
            of.append((entropy, met))
            if len(of) == given.runs:
                centre, half = continuous.interval([value for value, _ in of])
                print(
                    f"{world:14s}{name:10s}{centre:6.3f} +- {half:5.3f}   cells met {np.mean([n for _, n in of]):.0f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
