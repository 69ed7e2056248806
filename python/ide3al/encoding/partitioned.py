"""Continuous environments as an agent that was fitted there sees them: cells, a few actions, each
held for some steps."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from .._extras import need
from .._ide3al import Error
from .adaptive import TERMINAL_CELL, AdaptivePartition
from .grid import Grid

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

    def known(self) -> list[Hashable]:
        """The cells that the agent met, by its numbers."""
        return [self._middle(int(key)) for key in self.adaptive.save()["keys"]]

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


class _Middles:
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
        self.observation_space = _Middles(view)
        self.action_space = need("gymnasium.spaces", "gymnasium").Discrete(view.actions.size)

    def reset(self, **given: Any) -> tuple[Hashable, dict[str, Any]]:
        observation, info = self.env.reset(**given)
        return self.view(observation), info

    def step(self, action: Any) -> tuple[Hashable, float, bool, bool, dict[str, Any]]:
        element, total = self.view.actions.element(int(action)), 0.0
        for _ in range(self.view.repeat):
            observation, reward, terminated, truncated, info = self.env.step(element)
            total += float(reward)
            if terminated or truncated:
                break
        return (
            TERMINAL_KEY if terminated else self.view(observation),
            total,
            bool(terminated),
            bool(truncated),
            info,
        )

    def close(self) -> None:
        self.env.close()
