#!/usr/bin/env python3
"""Steps per second: Gymnasium's toy-text environments against ide3al's simulator, in one run.

    python3 benches/peers/gymnasium_stepping.py

Makes its own virtual environment (benches/peers/.venv-gymnasium) on first use. Both sides follow a
random policy on one core; Gymnasium's environments are unwrapped, its actions drawn beforehand,
and its resets counted as part of the stepping. Exit code 1 unless ide3al makes at least 10 million
steps per second on every model and at least 100 times as many as the fastest of Gymnasium's.
"""

import subprocess
import sys
import time
from pathlib import Path

import environment

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def peer_rate(name, steps=200_000):
    import gymnasium
    import numpy as np

    env = gymnasium.make(name).unwrapped
    env.reset(seed=1)
    actions = np.random.default_rng(1).integers(env.action_space.n, size=steps).tolist()
    clock = time.perf_counter()
    for action in actions:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()
    return steps / (time.perf_counter() - clock)


def main():
    peers = {}
    print("Gymnasium, steps per second")
    for name in ["FrozenLake-v1", "CliffWalking-v1", "Taxi-v4"]:
        try:
            peers[name] = max(peer_rate(name) for _ in range(3))
        except Exception as error:  # a version without that environment
            print(f"{name:<24}{'not there: ' + type(error).__name__:>24}")
            continue
        print(f"{name:<24}{peers[name]:>14,.0f}")
    out = subprocess.run(
        ["cargo", "run", "--quiet", "--release", "--example", "sampling_speed"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    print("\nide3al, " + out)
    rows = [line.split() for line in out.splitlines()[2:]]
    slowest = min(float(row[2]) for row in rows) * 1e6
    ratio = slowest / max(peers.values())
    print(f"slowest of ide3al (counting included) / fastest of Gymnasium: {ratio:.0f}")
    return 0 if slowest >= 1e7 and ratio >= 100 else 1


if __name__ == "__main__":
    environment.enter(".venv-gymnasium", "gymnasium", "numpy")
    sys.exit(main())
