"""The models that reach is measured on: grids, mazes, rooms, garnets, roads, chains, known ones.

Each is a pair of an array of transition probabilities, states by actions by states, and where
walks begin, restricted to the states that can be reached. Random ones are drawn from a seed.
"""

import json
import os
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


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


def models(seed):
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
