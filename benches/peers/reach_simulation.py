#!/usr/bin/env python3
"""The share seen that reach states, against walks of its policy in NumPy.

    python3 benches/peers/reach_simulation.py [--seed N] [--walks N] [PART ...]

For every model of reach.py, four steps for each state and xi 0.05: walks that end after each step
with probability 1/T, the mean share of the states they saw, its standard error, and by how many of
them the stated value is off. Exit code 1 if that is more than 4 anywhere, or more than 2 on more
than a sixth of the models.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import environment
import reach_models
from reach import PACKAGES, solve


def walks(M, start, T, count, rng):
    """The share of the states that each of so many walks sees."""
    import numpy as np

    reach = np.cumsum(M, axis=1)
    reach[:, -1] = 1
    state = rng.choice(len(M), size=count, p=start)
    going, seen = np.arange(count), np.zeros((count, len(M)), bool)
    while len(going):
        seen[going, state] = True
        lasts = rng.random(len(going)) >= 1 / T
        going, state = going[lasts], state[lasts]
        state = (rng.random(len(going))[:, None] > reach[state]).sum(axis=1)
    return seen.mean(axis=1)


def main():
    asked = argparse.ArgumentParser()
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--walks", type=int, default=2_000)
    asked.add_argument("parts", nargs="*")
    asked = asked.parse_args()
    import numpy as np

    rng = np.random.default_rng(asked.seed)
    line = "{:44} {:>8} {:>8} {:>8} {:>7}"
    print(line.format("model", "stated", "walks", "error", "off by"))
    off = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (P, start) in reach_models.models(asked.seed).items():
            if asked.parts and not any(part in name for part in asked.parts):
                continue
            n, actions, _ = P.shape
            file = Path(folder) / "model.npz"
            reach_models.write(P, start, file)
            xi = repr(min(0.05, 0.5 / actions))
            policy, said = solve(file, "--formulation", "reach", "--xi", xi)
            M = np.einsum("sa,sat->st", policy.reshape(n, actions), P)
            shares = walks(M, start, said["within"], asked.walks, rng)
            error = shares.std() / np.sqrt(asked.walks)
            off.append(abs(shares.mean() - said["objective"]) / error)
            numbers = [f"{x:.4f}" for x in (said["objective"], shares.mean(), error)]
            print(line.format(f"{name} ({n})", *numbers, f"{off[-1]:.1f}"), flush=True)
    print(f"{len(off)} models: off by {max(off):.1f} standard errors at most")
    sys.exit(bool(max(off) > 4 or sum(x > 2 for x in off) > max(1, len(off) / 6)))


if __name__ == "__main__":
    if "IDE3AL_PEERS" not in os.environ:
        environment.enter(".venv-reach", *PACKAGES)
    main()
