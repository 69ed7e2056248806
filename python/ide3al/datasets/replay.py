"""Replay buffers of other libraries, filled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from .._ide3al import Error
from ..encoding.discrete import SpaceIndex
from ..encoding.raw import elements
from .transitions import Transitions, observed


def fill_buffer(data: Transitions, buffer: Any) -> int:
    """Adds every step to a buffer with the interface of Stable-Baselines3's ``ReplayBuffer``: as
    the environment took and gave it where that was kept."""
    if not callable(getattr(buffer, "add", None)):
        raise Error(f"{type(buffer).__name__}: a replay buffer has a method add; this has none")
    if getattr(buffer, "n_envs", 1) != 1:
        raise Error(f"the buffer is for {buffer.n_envs} environments; make one with n_envs=1")
    spaces = data.spaces if data.raw is None else data.raw.spaces
    if spaces is None:
        raise Error(
            "the spaces of these data are not known: collect them, or read them with "
            "ide3al.audit(..., env=...)"
        )
    if data.rewards.ndim > 1:
        raise Error(
            f"rewards have {data.rewards.shape[1]} numbers each, and the buffer holds one; weigh "
            "them, with data.replace(rewards=data.rewards @ weights, raw=None)"
        )
    for kind, space in zip(("observation_space", "action_space"), spaces, strict=True):
        own = getattr(buffer, kind, None)
        if own is not None and own != space:
            raise Error(f"the buffer's {kind} is {own}; these data have {space}")
    steps = len(data) if data.raw is None else len(data.raw)
    size = getattr(buffer, "buffer_size", None)
    if size is not None and size < steps:
        raise Error(f"the buffer holds {size} steps; these data have {steps}")
    ends, terminated = _ends(data, steps)
    for k, (before, action, reward, after) in enumerate(_steps(data, spaces)):
        infos = [{"TimeLimit.truncated": True} if ends[k] and not terminated[k] else {}]
        buffer.add(
            _one(before), _one(after), np.asarray([_scaled(action, spaces[1])]), np.array([reward]),
            np.array([bool(ends[k])]), infos,
        )  # fmt: skip
    return steps


def _steps(data: Transitions, spaces: tuple[Any, Any]) -> Iterator[tuple[Any, ...]]:
    """Observation, action, reward and next observation of every step."""
    if data.raw is not None:
        parts = data.raw.transitions
        yield from zip(
            elements(parts["observations"]), elements(parts["actions"]), parts["rewards"],
            elements(parts["next_observations"]), strict=True,
        )  # fmt: skip
        return
    states, actions = observed(data), SpaceIndex(spaces[1])
    assert states is not None
    for before, action, reward, after in zip(
        data.observations, data.actions, data.rewards, data.next_observations, strict=True
    ):
        yield states[before], actions.element(int(action)), reward, states[after]


def _ends(data: Transitions, steps: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Which steps ended an episode, and which of them in a terminal state."""
    ends, terminated = np.zeros((2, steps), dtype=np.bool_)
    last = data.bounds[1:] - 1
    places = last if data.raw is None else np.cumsum(data.raw.lengths) - 1
    ends[places] = True
    terminated[places] = data.terminations[last]
    return ends, terminated


def _scaled(action: Any, space: Any) -> Any:
    """An action as Stable-Baselines3's algorithms keep it: real numbers in [-1, 1]."""
    if type(space).__name__ != "Box" or np.dtype(space.dtype).kind != "f":
        return action
    if (space.low == -1).all() and (space.high == 1).all():
        return action
    return 2.0 * ((action - space.low) / (space.high - space.low)) - 1.0


def _one(observation: Any) -> Any:
    """An observation as that of one environment of a vector."""
    if isinstance(observation, dict):
        return {name: np.asarray([part]) for name, part in observation.items()}
    return np.asarray([observation])
