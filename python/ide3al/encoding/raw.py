"""Steps as the environment took and gave them: raw observations, actions and rewards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._ide3al import Error
from ..types import Integers

#: Prefix of the arrays of raw steps in an archive.
PREFIX = "raw"
#: Name of what says how raw steps are made of arrays.
RAW = "raw_steps"


@dataclass(frozen=True, eq=False)
class RawEpisode:
    """One episode: one observation more than actions. Batches are arrays, or dictionaries and
    tuples of arrays where the space is made of parts."""

    observations: Any
    actions: Any
    rewards: Any
    #: How many steps each decision took, in order.
    durations: Integers

    def truncate(self, decisions: int) -> RawEpisode:
        """The first decisions of it."""
        steps = int(self.durations[:decisions].sum())
        return RawEpisode(
            take(self.observations, slice(steps + 1)),
            take(self.actions, slice(steps)),
            self.rewards[:steps],
            self.durations[:decisions],
        )


class RawRecorder:
    """Writes down one episode after the other."""

    def __init__(self) -> None:
        self._observations: list[Any] = []
        self._actions: list[Any] = []
        self._rewards: list[Any] = []
        self._durations: list[int] = []

    def __len__(self) -> int:
        return len(self._actions)

    def begin(self, observation: Any) -> None:
        """An episode begins."""
        self._observations, self._actions, self._rewards = [kept(observation)], [], []
        self._durations = []

    def step(self, action: Any, reward: Any, observation: Any, *, decided: bool = True) -> None:
        """A step was taken; ``decided`` says whether its action was chosen then, or held."""
        self._observations.append(kept(observation))
        self._actions.append(kept(action))
        self._rewards.append(kept(reward))
        if decided or not self._durations:
            self._durations.append(1)
        else:
            self._durations[-1] += 1

    def episode(self) -> RawEpisode:
        """What was written since the last beginning."""
        return RawEpisode(
            stack(self._observations),
            stack(self._actions),
            np.asarray(self._rewards, dtype=np.float64),
            np.array(self._durations, dtype=np.int64),
        )


@dataclass(frozen=True, eq=False)
class RawSteps:
    """All steps of a data set, episode after episode."""

    #: One observation per step, and the last one of each episode behind its others.
    observations: Any
    actions: Any
    #: One number per step, or one row where rewards are vectors.
    rewards: Any
    #: Steps of each episode, and of each decision (an action held for some steps is one).
    lengths: Integers
    durations: Integers
    #: Spaces of the environment, where they are known.
    spaces: tuple[Any, Any] | None = field(default=None)

    @classmethod
    def of(cls, episodes: Sequence[RawEpisode], spaces: tuple[Any, Any] | None) -> RawSteps:
        """Episodes one behind the other."""
        return cls(
            concatenate([episode.observations for episode in episodes]),
            concatenate([episode.actions for episode in episodes]),
            np.concatenate([episode.rewards for episode in episodes]),
            np.array([len(episode.rewards) for episode in episodes], dtype=np.int64),
            np.concatenate([episode.durations for episode in episodes]),
            spaces,
        )

    def __len__(self) -> int:
        return len(self.rewards)

    def replace(self, **changes: Any) -> RawSteps:
        """The same with something else."""
        return replace(self, **changes)

    @property
    def steps(self) -> Integers:
        """Place of each step's observation among the observations; the next one is that of the
        next observation."""
        places = np.arange(len(self) + len(self.lengths))
        last = np.cumsum(self.lengths + 1) - 1
        return np.delete(places, last)

    @property
    def transitions(self) -> dict[str, Any]:
        """``observations``, ``actions``, ``rewards`` and ``next_observations``, one entry per
        step of the environment."""
        return {
            "observations": take(self.observations, self.steps),
            "actions": self.actions,
            "rewards": self.rewards,
            "next_observations": take(self.observations, self.steps + 1),
        }

    def episodes(self) -> Iterator[RawEpisode]:
        """One by one."""
        first = decided = 0
        ends = np.cumsum(self.durations)
        for k, length in enumerate(self.lengths.tolist()):
            after = (
                int(np.searchsorted(ends, first + length, side="left")) + 1 if length else decided
            )
            yield RawEpisode(
                take(self.observations, slice(first + k, first + k + length + 1)),
                take(self.actions, slice(first, first + length)),
                self.rewards[first : first + length],
                self.durations[decided:after],
            )
            first, decided = first + length, after

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Arrays by name, and how the batches are made of them."""
        arrays: dict[str, Any] = {
            "rewards": self.rewards,
            "lengths": self.lengths,
            "durations": self.durations,
        }
        shape = {
            name: _flatten(batch, name, arrays)
            for name, batch in (("observations", self.observations), ("actions", self.actions))
        }
        return {f"{PREFIX}/{name}": array for name, array in arrays.items()}, shape

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], shape: Any, source: str) -> RawSteps:
        """What :meth:`to_arrays` gave; an error where its parts do not fit together."""
        try:
            inside = {
                name.removeprefix(f"{PREFIX}/"): array
                for name, array in arrays.items()
                if name.startswith(f"{PREFIX}/")
            }
            raw = cls(
                _unflatten(shape["observations"], inside),
                _unflatten(shape["actions"], inside),
                inside["rewards"],
                inside["lengths"].astype(np.int64),
                inside["durations"].astype(np.int64),
            )
            steps = int(raw.lengths.sum())
            fits = (
                (raw.lengths >= 0).all()
                and (raw.durations >= 1).all()
                and int(raw.durations.sum()) == steps == len(raw.rewards)
                and _length(raw.actions) == {steps}
                and _length(raw.observations) == {steps + len(raw.lengths)}
            )
        except (KeyError, TypeError, IndexError, AttributeError, ValueError) as problem:
            raise Error(f"{source}: raw steps: damaged: {problem!r}") from None
        if not fits:
            raise Error(f"{source}: raw steps: the arrays do not fit together: damaged")
        return raw


def kept(value: Any) -> Any:
    """The value itself, safe from an environment that writes its next one in its place."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Mapping):
        return {name: kept(part) for name, part in value.items()}
    if isinstance(value, tuple):
        return tuple(kept(part) for part in value)
    return value


def stack(elements: Sequence[Any]) -> Any:
    """One batch of many elements, part by part for tuples and dictionaries."""
    if not elements:
        return np.zeros(0)
    first = elements[0]
    if isinstance(first, Mapping):
        return {name: stack([element[name] for element in elements]) for name in first}
    if isinstance(first, tuple):
        return tuple(stack(list(part)) for part in zip(*elements, strict=True))
    return np.array(elements) if not isinstance(first, np.ndarray) else np.stack(elements)


def concatenate(batches: Sequence[Any]) -> Any:
    """Batches one behind the other."""
    first = batches[0]
    if isinstance(first, Mapping):
        return {name: concatenate([batch[name] for batch in batches]) for name in first}
    if isinstance(first, tuple):
        return tuple(concatenate(list(part)) for part in zip(*batches, strict=True))
    filled = [batch for batch in batches if len(batch)]
    return np.concatenate(filled) if filled else first


def take(batch: Any, places: Any) -> Any:
    """Some of the elements of a batch."""
    if isinstance(batch, Mapping):
        return {name: take(part, places) for name, part in batch.items()}
    if isinstance(batch, tuple):
        return tuple(take(part, places) for part in batch)
    return batch[places]


def elements(batch: Any) -> Iterator[Any]:
    """One element after the other."""
    (size,) = _length(batch) or {0}
    return (take(batch, k) for k in range(size))


def _length(batch: Any) -> set[int]:
    if isinstance(batch, Mapping):
        return {n for part in batch.values() for n in _length(part)}
    if isinstance(batch, tuple):
        return {n for part in batch for n in _length(part)}
    return {len(batch)}


def _flatten(batch: Any, name: str, arrays: dict[str, Any]) -> Any:
    if isinstance(batch, Mapping):
        parts = {str(key): _flatten(part, f"{name}/{key}", arrays) for key, part in batch.items()}
        return {"dict": parts}
    if isinstance(batch, tuple):
        return {"tuple": [_flatten(part, f"{name}/{k}", arrays) for k, part in enumerate(batch)]}
    arrays[name] = batch
    return {"array": name}


def _unflatten(shape: Any, arrays: Mapping[str, Any]) -> Any:
    if "dict" in shape:
        return {name: _unflatten(part, arrays) for name, part in shape["dict"].items()}
    if "tuple" in shape:
        return tuple(_unflatten(part, arrays) for part in shape["tuple"])
    return arrays[shape["array"]]
