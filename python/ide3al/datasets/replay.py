"""Replay buffers of other libraries, filled."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._ide3al import Error
from ..encoding.discrete import SpaceIndex
from .transitions import Transitions, observed


def fill_buffer(data: Transitions, buffer: Any) -> int:
    """Adds every step to a buffer with the interface of Stable-Baselines3's ``ReplayBuffer``."""
    if not callable(getattr(buffer, "add", None)):
        raise Error(f"{type(buffer).__name__}: a replay buffer has a method add; this has none")
    if getattr(buffer, "n_envs", 1) != 1:
        raise Error(f"the buffer is for {buffer.n_envs} environments; make one with n_envs=1")
    elements = observed(data)
    if elements is None or data.spaces is None:
        raise Error(
            "the spaces of these data are not known: collect them, or read them with "
            "ide3al.audit(..., env=...)"
        )
    for kind, space in zip(("observation_space", "action_space"), data.spaces, strict=True):
        own = getattr(buffer, kind, None)
        if own is not None and own != space:
            raise Error(f"the buffer's {kind} is {own}; these data have {space}")
    size = getattr(buffer, "buffer_size", None)
    if size is not None and size < len(data):
        raise Error(f"the buffer holds {size} steps; these data have {len(data)}")
    actions = SpaceIndex(data.spaces[1])
    ends = np.zeros(len(data), dtype=np.bool_)
    ends[data.bounds[1:] - 1] = True
    for k in range(len(data)):
        before, after = elements[data.observations[k]], elements[data.next_observations[k]]
        cut = bool(ends[k] and not data.terminations[k])
        infos = [{"TimeLimit.truncated": True} if cut else {}]
        buffer.add(
            _one(before), _one(after), np.asarray([actions.element(int(data.actions[k]))]),
            np.array([data.rewards[k]]), np.array([bool(ends[k])]), infos,
        )  # fmt: skip
    return len(data)


def _one(observation: Any) -> Any:
    """An observation as that of one environment of a vector."""
    if isinstance(observation, dict):
        return {name: np.asarray([part]) for name, part in observation.items()}
    return np.asarray([observation])
