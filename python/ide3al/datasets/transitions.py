"""Transitions as arrays, however they were gathered."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from .._deprecated import warn
from .._entropy import entropy
from .._equality import fields_equal
from .._ide3al import Error
from ..encoding.discrete import SpaceIndex, from_key
from ..encoding.raw import RawSteps
from ..types import Floats, Integers
from .episode import Episode


@dataclass(frozen=True, repr=False, eq=False)
class Transitions:
    """Transitions as arrays, one entry per step; states and actions by number."""

    observations: Integers
    actions: Integers
    rewards: Floats
    next_observations: Integers
    terminations: npt.NDArray[np.bool_]
    truncations: npt.NDArray[np.bool_]
    n_states: int
    n_actions: int
    #: The Minari data set, where one was asked for.
    dataset: Any = None
    #: Keys of what was met, by number, where states are numbered as they are met.
    keys: tuple[Hashable, ...] | None = None
    #: Where the data come from: environment, policy, parameters, promise; part of the card.
    about: dict[str, Any] = field(default_factory=dict)
    #: The spaces that the numbers stand for, where they are known.
    spaces: tuple[Any, Any] | None = None
    #: Steps as the environment took and gave them, where states are cells.
    raw: RawSteps | None = None
    #: Which actions were allowed, (S, A), where the environment masks any.
    allowed: npt.NDArray[np.bool_] | None = None

    def __eq__(self, other: object) -> bool:
        """Whether everything is equal but the Minari data set that holds it."""
        return fields_equal(self, other, ignored=("dataset",))

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return int(self.observations.size)

    @property
    def counts(self) -> Integers:
        """How often each action was taken in each state, (S, A)."""
        pairs = self.observations * self.n_actions + self.actions
        counts = np.bincount(pairs, minlength=self.n_states * self.n_actions)
        return counts.reshape(self.n_states, self.n_actions).astype(np.int64)

    @cached_property
    def states(self) -> list[Any] | None:
        """The observations met, by number, as the environment gave them (the middles of cells
        where states are cells); None where the space is finite and numbered by place."""
        if self.keys is None:
            return None
        space = None if self.spaces is None else self.spaces[0]
        return [from_key(space, key) for key in self.keys]

    @property
    def possible(self) -> npt.NDArray[np.bool_]:
        """Pairs that can be tried, (S, A): all but those that the environment masks."""
        if self.allowed is None:
            return np.ones((self.n_states, self.n_actions), dtype=np.bool_)
        return self.allowed

    @property
    def coverage(self) -> float:
        """Share of state-action pairs seen at least once, of those that can be tried."""
        return float((self.counts > 0)[self.possible].mean())

    @property
    def state_entropy(self) -> float:
        """Entropy of the shares of the states, in nats."""
        return entropy(self.counts.sum(axis=1))

    @property
    def state_action_entropy(self) -> float:
        """Entropy of the shares of the state-action pairs, in nats."""
        return entropy(self.counts.ravel())

    @property
    def entropy(self) -> float:
        """Old name of :attr:`state_action_entropy`."""
        warn("entropy is now called state_action_entropy")
        return self.state_action_entropy

    @property
    def bounds(self) -> Integers:
        """Where episodes begin, and the end of the last."""
        ended = np.flatnonzero(self.terminations | self.truncations) + 1
        return np.unique(np.concatenate([[0], ended, [len(self)]])).astype(np.int64)

    @property
    def met(self) -> npt.NDArray[np.bool_]:
        """Which states occur."""
        met = np.zeros(self.n_states, dtype=np.bool_)
        met[self.observations] = True
        met[self.next_observations] = True
        return met

    @property
    def terminal(self) -> npt.NDArray[np.bool_]:
        """States in which episodes end and no action was ever taken."""
        terminal = np.zeros(self.n_states, dtype=np.bool_)
        terminal[self.next_observations[self.terminations]] = True
        terminal[self.observations] = False
        return terminal

    @property
    def wanting(self) -> npt.NDArray[np.bool_]:
        """Old name of :attr:`actionable`."""
        warn("wanting is now called actionable")
        return self.actionable

    @property
    def actionable(self) -> npt.NDArray[np.bool_]:
        """States whose actions can be taken, as far as the data tell: met, and not terminal."""
        return self.met & ~self.terminal

    def episodes(self) -> list[Episode]:
        """Give the episodes one by one.

        Returns
        -------
        list of Episode
            States, actions and rewards of each.

        Raises
        ------
        Error
            If an observation is not the next one of the step before.
        """
        bounds = self.bounds.tolist()
        found = [()] * (len(bounds) - 1) if self.keys is None else self._found(bounds)
        episodes = []
        raw = None if self.raw is None else list(self.raw.episodes())
        for k in range(len(bounds) - 1):
            first, after = bounds[k], bounds[k + 1]
            terminated = bool(self.terminations[after - 1])
            last = self.next_observations[after - 1 : after]
            visited = np.concatenate([self.observations[first:after], last])
            if not (
                self.observations[first + 1 : after] == self.next_observations[first : after - 1]
            ).all():
                raise Error(f"episode {k}: an observation is not the next one of the step before")
            steps = slice(first, after)
            episodes.append(
                Episode(
                    visited,
                    self.actions[steps],
                    self.rewards[steps],
                    terminated,
                    not terminated,
                    0,
                    found[k],
                    None if raw is None else raw[k],
                    None if self.allowed is None else self.allowed[visited],
                )
            )
        return episodes

    def _found(self, bounds: Sequence[int]) -> list[tuple[Hashable, ...]]:
        """The states that each episode met first."""
        assert self.keys is not None
        met = np.concatenate([self.observations, self.next_observations])
        when = np.tile(np.arange(len(self)), 2)
        first = np.full(self.n_states, len(self), dtype=np.int64)
        np.minimum.at(first, met, when)
        episode = np.searchsorted(np.asarray(bounds), first, side="right") - 1
        found: list[list[Hashable]] = [[] for _ in range(len(bounds) - 1)]
        for state, k in enumerate(np.minimum(episode, len(found) - 1).tolist()):
            found[k].append(self.keys[state])
        return [tuple(keys) for keys in found]

    def replace(self, **changes: Any) -> Self:
        """Give the same data with something else.

        Parameters
        ----------
        **changes
            Fields by name.

        Returns
        -------
        Data
            The data.
        """
        return dataclasses.replace(self, **changes)


def observed(data: Transitions) -> list[Any] | None:
    """The observation of each state, where it can be told."""
    if data.spaces is None:
        return None
    space = data.spaces[0]
    if data.keys is not None:
        return [from_key(space, key) for key in data.keys]
    index = SpaceIndex(space)
    return [index.element(s) for s in range(index.size)]
