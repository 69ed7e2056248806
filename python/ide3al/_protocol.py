"""``reset`` and ``step`` of one environment, whose answers must have Gymnasium's form."""

from __future__ import annotations

from typing import Any

from ._ide3al import Error

Outcome = tuple[Any, Any, Any, Any, Any]


def reset_env(env: Any, **options: Any) -> tuple[Any, Any]:
    """The first observation of an episode, and what the environment says of it."""
    answer = env.reset(**options)
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise Error(
            f"{_name(env)}.reset returned {_form(answer)}; Gymnasium's returns an observation and a "
            "dictionary, return observation, {}"
        )
    return answer[0], answer[1]


def step_env(env: Any, action: Any) -> Outcome:
    """What an action brought: observation, reward, terminated, truncated, information."""
    answer = env.step(action)
    if not isinstance(answer, tuple | list) or len(answer) != 5:
        raise Error(
            f"{_name(env)}.step returned {_form(answer)}; Gymnasium's returns five, return "
            "observation, reward, terminated, truncated, {}"
        )
    observation, reward, terminated, truncated, info = answer
    return observation, reward, terminated, truncated, info


def _name(env: Any) -> str:
    return type(getattr(env, "unwrapped", env)).__name__


def _form(answer: Any) -> str:
    if isinstance(answer, tuple):
        return f"{len(answer)} values"
    return f"a single value of type {type(answer).__name__}"
