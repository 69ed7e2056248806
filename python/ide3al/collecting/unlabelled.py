"""Continuous environments without cells: steps are recorded raw, and states numbered afterwards."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._ide3al import Error
from .._protocol import reset_env, step_env
from ..datasets.episode import Episode
from ..encoding.abstraction import Abstraction, ActionGrid, choices
from ..encoding.adaptive import AdaptivePartition
from ..encoding.discrete import DiscoveredStates, SpaceIndex
from ..encoding.partitioned import TERMINAL_KEY, PartitionEncoder
from ..encoding.raw import RawEpisode, RawRecorder, elements
from ..types import Integers


class UnlabelledStates(DiscoveredStates):
    """One state for everything, until there are cells."""

    def number(self, observation: Any) -> int:
        return self.take(("unlabelled",))

    def find(self, observation: Any) -> int | None:
        return 0


class UnlabelledEnv:
    """The environment, with every step written down as it is."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.spec, self.unwrapped = getattr(env, "spec", None), getattr(env, "unwrapped", env)
        self.observation_space, self.action_space = env.observation_space, env.action_space
        self.recorder = RawRecorder()

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = reset_env(self.env, **options)
        self.recorder.begin(observation)
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = step_env(self.env, action)
        self.recorder.step(action, reward, observation)
        return observation, reward, bool(terminated), bool(truncated), info

    def close(self) -> None:
        self.env.close()


def action_numbers(action_space: Any, abstraction: Abstraction | None) -> SpaceIndex | ActionGrid:
    """Actions by number: the nearest of a few, where actions are real numbers."""
    return choices(action_space, abstraction or Abstraction())


def partition_of(partition: AdaptivePartition, raw: Sequence[RawEpisode]) -> PartitionEncoder:
    """Cells for what was recorded, with an action chosen anew in every step."""
    partition.lay([_vectors(partition, episode) for episode in raw])
    return PartitionEncoder(partition)


def labelled(
    episodes: Sequence[Episode], view: PartitionEncoder
) -> tuple[list[Episode], tuple[Hashable, ...]]:
    """The same episodes with the numbers of their cells, and the cells by number."""
    states = DiscoveredStates()
    states.restart(view.known())
    numbered = []
    for episode in episodes:
        if episode.raw is None:
            raise Error("these episodes hold no raw observations to find the cells of")
        before = states.size
        vectors = _vectors(view.adaptive, episode.raw)
        moments = np.concatenate([[0], np.cumsum(episode.raw.durations)])
        numbers: Integers = np.array(
            [states.take(key) for key in view.keys(vectors[moments])], dtype=np.int64
        )
        if episode.terminated:
            numbers[-1] = states.take(TERMINAL_KEY)
        found = tuple(states.keys[before:])
        numbered.append(replace(episode, states=numbers, found=found))
    return numbered, tuple(states.keys)


def _vectors(partition: AdaptivePartition, raw: RawEpisode) -> Any:
    return np.array([partition.vector(o) for o in elements(raw.observations)])
