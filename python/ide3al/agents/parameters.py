"""Parameters of algorithms, checked before anything is learned."""

from __future__ import annotations

from typing import Any

from .. import _ide3al
from .._check import real_number, whole_number
from .._ide3al import Error

#: Parameters that are names.
_WORDS = ("formulation", "tie_break")


def checked(algorithm: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters of an algorithm that can be used, whatever the environment."""
    for name, value in parameters.items():
        if value is None:
            continue
        if name in _WORDS:
            if not isinstance(value, str):
                raise Error(f"{name} = {value!r}: a name is needed")
        elif name in ("known", "horizon"):
            parameters = {**parameters, name: whole_number(name, value)}
        elif name in ("paper", "weighted"):
            parameters = {**parameters, name: bool(value)}
        elif name == "budgets":
            budgets = [real_number("budget", budget) for budget in value]
            parameters = {**parameters, name: budgets}
        else:
            parameters = {**parameters, name: real_number(name, value)}
    paper = bool(parameters.get("paper"))
    try:
        # one action: no probability is too large for it
        _ide3al.Agent(algorithm, 2, 1, 0, parameters, not paper)
    except (TypeError, OverflowError) as problem:
        raise Error(f"{algorithm}: {problem}") from None
    return parameters
