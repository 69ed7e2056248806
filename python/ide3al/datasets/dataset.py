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
from ..encoding.discrete import from_key
from ..types import Floats, Integers
from .raw import RawSteps
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

    def to_minari(self, dataset_id: str, env: Any = None, *, overwrite: bool = False) -> Any:
        """Writes a Minari data set with the card in its metadata, whole or not at all, and returns it.

        Data of a continuous environment are written as it gave them, one row per step of it.
        ``overwrite`` replaces a data set that exists."""
        from .minari import write_minari

        return write_minari(self, dataset_id, env, overwrite)

    def to_d3rlpy(self) -> Any:
        """The same as ``d3rlpy.dataset.MDPDataset``; data of a continuous environment as it gave
        them, others with the numbers of states as 32-bit floats."""
        from .d3rlpy import d3rlpy_dataset

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
    keys: tuple[Hashable, ...] | None,
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
        rewards=np.concatenate([episode.rewards for episode in whole]) if whole else np.zeros(0),
        next_observations=np.concatenate(empty_states + [episode.states[1:] for episode in whole]),
        terminations=terminations,
        truncations=truncations,
        n_states=n_states,
        n_actions=n_actions,
        keys=keys,
        about=about,
        spaces=spaces,
        raw=_raw(whole),
        allowed=_allowed(whole, n_states, n_actions),
    )


def _raw(episodes: Sequence[Episode]) -> RawSteps | None:
    raw = [episode.raw for episode in episodes if episode.raw is not None]
    return RawSteps.of(raw, None) if raw and len(raw) == len(episodes) else None


def _allowed(
    episodes: Sequence[Episode], n_states: int, n_actions: int
) -> npt.NDArray[np.bool_] | None:
    """Actions allowed in each state at some time."""
    if all(episode.allowed is None for episode in episodes):
        return None
    allowed = np.zeros((n_states, n_actions), dtype=np.bool_)
    for episode in episodes:
        if episode.allowed is None:
            allowed[episode.states] = True
        else:
            np.logical_or.at(allowed, episode.states, episode.allowed)
    # of what was never met nothing is known
    return allowed | ~allowed.any(axis=1, keepdims=True)
