"""Gymnasium's toy-text environments as models: the transitions they are written with, and a new
start wherever an episode ends."""

from pathlib import Path

import gymnasium
import numpy as np
import scipy.sparse as sp

TOYS = {
    "frozen-lake-4": ("FrozenLake-v1", {"map_name": "4x4"}),
    "frozen-lake-8": ("FrozenLake-v1", {"map_name": "8x8"}),
    "cliff-walking": ("CliffWalking-v1", {}),
    "taxi": ("Taxi-v3", {}),
}


def newest(name):
    """The newest version that is registered: numbers differ between releases."""
    family = name.rsplit("-v", 1)[0]
    versions = [spec for spec in gymnasium.registry if spec.rsplit("-v", 1)[0] == family]
    return max(versions, key=lambda spec: int(spec.rsplit("-v", 1)[1]), default=name)


def transitions(env):
    start = np.asarray(env.initial_state_distrib, dtype=float)
    start /= start.sum()
    n, actions = len(env.P), len(env.P[0])
    rows, columns, values = [], [], []
    for s, by_action in env.P.items():
        for a, outcomes in by_action.items():
            for probability, t, _, ended in outcomes:
                follows = np.flatnonzero(start) if ended else np.array([t])
                rows.append(np.full(follows.size, s * actions + a))
                columns.append(follows)
                values.append(probability * (start[follows] if ended else np.ones(1)))
    place = (np.concatenate(rows), np.concatenate(columns))
    P = sp.coo_array((np.concatenate(values), place), shape=(n * actions, n)).tocsr()
    P.sum_duplicates()
    return sp.csr_array(sp.diags_array(1.0 / P.sum(axis=1)) @ P), actions, start


def write(folder):
    for file, (name, options) in TOYS.items():
        env = gymnasium.make(newest(name), **options).unwrapped
        P, actions, start = transitions(env)
        n = P.shape[1]
        np.savez(
            Path(folder) / f"{file}.npz",
            data=P.data,
            indices=P.indices.astype(np.int64),
            indptr=P.indptr.astype(np.int64),
            shape=np.array(P.shape),
            format="csr",
            first_pair=np.arange(n + 1) * actions,
            start=start,
        )
