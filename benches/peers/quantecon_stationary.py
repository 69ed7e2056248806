#!/usr/bin/env python3
"""Stationary distributions of dense random chains: QuantEcon against ide3al, in one run.

    python3 benches/peers/quantecon_stationary.py [SIZE ...]        (default 500 1000 2000)

Makes its own virtual environment (benches/peers/.venv) on first use. Both sides get the same
matrices and report the best of several runs of the solve alone; QuantEcon's first call, which
compiles, is not counted. Exit code 1 unless ide3al is at least 3 times faster at each size and
the answers agree to 1e-12.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import environment

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def main():
    import numpy as np
    from quantecon import MarkovChain

    sizes = [int(a) for a in sys.argv[1:]] or [500, 1000, 2000]
    rng = np.random.default_rng(1)
    subprocess.run(
        ["cargo", "build", "--quiet", "--release", "--bench", "stationary"], cwd=ROOT, check=True
    )
    MarkovChain(np.array([[0.5, 0.5], [0.25, 0.75]])).stationary_distributions  # compiles  # noqa: B018  (computed when it is first asked for)
    with tempfile.TemporaryDirectory() as folder:
        peers = {}
        for n in sizes:
            p = rng.random((n, n))
            p /= p.sum(axis=1, keepdims=True)
            np.save(Path(folder) / f"chain-{n:06d}.npy", p)
            best, answer = float("inf"), None
            for _ in range(3):
                chain = MarkovChain(p)
                clock = time.perf_counter()
                answer = chain.stationary_distributions[0]
                best = min(best, time.perf_counter() - clock)
            peers[n] = (best, answer)
        output = subprocess.run(
            ["cargo", "bench", "--quiet", "--bench", "stationary", "--", folder],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        ours = {}
        for line in output.splitlines():
            name, seconds = line.split()
            answer = np.fromfile(Path(folder) / f"{name}.f8")
            ours[int(name.split("-")[1])] = (float(seconds), answer)
    print("states  QuantEcon s  ide3al s  ratio  largest difference")
    good = True
    for n in sizes:
        ratio = peers[n][0] / ours[n][0]
        difference = float(np.abs(peers[n][1] - ours[n][1]).max())
        good &= ratio >= 3 and difference <= 1e-12
        print(f"{n:6}  {peers[n][0]:11.4f}  {ours[n][0]:8.4f}  {ratio:5.1f}  {difference:.1e}")
    return 0 if good else 1


if __name__ == "__main__":
    environment.enter(".venv", "quantecon", "numpy")
    sys.exit(main())
