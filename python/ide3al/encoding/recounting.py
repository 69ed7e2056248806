"""Counting again what is recorded, when cells were cut anew."""

from __future__ import annotations

import numpy as np

from .. import _ide3al
from ..types import Integers
from .history import ONGOING, TERMINAL, TRUNCATED, JointHistory, TransitionHistory


def recount(
    agent: _ide3al.Agent,
    history: TransitionHistory | JointHistory,
    repeat: int,
    keys: Integers,
    old: Integers,
    episode_open: bool,
) -> dict[int, int]:
    """Numbers cells in the order in which they were met, and hands over all transitions between
    them. ``keys`` are those of the cell of each moment, ``old`` its number before; returns the
    number of each key."""
    actions = history.actions
    first, last = history.decisions(repeat)
    # what goes on elsewhere than at the end is that of another environment, at once
    over = np.flatnonzero(actions < 0)
    begun = np.concatenate([[0], over + 1])
    begun = begun[begun < len(actions)]
    left = np.flatnonzero(actions == TERMINAL)
    left = left[left + 1 < len(actions)]
    met = np.unique(np.concatenate([first, last, begun, left, [len(actions) - 1]]))
    distinct, earliest = np.unique(keys[met], return_index=True)
    order = np.argsort(earliest)
    state = np.full(len(keys), -1, dtype=np.int64)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    state[met] = rank[np.searchsorted(distinct, keys[met])]
    size = len(distinct)
    now = int(actions[-1])
    _ide3al.recount(
        agent,
        np.concatenate([state[first], state[left]]),
        np.concatenate([actions[first], np.zeros(len(left), dtype=np.int64)]),
        np.concatenate([state[last], state[left + 1]]),
        np.bincount(state[begun], minlength=size).tolist(),
        np.bincount(state[left], minlength=size).tolist(),
        int((actions == TRUNCATED).sum()),
        old[met][earliest[order]].tolist(),
        (int(state[-1]), now == TERMINAL) if episode_open and now in (ONGOING, TERMINAL) else None,
    )
    return {int(key): k for k, key in enumerate(distinct[order])}
