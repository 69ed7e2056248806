"""For how many steps an action must be held to lead anywhere."""

from __future__ import annotations

import numpy as np

from ..types import Floats, Integers
from .history import TERMINAL, TRUNCATED

#: Steps that an action may be held for.
REPEATS = (1, 2, 3, 4, 6, 8, 12, 16)
#: Actions are held until they lead this many cells apart.
APART = 1.0
#: Episodes have at least this many decisions on average.
DECISIONS = 8
#: Cells without which a repeat is measured on all of them together.
CELLS = 8


def measured_repeat(keys: Integers, unit: Floats, actions: Integers, n_actions: int) -> int:
    """Fewest steps that an action must be held for to matter: those after which the actions taken
    in a cell have led a cell's width apart, averaged over the cells. One step that moves everything
    by a tenth of a cell says next to nothing of where an action leads.

    ``keys`` are the cells of the moments recorded, ``unit`` their vectors in units of a cell."""
    changes = np.flatnonzero(np.append(actions[1:] != actions[:-1], True))
    at = np.flatnonzero(actions >= 0)
    left = changes[np.searchsorted(changes, at)] - at + 1
    episodes = 1 + int(((actions == TERMINAL) | (actions == TRUNCATED)).sum())
    most = max(1.0, len(at) / episodes / DECISIONS)
    best = 1
    for repeat in REPEATS:
        windows = at[left >= repeat]
        moves = unit[windows + repeat] - unit[windows]
        apart = _apart(keys[windows], actions[windows], moves, n_actions)
        if len(apart) < CELLS:
            # too little is known of single cells: all together
            apart = _apart(np.zeros_like(windows), actions[windows], moves, n_actions)
        if repeat > most or len(apart) == 0:
            break
        best = repeat
        if apart.mean() >= APART:
            break
    return best


def _apart(keys: Integers, actions: Integers, moves: Floats, n_actions: int) -> Floats:
    """How far apart the actions lead from each cell: the greatest difference, along any number,
    between their mean moves. Actions taken fewer than three times in a cell, and cells with
    fewer than two others, say nothing."""
    distinct, cell = np.unique(keys, return_inverse=True)
    pair = cell * n_actions + actions
    times = np.bincount(pair, minlength=len(distinct) * n_actions).reshape(-1, n_actions)
    known = times >= 3
    compared = known.sum(axis=1) >= 2
    widest = np.zeros(int(compared.sum()))
    for column in moves.T:
        sums = np.bincount(pair, weights=column, minlength=times.size).reshape(times.shape)
        mean = (sums / np.maximum(times, 1))[compared]
        highest = np.where(known[compared], mean, -np.inf).max(axis=1)
        lowest = np.where(known[compared], mean, np.inf).min(axis=1)
        widest = np.maximum(widest, highest - lowest)
    return widest
