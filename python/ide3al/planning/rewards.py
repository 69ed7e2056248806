"""Rewards as users give them: functions, arrays, the environment's own, and their range."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._ide3al import Error
from ..datasets.tally import TransitionTally
from ..models.construction import numbers
from ..types import Floats
from .decoder import Decoder

#: Most states that a function of observations is asked for to know the range of its rewards.
MOST_ASKED = 100_000

#: What a step earns: of observation, action number, action and next observation.
Earned = Callable[[Any, int, Any, Any], float]


@dataclass(frozen=True)
class Wanted:
    """A reward to plan for."""

    #: Reward of each transition in the tally.
    outcome: Floats
    #: Least and largest reward that there may be, where that is known.
    known: tuple[float, float] | None
    #: Whether it is only known from samples: the environment's own.
    sampled: bool = False
    #: What a step earns; of the environment's own reward it is the environment that says it.
    earned: Earned | None = None
    #: The array, if it was given as one.
    table: Floats | None = None

    @property
    def seen(self) -> tuple[float, float]:
        """Least and largest reward of the transitions in the tally."""
        return float(self.outcome.min()), float(self.outcome.max())


def wanted_of(reward: Any, tally: TransitionTally, decoder: Decoder, n_actions: int) -> Wanted:
    """A reward as users give it, for the transitions in a tally."""
    rows = tally.rows
    if reward is None:
        outcome = tally.rewards[:, 0]
        if not np.isfinite(outcome).all():
            raise Error(
                "the environment's rewards are not finite numbers, one per step; give reward=... "
                "or goal=..."
            )
        return Wanted(outcome, None, sampled=True)
    if callable(reward):
        by_number = decoder.earned(reward, count_arguments(reward))
        outcome = np.array([by_number(*row[:3]) for row in rows.tolist()])
        return Wanted(outcome, _range_of(reward, decoder), earned=earned_by(reward, decoder, 0))
    table = table_of(reward, decoder.n_states, n_actions)
    outcome = np.ascontiguousarray(_at(table, rows))
    known = float(table.min()), float(table.max())
    earned = earned_by(table, decoder, n_actions)
    return Wanted(outcome, known, earned=earned, table=table)


def earned_by(reward: Any, decoder: Decoder, n_actions: int) -> Earned:
    """What a step earns by a function or an array; a state that was never met earns nothing in an
    array."""
    if callable(reward):
        of = decoder.observed(reward, count_arguments(reward))
        return lambda observation, number, action, reached: of(observation, action, reached)
    table = table_of(reward, decoder.n_states, n_actions)

    def by_table(observation: Any, number: int, action: Any, reached: Any) -> float:
        place = (decoder.state(observation), number, decoder.state(reached))[: table.ndim]
        return 0.0 if None in place else float(table[place])

    return by_table


def _range_of(function: Callable[..., Any], decoder: Decoder) -> tuple[float, float] | None:
    """The range of a function of the observation reached, where all observations are known."""
    n = decoder.n_states
    if count_arguments(function) != 1 or not decoder.declared or n > MOST_ASKED:
        return None
    of = decoder.earned(function, 1)
    try:
        values = [of(0, 0, state) for state in range(n)]
    except Error:
        # it need not be defined where nobody has been
        return None
    return min(values), max(values)


def _at(table: Floats, rows: Any) -> Floats:
    values: Floats = table[tuple(rows[:, k] for k in range(table.ndim))]
    return values


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
            f"reward: the function takes {len(needed)} arguments; it must take the observation "
            "reached, or observation, action and next observation"
        )
    return len(needed)


def table_of(reward: Any, n: int, n_actions: int) -> Floats:
    """An array of rewards, checked."""
    array = numbers(reward, "reward")
    if not np.isfinite(array).all():
        place = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        raise Error(f"reward{list(place)} = {array[place]}: a finite number is needed")
    if array.shape not in ((n,), (n, n_actions), (n, n_actions, n)):
        raise Error(
            f"reward: expected shape ({n},), ({n}, {n_actions}) or ({n}, {n_actions}, {n}), found "
            f"{array.shape}"
        )
    return array


def reward_range_of(
    given: tuple[float, float] | None, reward: Wanted
) -> tuple[float, float] | None:
    """Least and largest reward that there may be; None where nobody knows."""
    if given is None:
        return reward.known
    seen = reward.seen
    try:
        low, high = (float(x) for x in given)
    except (TypeError, ValueError):
        raise Error(f"reward_range = {given!r}: two numbers are needed") from None
    if not (np.isfinite(low) and np.isfinite(high) and low <= seen[0] and high >= seen[1]):
        raise Error(
            f"reward_range = ({low}, {high}): two finite numbers are needed that hold all rewards "
            f"seen, {seen[0]:g} to {seen[1]:g}"
        )
    return low, high
