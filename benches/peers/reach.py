#!/usr/bin/env python3
"""Reach against fifty random starts of L-BFGS in NumPy, on models drawn from a seed.

    python3 benches/peers/reach.py [--seed N] [--starts N] [--seconds S] [--json FILE] [PART ...]

The peer knows the definitions alone: dense inverses, rows of the policy as soft maxima, SciPy's
L-BFGS-B from random points. Its own values judge both sides' policies. One line per problem: the
share seen (or mean hitting time) of ide3al, of the peer's best and of the best policy of any other
formulation, the bound, and seconds. A PART of a model's name chooses models, --small and --large
those with up to 100 states and the others. The peer begins no further start on a problem after
--seconds, and the line says how many it made; it uses all cores, its seconds are those of one.
With --json results are kept, problems that FILE holds are not solved again, and --table ends with
a line for each model in it: the mean and least ratio of ide3al's value to the peer's best, the mean
one to the best policy of other formulations, and mean seconds. Exit code 1 if ide3al is more than
half a per cent worse than the peer anywhere, or worse than another formulation.
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import environment
import reach_models

PACKAGES = ("numpy>=2", "scipy", "gymnasium[toy-text]>=1.3")
OTHERS = ("infinity", "frobenius", "column-sum", "dual", "state-entropy", "coverage")
# states up to which a model counts as small
SMALL = 100
# seconds that another formulation is given
PATIENCE = 20


def judge(P, start, T, policy, gradient=False):
    """The share seen within T from the start, or minus the mean hitting time from anywhere."""
    import numpy as np

    n = len(P)
    M = np.einsum("sa,sat->st", policy, P)
    if np.isfinite(T):
        G = np.linalg.inv(np.eye(n) - (1 - 1 / T) * M)
        a, own = start @ G, np.diag(G)
        value = (a / own).mean()
        if not gradient:
            return value
        u, v = 1 / (n * own), a / (n * own**2)
        slope = (1 - 1 / T) * (np.outer(a, G @ u) - ((G * v) @ G).T)
        return value, np.einsum("sat,st->sa", P, slope)
    w = np.full(n, 1 / n)
    nowhere = (-1e12, np.zeros_like(policy)) if gradient else -1e12
    try:
        X = np.linalg.inv(np.eye(n) - M + np.ones((n, n)) / n)
    except np.linalg.LinAlgError:
        return nowhere
    d = X.sum(axis=0) / n
    d /= d.sum()
    if d[w > 0].min() < 1e-13:
        return nowhere
    d = np.maximum(d, 1e-300)
    Z = X - np.outer(np.ones(n), d @ X) + np.outer(np.ones(n), d)
    Z = Z - np.outer(Z.sum(axis=1) - 1, d)
    e = np.diag(Z) - w @ Z
    value = -(w * e / d).sum()
    if not gradient:
        return value
    q, y = w / d, -w * e / d**2
    both = (Z * q) @ Z - np.outer(Z @ q, w @ Z)
    slope = both.T + np.outer(d, Z @ y)
    return value, -np.einsum("sat,st->sa", P, slope)


def one_start(task):
    import numpy as np
    from scipy.optimize import minimize

    P, start, T, xi, seed = task
    n, actions, _ = P.shape
    rng = np.random.default_rng(seed)
    free = 1 - actions * xi

    def soft(x):
        x = x.reshape(n, actions)
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def loss(x):
        q = soft(x)
        value, slope = judge(P, start, T, xi + free * q, True)
        slope = -free * slope
        slope = q * (slope - (q * slope).sum(axis=1, keepdims=True))
        scale = n if np.isfinite(T) else 1 / n
        return -scale * value, scale * slope.ravel()

    begin = rng.normal(size=n * actions) * 0.5 * (1 + seed % 3)
    clock = time.perf_counter()
    found = minimize(
        loss, begin, jac=True, method="L-BFGS-B", options={"maxiter": 400, "maxcor": 20}
    )
    policy = xi + free * soft(found.x)
    return judge(P, start, T, policy), time.perf_counter() - clock


def solve(file, *arguments):
    """The policy of a formulation, and what the program says of it."""
    import numpy as np

    out = file.with_suffix(".policy.npy")
    asked = [reach_models.program(), "solve", str(file), "--json", "--compare", "never"]
    asked += ["--out", str(out), *arguments]
    said = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    return np.load(out), json.loads(said)


def others(file, xi):
    """The policies of the other formulations, by name, as far as they are found in time."""
    found = {}
    for name in OTHERS:
        asked = ["--formulation", name, "--xi", repr(xi), "--tie-break", "none"]
        found[name] = solve(file, *asked, "--time-limit", str(PATIENCE))[0]
    return found


def peer(pool, problem, starts, seconds):
    """Values of random starts and the seconds of each, as many as fit."""
    began, tries = time.perf_counter(), []
    for first in range(0, starts, 10):
        seeds = range(first, min(first + 10, starts))
        tries += pool.map(one_start, [(*problem, seed) for seed in seeds], chunksize=1)
        if time.perf_counter() - began > seconds:
            break
    return tries


def compare(pool, model, file, T, xi, rivals, asked):
    """One problem: a record of both sides' values."""
    P, start = model
    n, actions, _ = P.shape
    within = "inf" if T == float("inf") else repr(float(T))
    policy, said = solve(file, "--formulation", "reach", "--within", within, "--xi", repr(xi))
    tries = peer(pool, (P, start, T, xi), asked.starts, asked.seconds)
    ours = judge(P, start, T, policy.reshape(n, actions))
    rest = {name: judge(P, start, T, p.reshape(n, actions)) for name, p in rivals.items()}
    other = max(rest, key=rest.get)
    best = max(value for value, _ in tries)
    # times are better the smaller
    ratio = best / ours if T == float("inf") else ours / best
    agrees = abs(abs(ours) - said["objective"]) <= 1e-6 * abs(ours)
    return {
        "states": n,
        "ide3al": abs(ours),
        "peer": abs(best),
        "other": abs(rest[other]),
        "other formulation": other,
        "bound": said["bound"],
        "status": said["status"],
        "ratio": ratio,
        "seconds": said["seconds"],
        "peer seconds": sum(clock for _, clock in tries),
        "starts": len(tries),
        "good": bool(ratio >= 0.995 and ours >= rest[other] - 1e-9 * abs(rest[other]) and agrees),
    }


def show(title, found):
    numbers = [found[key] for key in ("ide3al", "peer", "other", "bound")]
    print(
        f"{title:52} "
        + " ".join(f"{x:9.4f}" for x in numbers)
        + f" {found['ratio']:7.4f} {found['seconds']:6.2f} {found['peer seconds']:7.1f}"
        + f" {found['starts']:6}"
        + ("" if found["good"] else " WORSE"),
        flush=True,
    )


def tabulate(kept):
    """What FILE holds, a line of Markdown for each model."""
    models = {}
    for title, found in kept.items():
        if "refused" not in found:
            name = title.partition(": ")[2].rpartition(", xi")[0]
            models.setdefault(name, []).append(found)
    columns = ("model (states)", "problems", "mean", "least", "others", "s", "peer s", "starts")
    print("\n| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|")
    for name, all_found in models.items():
        ratios = [found["ratio"] for found in all_found]
        # times are better the smaller
        rest = [
            x["other"] / x["ide3al"] if x["ide3al"] > 1 else x["ide3al"] / x["other"]
            for x in all_found
        ]
        mean = {
            key: sum(found[key] for found in all_found) / len(ratios)
            for key in ("seconds", "peer seconds")
        }
        starts = sorted({found["starts"] for found in all_found})
        print(
            f"| {name} | {len(ratios)} | {sum(ratios) / len(ratios):.4f} | {min(ratios):.4f}"
            f" | {sum(rest) / len(rest):.2f} | {mean['seconds']:.2f} | {mean['peer seconds']:.1f}"
            f" | {'-'.join(map(str, starts[:: max(1, len(starts) - 1)]))} |"
        )


def main():
    asked = argparse.ArgumentParser()
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--starts", type=int, default=50)
    asked.add_argument("--seconds", type=float, default=float("inf"))
    asked.add_argument("--small", action="store_true")
    asked.add_argument("--large", action="store_true")
    asked.add_argument("--json", type=Path)
    asked.add_argument("--table", action="store_true")
    asked.add_argument("parts", nargs="*")
    asked = asked.parse_args()
    kept = json.loads(asked.json.read_text()) if asked.json and asked.json.exists() else {}

    columns = ("problem", "ide3al", "peer", "others", "bound", "ratio", "s", "peer s", "starts")
    print("{:52} {:>9} {:>9} {:>9} {:>9} {:>7} {:>6} {:>7} {:>6}".format(*columns))
    shown = []
    with tempfile.TemporaryDirectory() as folder, multiprocessing.Pool() as pool:
        for name, (P, start) in reach_models.models(asked.seed).items():
            n, actions, _ = P.shape
            if asked.parts and not any(part in name for part in asked.parts):
                continue
            if (asked.small and n > SMALL) or (asked.large and n <= SMALL):
                continue
            file = Path(folder) / "model.npz"
            reach_models.write(P, start, file)
            for xi in (0.0, min(0.05, 0.5 / actions)):
                rivals = None
                for T in (n, 4 * n, 20 * n, float("inf")):
                    title = f"{name} ({n}), xi {xi:g}, within {T}"
                    key = f"seed {asked.seed}: {title}"
                    if key not in kept:
                        rivals = rivals or others(file, xi)
                        try:
                            kept[key] = compare(pool, (P, start), file, T, xi, rivals, asked)
                        except subprocess.CalledProcessError as refused:
                            kept[key] = {"refused": refused.stderr.strip()}
                        if asked.json:
                            asked.json.write_text(json.dumps(kept, indent=1))
                    if "refused" in kept[key]:
                        print(f"{title}: {kept[key]['refused'][:90]}")
                    else:
                        show(title, kept[key])
                        shown.append(kept[key])
    if asked.table:
        tabulate(kept)
    if shown:
        ratios = [found["ratio"] for found in shown]
        print(
            f"{len(ratios)} problems: ratio {sum(ratios) / len(ratios):.4f} in the mean, "
            f"{min(ratios):.4f} at worst"
        )
    sys.exit(not all(found["good"] for found in shown))


if __name__ == "__main__":
    if "IDE3AL_PEERS" not in os.environ:
        environment.enter(".venv-reach", *PACKAGES)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
