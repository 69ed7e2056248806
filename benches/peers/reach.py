#!/usr/bin/env python3
"""Reach against fifty random starts of L-BFGS in NumPy, on models drawn from a seed.

    python3 benches/peers/reach.py [--seed N] [--starts N] [--quick] [PART ...]

The peer knows the definitions alone: dense inverses, rows of the policy as soft maxima, SciPy's
L-BFGS-B from random points. Its own values judge both sides' policies. One line per problem: the
share seen (or mean hitting time) of ide3al, of the peer's best and of the best policy of any other
formulation, the bound, and seconds. A PART of a model's name chooses models. The peer uses all
cores, its seconds are those of one. Exit code 1 if ide3al is more than half a per cent worse
than the peer anywhere, or worse than another formulation.
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

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = ("numpy>=2", "scipy", "gymnasium[toy-text]>=1.3")


def grid(rows, slip=0.0):
    """Four moves; '#' is a wall, an arrow the only way out of its cell, 'S' the start."""
    import numpy as np

    cells = [(r, c) for r, line in enumerate(rows) for c, mark in enumerate(line) if mark != "#"]
    place = {cell: i for i, cell in enumerate(cells)}
    moves = [(-1, 0), (1, 0), (0, -1), (0, 1)]
    P, start = np.zeros((len(cells), 4, len(cells))), np.zeros(len(cells))
    for (r, c), i in place.items():
        mark = rows[r][c]
        if mark == "S":
            start[i] = 1
        for a in range(4):
            go = "^v<>".index(mark) if mark in "^v<>" else a
            to = place.get((r + moves[go][0], c + moves[go][1]), i)
            P[i, a, to] += 1 - slip
        P[i] += slip * P[i].mean(axis=0) / (1 - slip) if slip else 0
    if not start.any():
        start[0] = 1
    return reached(P, start)


def maze(rng, height, width, loops, slip=0.0, one_way=0):
    walls = [["#"] * (2 * width + 1) for _ in range(2 * height + 1)]
    walls[1][1], stack, seen = "S", [(0, 0)], {(0, 0)}
    while stack:
        r, c = stack[-1]
        near = [(r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)]
        near = [
            (a, b) for a, b in near if 0 <= a < height and 0 <= b < width and (a, b) not in seen
        ]
        if not near:
            stack.pop()
            continue
        a, b = near[rng.integers(len(near))]
        seen.add((a, b))
        walls[2 * a + 1][2 * b + 1] = walls[r + a + 1][c + b + 1] = "."
        stack.append((a, b))
    gates = [(r, c) for r in range(1, 2 * height) for c in range(1, 2 * width) if (r + c) % 2 == 1]
    for r, c in gates:
        if walls[r][c] == "#" and rng.random() < loops:
            walls[r][c] = "."
    open_gates = [(r, c) for r, c in gates if walls[r][c] == "."]
    for k in rng.permutation(len(open_gates))[:one_way]:
        r, c = open_gates[k]
        walls[r][c] = "<>"[rng.integers(2)] if r % 2 == 1 else "^v"[rng.integers(2)]
    return grid(["".join(line) for line in walls], slip)


def rooms(rng, count, size, slip):
    """Rooms in a square, joined by one door in every wall between two."""
    n = count * (size + 1) + 1
    walls = [
        ["#" if r % (size + 1) == 0 or c % (size + 1) == 0 else "." for c in range(n)]
        for r in range(n)
    ]
    for i in range(count):
        for j in range(count):
            door = 1 + int(rng.integers(size))
            if i + 1 < count:
                walls[(i + 1) * (size + 1)][j * (size + 1) + door] = "."
            if j + 1 < count:
                walls[i * (size + 1) + door][(j + 1) * (size + 1)] = "."
    walls[1][1] = "S"
    return grid(["".join(line) for line in walls], slip)


def garnet(rng, n, actions, branching):
    import numpy as np

    P = np.zeros((n, actions, n))
    for s in range(n):
        for a in range(actions):
            P[s, a, rng.choice(n, branching, replace=False)] = rng.dirichlet(np.ones(branching))
    start = np.zeros(n)
    start[0] = 1
    return reached(P, start)


def roads(rng, n):
    """Places in the plane, each joined to its nearest three; as many actions as the most ways."""
    import numpy as np

    at = rng.random((n, 2))
    far = np.linalg.norm(at[:, None] - at[None], axis=2)
    joined = np.zeros((n, n), bool)
    for s in range(n):
        joined[s, np.argsort(far[s])[1:4]] = True
    joined |= joined.T
    most = joined.sum(axis=1).max()
    P = np.zeros((n, most, n))
    for s in range(n):
        ways = np.flatnonzero(joined[s])
        for a in range(most):
            P[s, a, ways[a % len(ways)]] = 1
    start = np.zeros(n)
    start[0] = 1
    return reached(P, start)


def chain(n, slip):
    """Right and left with slips; the right end leads back to the start."""
    import numpy as np

    P, start = np.zeros((n, 2, n)), np.zeros(n)
    start[0] = 1
    for s in range(n):
        for a, to in enumerate([(s + 1) % n, max(s - 1, 0)]):
            P[s, a, to] += 1 - slip
            P[s, a, s] += slip
    return P, start


def toy(name, **options):
    import gymnasium
    import numpy as np

    family = name.rsplit("-v", 1)[0]
    versions = [s for s in gymnasium.registry if s.rsplit("-v", 1)[0] == family]
    env = gymnasium.make(max(versions, default=name), **options).unwrapped
    n, actions = env.observation_space.n, env.action_space.n
    start = np.asarray(env.initial_state_distrib, float)
    start /= start.sum()
    P = np.zeros((n, actions, n))
    for s in range(n):
        for a in range(actions):
            for p, t, _, ended in env.P[s][a]:
                P[s, a] += p * start if ended else 0
                P[s, a, t] += 0 if ended else p
    return reached(P, start)


def reached(P, start):
    """The part that can be reached."""
    import numpy as np

    ways, met = P.sum(axis=1) > 0, start > 0
    while True:
        more = met | ways[met].any(axis=0)
        if (more == met).all():
            return P[np.ix_(met, np.arange(P.shape[1]), met)], start[met]
        met = more


def models(seed, quick):
    import numpy as np

    rng = np.random.default_rng(seed)
    made = {
        "rooms 2x3": lambda: rooms(rng, 2, 3, 0.0),
        "rooms 2x4, slip 0.1": lambda: rooms(rng, 2, 4, 0.1),
        "rooms 3x3, slip 0.2": lambda: rooms(rng, 3, 3, 0.2),
        "open grid 7x7": lambda: grid(["S" + "." * 6] + ["." * 7] * 6),
        "open grid 8x6, slip 0.1": lambda: grid(["S" + "." * 5] + ["." * 6] * 7, 0.1),
        "maze with dead ends": lambda: maze(rng, 5, 6, 0.0),
        "maze with dead ends, slip 0.1": lambda: maze(rng, 4, 5, 0.0, 0.1),
        "maze with loops": lambda: maze(rng, 5, 5, 0.3),
        "maze with loops, slip 0.2": lambda: maze(rng, 4, 6, 0.3, 0.2),
        "maze with one-way cells": lambda: maze(rng, 5, 5, 0.5, 0.0, 3),
        "maze with one-way cells, slip 0.1": lambda: maze(rng, 4, 5, 0.6, 0.1, 2),
        "cliff walking": lambda: toy("CliffWalking-v1"),
        "frozen lake 4x4": lambda: toy("FrozenLake-v1", map_name="4x4"),
        "frozen lake 8x8": lambda: toy("FrozenLake-v1", map_name="8x8"),
        "chain": lambda: chain(30, 0.0),
        "chain, slip 0.2": lambda: chain(25, 0.2),
        "garnet 40": lambda: garnet(rng, 40, 3, 3),
        "garnet 80": lambda: garnet(rng, 80, 4, 5),
        "garnet 60, few ways": lambda: garnet(rng, 60, 2, 2),
        "road graph": lambda: roads(rng, 60),
        "double chain": lambda: named("double-chain"),
        "river swim": lambda: named("river-swim"),
        "four rooms": lambda: named("four-rooms"),
        "knight quest 3x3": lambda: named("knight-quest:rows=3,columns=3"),
        "taxi": lambda: toy("Taxi-v3"),
        "knight quest": lambda: named("knight-quest"),
    }
    if quick:
        for name in ["taxi", "knight quest"]:
            del made[name]
    # every model is drawn, so that a choice of some changes none
    return {name: make() for name, make in made.items()}


def named(spec):
    """One of the program's own models, as numbers."""
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.json"
        subprocess.run([program(), "convert", spec, str(file)], check=True, capture_output=True)
        data = json.loads(file.read_text())
    n, actions = data["states"], data["actions"]
    P, start = np.zeros((n, actions, n)), np.zeros(n)
    for s, a, t, p in data["transitions"]:
        P[s, a, t] += p
    begin = data.get("start", 0)
    start[:] = np.eye(n)[begin] if isinstance(begin, int) else begin
    # a state with fewer actions plays its first in the place of those that it lacks
    lacks = P.sum(axis=2) == 0
    P[lacks] = P[np.nonzero(lacks)[0], P.sum(axis=2).argmax(axis=1)[np.nonzero(lacks)[0]]]
    return reached(P, start)


def program():
    return os.environ.get("IDE3AL", str(ROOT / "target/release/ide3al"))


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
    X = np.linalg.inv(np.eye(n) - M + np.ones((n, n)) / n)
    d = X.sum(axis=0) / n
    d /= d.sum()
    if d[w > 0].min() < 1e-13:
        return (-1e12, np.zeros_like(policy)) if gradient else -1e12
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


def write(P, start, file):
    """The model as the program reads it."""
    import numpy as np

    n, actions, _ = P.shape
    rows = P.reshape(n * actions, n)
    place = [np.flatnonzero(row) for row in rows]
    np.savez(
        file,
        data=np.concatenate([row[k] for row, k in zip(rows, place)]),
        indices=np.concatenate(place).astype(np.int64),
        indptr=np.cumsum([0, *map(len, place)]).astype(np.int64),
        shape=np.array(rows.shape),
        format="csr",
        first_pair=np.arange(n + 1) * actions,
        start=start,
    )


def solve(file, *arguments):
    """The policy of a formulation, and what the program says of it."""
    import numpy as np

    out = file.with_suffix(".policy.npy")
    asked = [program(), "solve", str(file), "--json", "--compare", "never", "--out", str(out)]
    said = subprocess.run([*asked, *arguments], check=True, capture_output=True, text=True).stdout
    return np.load(out), json.loads(said)


def main():
    asked = argparse.ArgumentParser()
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--starts", type=int, default=50)
    asked.add_argument("--quick", action="store_true")
    asked.add_argument("parts", nargs="*")
    asked = asked.parse_args()
    import numpy as np

    heading = ("problem", "ide3al", "peer", "others", "bound", "ratio", "s", "peer s")
    print("{:52} {:>9} {:>9} {:>9} {:>9} {:>7} {:>6} {:>7}".format(*heading))
    ratios, good = [], True
    with tempfile.TemporaryDirectory() as folder, multiprocessing.Pool() as pool:
        for name, (P, start) in models(asked.seed, asked.quick).items():
            if asked.parts and not any(part in name for part in asked.parts):
                continue
            n, actions, _ = P.shape
            file = Path(folder) / "model.npz"
            write(P, start, file)
            for xi in (0.0, min(0.05, 0.5 / actions)):
                common = ["--xi", repr(xi)]
                names = ["frobenius", "state-entropy", "dual", "coverage"]
                others = [solve(file, "--formulation", other, *common)[0] for other in names]
                for T in (n, 4 * n, 20 * n, np.inf):
                    within = "inf" if np.isinf(T) else repr(float(T))
                    try:
                        policy, said = solve(
                            file, "--formulation", "reach", "--within", within, *common
                        )
                    except subprocess.CalledProcessError as refused:
                        print(f"{name} ({n}), {within}: {refused.stderr.strip()[:90]}")
                        continue
                    tasks = [(P, start, T, xi, seed) for seed in range(asked.starts)]
                    tries = pool.map(one_start, tasks, chunksize=1)
                    ours = judge(P, start, T, policy.reshape(n, actions))
                    best = max(value for value, _ in tries)
                    rest = max(judge(P, start, T, other.reshape(n, actions)) for other in others)
                    # times are better the smaller
                    ratio = best / ours if np.isinf(T) else ours / best
                    ratios.append(ratio)
                    bad = ratio < 0.995 or ours < rest - 1e-9 * abs(rest)
                    bad |= abs(abs(ours) - said["objective"]) > 1e-6 * abs(ours)
                    good &= not bad
                    title = f"{name} ({n}), xi {xi:g}, within {within.removesuffix('.0')}"
                    numbers = [abs(ours), abs(best), abs(rest), said["bound"] or np.nan]
                    seconds = sum(clock for _, clock in tries)
                    print(
                        f"{title:52} "
                        + " ".join(f"{x:9.4f}" for x in numbers)
                        + f" {ratio:7.4f} {said['seconds']:6.2f} {seconds:7.1f}"
                        + (" WORSE" if bad else ""),
                        flush=True,
                    )
    if ratios:
        print(
            f"{len(ratios)} problems: ratio {np.mean(ratios):.4f} in the mean, "
            f"{min(ratios):.4f} at worst"
        )
    sys.exit(not good)


if __name__ == "__main__":
    if "IDE3AL_PEERS" not in os.environ:
        environment.enter(".venv-reach", *PACKAGES)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
