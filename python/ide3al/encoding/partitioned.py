"""Continuous environments as an agent that was fitted there sees them: cells, a few actions, each
held for some steps."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from .._extras import need
from .._ide3al import Error
from .._protocol import reset_env, step_env
from ..types import Floats
from .abstraction import ActionGrid
from .adaptive import AdaptivePartition
from .grid import TERMINAL_CELL, Grid
from .masks import MaskReader
from .raw import RawRecorder

#: The key of the one state of all observations that ended an episode.
TERMINAL_KEY: Hashable = ("over",)


class PartitionEncoder:
    """From an observation to what tells its cell: the middle of it."""

    def __init__(self, partition: AdaptivePartition) -> None:
        if partition.cells is None:
            raise Error("this agent has no cells yet; call fit first")
        self.adaptive, self.cells = partition, partition.cells
        self.actions, self.repeat = partition.actions, partition.repeat
        self._middles: dict[int, Hashable] = {TERMINAL_CELL: TERMINAL_KEY}

    def __call__(self, observation: Any) -> Hashable:
        vector = self.adaptive.vector(observation)
        return self._middle(int(self.cells.keys(vector[None, self.adaptive.used])[0]))

    def keys(self, vectors: Floats) -> list[Hashable]:
        """What tells the cells of vectors, one after the other."""
        cells = self.cells.keys(vectors[:, self.adaptive.used])
        return [self._middle(key) for key in cells.tolist()]

    def known(self) -> list[Hashable]:
        """The cells that the agent met, by its numbers."""
        return [self._middle(key) for key in self.adaptive.keys]

    def grid_position(self, key: Hashable) -> tuple[int, int] | None:
        """Row and column of a cell, where cells are a grid of two numbers."""
        if key == TERMINAL_KEY or not isinstance(self.cells, Grid):
            return None
        across, up = self.cells.places(np.array([key]))[0].tolist()
        return int(self.cells.counts[1]) - 1 - up, across

    @property
    def flat(self) -> bool:
        """Whether cells can be drawn as a map."""
        return isinstance(self.cells, Grid) and len(self.cells.counts) == 2

    def to_dict(self, repeat: int | None = None) -> dict[str, Any]:
        """As JSON, for the card."""
        tried = [np.asarray(self.actions.element(k)).tolist() for k in range(self.actions.size)]
        return {
            "numbers": self.adaptive.names,
            "actions": tried,
            "repeat": self.repeat if repeat is None else repeat,
        }

    def _middle(self, key: int) -> Hashable:
        if key not in self._middles:
            self._middles[key] = tuple(self.cells.centres(np.array([key]))[0].tolist())
        return self._middles[key]


class CellSpace:
    """The space of cells: not finite beforehand, met one by one."""

    def __init__(self, view: PartitionEncoder) -> None:
        self._view = view

    def __repr__(self) -> str:
        return f"cells of {', '.join(self._view.adaptive.names)} ({self._view.cells.kind}), actions held for {self._view.repeat}"


class PartitionedEnv:
    """The environment with a cell's middle as observation. A step holds its action for
    ``view.repeat`` steps, less where the episode ends before, and sums their rewards."""

    def __init__(self, env: Any, view: PartitionEncoder) -> None:
        self.env, self.view = env, view
        self.spec, self.unwrapped = getattr(env, "spec", None), getattr(env, "unwrapped", env)
        self.observation_space = CellSpace(view)
        #: Every step as it was taken and given.
        self.recorder = RawRecorder()
        self._reader = MaskReader(env, env.action_space, view.actions.size)
        self.action_space = need("gymnasium.spaces", "gymnasium").Discrete(view.actions.size)

    def reset(self, **given: Any) -> tuple[Hashable, dict[str, Any]]:
        observation, info = reset_env(self.env, **given)
        self.recorder.begin(observation)
        return self.view(observation), info

    def step(self, action: Any) -> tuple[Hashable, Any, bool, bool, dict[str, Any]]:
        element, total = self.view.actions.element(int(action)), np.zeros(())
        for k in range(self.view.repeat):
            observation, reward, terminated, truncated, info = step_env(self.env, element)
            self.recorder.step(element, reward, observation, decided=k == 0)
            total = total + np.asarray(reward, dtype=np.float64)
            if terminated or truncated or not self._allowed(int(action), observation, info):
                break
        return (
            TERMINAL_KEY if terminated else self.view(observation),
            total,
            bool(terminated),
            bool(truncated),
            info,
        )

    def _allowed(self, action: int, observation: Any, info: Any) -> bool:
        """Whether an action may be held for another step."""
        if isinstance(self.view.actions, ActionGrid):
            return True
        mask = self._reader.read(observation, info)
        return mask is None or bool(mask[action])

    def close(self) -> None:
        self.env.close()
