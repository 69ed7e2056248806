"""Actions drawn from plans, and actions that policies chose."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from .. import _ide3al
from .._ide3al import Error
from ..encoding.abstraction import ActionGrid
from ..encoding.discrete import SpaceIndex
from ..encoding.masks import Mask, nearest_legal
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


class Drawing(Protocol):
    """What chooses the actions of one episode."""

    def begin(self, state: int) -> None:
        """Where the episode begins."""

    def action(self, state: int, step: int, mask: Mask | None) -> int:
        """An action among those allowed."""

    def is_done_after(self, state: int, action: int, following: int, terminated: bool) -> bool:
        """Whether a step was the last one that is needed."""


def drawing(plan: Plan, n_actions: int, rng: np.random.Generator) -> Drawing:
    """What a plan says of one episode."""
    if plan.explorer is None:
        return Draw(plan, n_actions, rng)
    return Exploration(plan.explorer, n_actions, rng, plan.until_sampled)


class Exploration:
    """An explorer that learns of each step, with the memory that it was given."""

    def __init__(
        self, saved: bytes, n_actions: int, rng: np.random.Generator, until_sampled: bool
    ) -> None:
        self._explorer = _ide3al.Explorer(n_actions, saved)
        self._explorer.seed(int(rng.integers(2**63)), 0)
        self._until_sampled = until_sampled

    def begin(self, state: int) -> None:
        self._explorer.start(0, state)

    def action(self, state: int, step: int, mask: Mask | None) -> int:
        if mask is not None:
            self._explorer.restrict(state, np.asarray(mask, dtype=np.bool_))
        chosen = self._explorer.act(0, state)
        return chosen if mask is None else nearest_legal(chosen, mask)

    def is_done_after(self, state: int, action: int, following: int, terminated: bool) -> bool:
        self._explorer.step(0, state, action, following, int(terminated))
        return self._until_sampled and self._explorer.n_undersampled() == 0


class Draw:
    """Actions drawn from a plan's table; states that it does not know of are played uniformly."""

    def __init__(self, plan: Plan, n_actions: int, rng: np.random.Generator) -> None:
        self._sums, self._timed = plan.sums, plan.length is not None
        self._n_actions, self._rng = n_actions, rng
        self._draws: list[float] = []

    def begin(self, state: int) -> None:
        pass

    def is_done_after(self, state: int, action: int, following: int, terminated: bool) -> bool:
        return False

    def action(self, state: int, step: int, mask: Mask | None) -> int:
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
