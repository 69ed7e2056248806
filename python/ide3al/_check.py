"""Checks of arguments: what cannot be used is refused with the remedy, before anything happens."""

from __future__ import annotations

import inspect
import math
import os
import secrets
from typing import Any

import numpy as np

from ._ide3al import Error

#: Seeds are numbers of this many bits, as the generators take them.
SEED_BITS = 64
#: Whole numbers are stored in 64 bits, one of them for the sign.
LARGEST = (1 << 63) - 1


def whole_number(name: str, value: Any, *, least: int = 1) -> int:
    """A whole number of at least ``least``; 1e4 is one, 1.5, "7" and True are none."""
    number = _real(value)
    if number is None or not math.isfinite(number) or number != int(number):
        raise Error(f"{name} = {value!r}: a whole number of at least {least} is needed")
    if number < least:
        raise Error(f"{name} = {value!r}: at least {least} is needed")
    if int(value) > LARGEST:
        raise Error(f"{name} = {value!r}: at most 2**63 - 1 can be stored")
    # not by way of a float, which has too few digits for large whole numbers
    return int(value)


def file_name(name: str, value: Any) -> str:
    """The name of a file or folder."""
    try:
        return os.fsdecode(value)
    except TypeError:
        raise Error(f"{name} = {value!r}: the name of a file or folder is needed") from None


def real_number(name: str, value: Any) -> float:
    """A finite real number."""
    number = _real(value)
    if number is None or not math.isfinite(number):
        raise Error(f"{name} = {value!r}: a finite number is needed")
    return number


def seed_of(value: Any) -> int:
    """A seed: the one given, or a new one where none is."""
    if value is None:
        # 32 bits: short enough to be typed again
        return secrets.randbits(32)
    number = _real(value)
    if number is None or not math.isfinite(number) or number != int(number):
        raise Error(f"seed = {value!r}: a whole number is needed, or None to draw one")
    if number < 0:
        raise Error(f"seed = {value!r}: must not be negative")
    if int(value) >= 1 << SEED_BITS:
        raise Error(f"seed = {value!r}: must be less than 2**{SEED_BITS}")
    return int(value)


def check_environment(env: Any) -> None:
    """Refuses what is no environment of Gymnasium, with the way to make it one."""
    for kind in ("observation_space", "action_space"):
        if not hasattr(env, kind):
            raise Error(
                f"{env!r} is no Gymnasium environment: it has no {kind}; give what gymnasium.make "
                "returns"
            )
        if callable(getattr(env, kind)) and not hasattr(getattr(env, kind), "contains"):
            raise Error(
                f"{type(env).__name__}.{kind} is a function, as in environments of several agents "
                "(PettingZoo); give an environment of one, such as one agent's view of it"
            )
    if hasattr(env, "num_envs") and not hasattr(env, "single_observation_space"):
        raise Error(
            f"{type(env).__name__} is a vector environment of Stable-Baselines3, whose steps do "
            "not tell apart what ended an episode; give one environment, or many with "
            "gymnasium.make_vec(...)"
        )
    if not hasattr(env, "reset") or not hasattr(env, "step"):
        raise Error(f"{env!r} is no Gymnasium environment: it has no reset or no step")
    inner = getattr(env, "unwrapped", env)
    if not _takes_seed(getattr(inner, "reset", None)):
        raise Error(
            f"{type(inner).__name__}.reset takes no seed: it follows an "
            "older interface than Gymnasium's, def reset(self, *, seed=None, options=None)"
        )


def _takes_seed(reset: Any) -> bool:
    """Whether a method takes seeds, as far as can be told."""
    try:
        parameters = inspect.signature(reset).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(p.name == "seed" or p.kind is p.VAR_KEYWORD for p in parameters)


def check_actions(space: Any) -> None:
    """Refuses actions that mix real numbers with others, or are made of several boxes."""
    kind = type(space).__name__
    if kind in ("Dict", "Tuple") and _has_box(space):
        raise Error(
            f"{space}: actions that combine real numbers with others cannot be numbered; wrap the "
            "environment so that it takes one of a few actions, with "
            "gymnasium.wrappers.TransformAction(env, function, gymnasium.spaces.Discrete(n))"
        )
    if kind in ("Text", "Sequence", "Graph", "OneOf"):
        raise Error(
            f"{space}: there is no end of such actions; wrap the environment so that it takes one "
            "of a few, with gymnasium.wrappers.TransformAction(env, function, "
            "gymnasium.spaces.Discrete(n))"
        )


def check_callback(value: Any, name: str = "callback") -> None:
    """Refuses what cannot be called."""
    if value is not None and not callable(value):
        raise Error(f"{name} = {value!r}: a function that takes the agent is needed")


def check_flag(name: str, value: Any) -> None:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise Error(f"{name} = {value!r}: True or False is needed")


def check_cell(value: Any) -> None:
    """A function that says where on a grid an observation lies."""
    if value is not None and not callable(value):
        raise Error(
            f"cell = {value!r}: a function from an observation to its (row, column) is needed"
        )


def _real(value: Any) -> float | None:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return None
    if isinstance(value, np.complexfloating):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _has_box(space: Any) -> bool:
    parts = getattr(space, "spaces", None)
    if parts is None:
        return type(space).__name__ == "Box"
    return any(_has_box(part) for part in (parts.values() if hasattr(parts, "values") else parts))
