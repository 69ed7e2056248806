"""Actions drawn from plans, and actions that policies chose."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._ide3al import Error
from ..encoding.abstraction import ActionGrid
from ..encoding.discrete import SpaceIndex
from ..encoding.masks import Mask
from .plan import Plan

#: Actions are drawn from numbers made this many at a time.
_CHUNK = 256


def element_of(choice: Any, space: Any, actions: SpaceIndex | ActionGrid) -> Any:
    """What a policy chose, as the environment takes it."""
    if isinstance(actions, ActionGrid):
        try:
            chosen = np.asarray(choice, dtype=space.dtype)
        except (TypeError, ValueError):
            raise Error(f"policy: chose {choice!r}, which is no element of {space}") from None
        if chosen.shape != space.shape or not np.isfinite(chosen).all():
            raise Error(f"policy: chose {choice!r}, which is no element of {space}")
        return chosen
    if isinstance(choice, np.ndarray) and type(space).__name__ == "Discrete":
        if choice.size != 1:
            raise Error(f"policy: chose {choice!r}; {space} takes one number")
        choice = choice.reshape(())[()]
    actions.number(choice)
    return choice


def drawn(plan: Plan, state: int, rng: np.random.Generator, n_actions: int) -> int:
    """An action from a plan's table; uniform where it knows nothing."""
    if state >= len(plan.sums):
        return int(rng.integers(n_actions))
    row = plan.sums[state]
    return min(int(row.searchsorted(rng.random() * row[-1], "right")), n_actions - 1)


class Draw:
    """Actions drawn from a plan's table; states that it does not know of are played uniformly."""

    def __init__(self, plan: Plan, n_actions: int, rng: np.random.Generator) -> None:
        self._sums, self._timed = plan.sums, plan.length is not None
        self._n_actions, self._rng = n_actions, rng
        self._draws: list[float] = []

    def action(self, state: int, step: int, mask: Mask | None) -> int:
        """An action among those allowed."""
        if not self._draws:
            self._draws = self._rng.random(_CHUNK).tolist()
        x = self._draws.pop()
        here = self._sums[step] if self._timed else self._sums
        known = state < len(here)
        if mask is not None:
            shares = np.diff(here[state], prepend=0.0) * mask if known else mask
            # a plan that knows of nothing that is allowed is no help
            row = np.cumsum(shares if np.sum(shares) > 0 else mask, dtype=np.float64)
        elif known:
            row = here[state]
        else:
            return int(x * self._n_actions)
        return min(int(row.searchsorted(x * row[-1], "right")), self._n_actions - 1)
