"""Rewards as users give them: functions, arrays, and the range they lie in."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from .._ide3al import Error
from ..models.construction import numbers
from ..types import Floats


def count_arguments(function: Callable[..., Any]) -> int:
    """1 where a reward is a function of the observation reached, 3 where of all three."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in parameters if p.kind in kinds and p.default is inspect.Parameter.empty]
    if len(needed) not in (1, 3):
        raise Error(
            f"reward: the function takes {len(needed)} arguments; it must take the observation reached, or "
            "observation, action and next observation"
        )
    return len(needed)


def table_of(reward: Any, n: int, n_actions: int) -> Callable[[Any], Floats]:
    array = numbers(reward, "reward")
    if not np.isfinite(array).all():
        place = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        raise Error(f"reward{list(place)} = {array[place]}: a finite number is needed")
    shapes = {(n,): 1, (n, n_actions): 2, (n, n_actions, n): 3}
    if array.shape not in shapes:
        raise Error(
            f"reward: expected shape ({n},), ({n}, {n_actions}) or ({n}, {n_actions}, {n}), found "
            f"{array.shape}"
        )
    axes = shapes[array.shape]
    return lambda rows: array[tuple(rows[:, k] for k in range(axes))]


def reward_range_of(
    given: tuple[float, float] | None, seen: tuple[float, float]
) -> tuple[float, float]:
    if given is None:
        return seen
    try:
        low, high = (float(x) for x in given)
    except (TypeError, ValueError):
        raise Error(f"reward_range = {given!r}: two numbers are needed") from None
    if not (np.isfinite(low) and np.isfinite(high) and low <= seen[0] and high >= seen[1]):
        raise Error(
            f"reward_range = ({low}, {high}): two finite numbers are needed that hold all rewards seen, "
            f"{seen[0]:g} to {seen[1]:g}"
        )
    return low, high
