"""What episodes follow: a policy with its number, and for how many episodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._ide3al import Error
from ..types import Floats


@dataclass(frozen=True)
class Plan:
    """A policy to follow for some episodes, (S, A), or (T, S, A) for episodes of T steps; states
    beyond its rows are played uniformly."""

    number: int
    table: Floats
    #: An explorer that chooses each action instead, as its own bytes.
    explorer: bytes | None = None
    #: Whether an episode is cut when the explorer has all samples that it needs.
    until_sampled: bool = False
    sums: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sums", np.cumsum(self.table, axis=-1))

    @property
    def length(self) -> int | None:
        """Steps after which it is at its end."""
        return int(self.table.shape[0]) if self.table.ndim == 3 else None

    def max_steps(self, allowed: int | None) -> int | None:
        """Steps after which an episode is cut."""
        length = self.length
        return allowed if length is None else length if allowed is None else min(allowed, length)


class ScheduledPlan(NamedTuple):
    """A plan, the number of episodes that follow it (None: until the end), and what is recorded
    about it."""

    plan: Plan
    episodes: int | None
    info: dict[str, Any]


def checked_table(policy: npt.ArrayLike, n_states: int | None, n_actions: int) -> Floats:
    """A policy (S, A), or (T, S, A), whose rows are distributions."""
    try:
        table = np.asarray(policy, dtype=np.float64)
    except (TypeError, ValueError):
        raise Error(
            f'policy = {policy!r}: give an agent, a table (S, A), "random", or a function from an '
            "observation to an action"
        ) from None
    size = n_states if n_states is not None or table.ndim not in (2, 3) else table.shape[-2]
    if table.shape[-2:] != (size, n_actions) or table.ndim > 3 or 0 in table.shape[:-2]:
        raise Error(
            f"policy: expected shape ({size}, {n_actions}), or that behind a number of steps, found {table.shape}"
        )
    if not (table >= 0).all() or not np.allclose(table.sum(axis=-1), 1, atol=1e-6):
        raise Error("policy: every row must be a distribution over actions")
    return table
