"""Transitions, however they were gathered."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _ide3al
from .._display import html_table, text_table
from .._ide3al import Error
from ..collecting.episode import Episode
from ..types import Floats, Integers
from .card import card_of, card_page, card_rows, card_text


@dataclass(frozen=True, repr=False)
class Data:
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
    #: What was met, by number, where states are numbered as they are met.
    states: tuple[Hashable, ...] | None = None
    #: Where the data come from: environment, policy, parameters, promise; part of the card.
    about: dict[str, Any] = field(default_factory=dict)
    #: The spaces that the numbers stand for, where they are known.
    spaces: tuple[Any, Any] | None = None

    def __len__(self) -> int:
        return int(self.observations.size)

    @property
    def counts(self) -> Integers:
        """How often each action was taken in each state, (S, A)."""
        pairs = self.observations * self.n_actions + self.actions
        counts = np.bincount(pairs, minlength=self.n_states * self.n_actions)
        return counts.reshape(self.n_states, self.n_actions).astype(np.int64)

    @property
    def coverage(self) -> float:
        """Share of state-action pairs seen at least once."""
        return float((self.counts > 0).mean())

    @property
    def entropy(self) -> float:
        """Entropy of the state-action frequencies, in nats."""
        shares = self.counts.ravel() / max(len(self), 1)
        shares = shares[shares > 0]
        return float(-(shares * np.log(shares)).sum())

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
    def actionable(self) -> npt.NDArray[np.bool_]:
        """States whose actions can be taken, as far as the data tell: met, and not terminal."""
        return self.met & ~self.terminal

    @cached_property
    def card(self) -> dict[str, Any]:
        """What the data cover and what is missing, as JSON."""
        return card_of(self)

    def episodes(self) -> list[Episode]:
        """One by one."""
        bounds = self.bounds.tolist()
        found = [()] * (len(bounds) - 1) if self.states is None else self._found(bounds)
        episodes = []
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
                )
            )
        return episodes

    def _found(self, bounds: Sequence[int]) -> list[tuple[Hashable, ...]]:
        """The states that each episode met first."""
        assert self.states is not None
        met = np.concatenate([self.observations, self.next_observations])
        when = np.tile(np.arange(len(self)), 2)
        first = np.full(self.n_states, len(self), dtype=np.int64)
        np.minimum.at(first, met, when)
        episode = np.searchsorted(np.asarray(bounds), first, side="right") - 1
        found: list[list[Hashable]] = [[] for _ in range(len(bounds) - 1)]
        for state, k in enumerate(np.minimum(episode, len(found) - 1).tolist()):
            found[k].append(self.states[state])
        return [tuple(keys) for keys in found]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes ``.npz`` or ``.parquet`` (all of it, card included), or the card alone as ``.json`` or ``.html``; whole or
        not at all."""
        from .formats import npz_bytes, parquet_bytes

        name = os.fspath(path)
        ending = Path(name).suffix
        writers = {
            ".npz": npz_bytes,
            ".parquet": parquet_bytes,
            ".json": _json_bytes,
            ".html": _html_bytes,
        }
        if ending not in writers:
            raise Error(f"{name}: the ending says the format: {', '.join(writers)}")
        _ide3al.write_file(name, writers[ending](self))

    def to_minari(self, dataset_id: str, env: Any = None) -> Any:
        """Writes a Minari data set with the card in its metadata, whole or not at all, and returns it."""
        from .formats import write_minari

        return write_minari(self, dataset_id, env)

    def to_d3rlpy(self) -> Any:
        """The same as ``d3rlpy.dataset.MDPDataset``; observations are numbers as 32-bit floats."""
        from .formats import d3rlpy_dataset

        return d3rlpy_dataset(self)

    def to_polars(self) -> Any:
        """One row per step."""
        from .formats import frame

        return frame(self)

    def save_card(self, folder: str | os.PathLike[str]) -> None:
        """``card.json`` and ``card.html`` in a folder."""
        _ide3al.write_file(Path(folder) / "card.json", _json_bytes(self))
        _ide3al.write_file(Path(folder) / "card.html", _html_bytes(self))

    def replace(self, **changes: Any) -> Data:
        """The same with something else."""
        return dataclasses.replace(self, **changes)

    def __repr__(self) -> str:
        return text_table("Data", card_rows(self.card))

    def _repr_html_(self) -> str:
        return html_table("Data", card_rows(self.card))


def _json_bytes(data: Data) -> bytes:
    return card_text(data.card).encode()


def _html_bytes(data: Data) -> bytes:
    return card_page(data.card).encode()


def joined(
    episodes: Sequence[Episode],
    n_states: int,
    n_actions: int,
    states: tuple[Hashable, ...] | None,
    about: dict[str, Any],
    spaces: tuple[Any, Any] | None,
) -> Data:
    """Episodes as arrays."""
    whole = [episode for episode in episodes if len(episode)]
    empty_states: list[Integers] = [np.zeros(0, dtype=np.int64)]
    steps = sum(len(episode) for episode in whole)
    terminations, truncations = np.zeros((2, steps), dtype=np.bool_)
    ends = np.cumsum([len(episode) for episode in whole], dtype=np.int64) - 1
    terminations[ends] = [episode.terminated for episode in whole]
    truncations[ends] = [not episode.terminated for episode in whole]
    return Data(
        observations=np.concatenate(empty_states + [episode.states[:-1] for episode in whole]),
        actions=np.concatenate(empty_states + [episode.actions for episode in whole]),
        rewards=np.concatenate([np.zeros(0)] + [episode.rewards for episode in whole]),
        next_observations=np.concatenate(empty_states + [episode.states[1:] for episode in whole]),
        terminations=terminations,
        truncations=truncations,
        n_states=n_states,
        n_actions=n_actions,
        states=states,
        about=about,
        spaces=spaces,
    )
