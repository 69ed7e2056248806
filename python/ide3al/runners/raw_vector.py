"""Many environments at once whose observations are taken as they are, one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._extras import need
from .._ide3al import Error
from ..encoding.abstraction import ActionGrid
from ..encoding.discrete import SpaceIndex
from ..encoding.masks import Mask, VectorMaskReader, entry_of
from ..encoding.raw import elements, kept

Flags = npt.NDArray[np.bool_]


class RawVectorStep(NamedTuple):
    """What one step of all environments brought; lists have one entry for each of them."""

    #: Observations reached; where an episode ended, its last one.
    reached: list[Any]
    rewards: list[Any]
    terminated: Flags
    truncated: Flags
    #: Where a step was taken at all: elsewhere the environment only started over.
    stepped: Flags
    #: Where an episode began, and the observations to go on from.
    begun: Flags
    observations: list[Any]


class RawVector:
    """A vector environment, whatever way it starts episodes over."""

    def __init__(self, env: Any, actions: SpaceIndex | ActionGrid) -> None:
        self.env, self.n = env, int(env.num_envs)
        mode = getattr(env, "metadata", {}).get("autoreset_mode", "NextStep")
        self._mode = str(getattr(mode, "value", mode))
        self._over = np.zeros(self.n, dtype=np.bool_)
        self._space = env.single_action_space
        #: Real numbers have no masks.
        self._reader = (
            None
            if isinstance(actions, ActionGrid)
            else VectorMaskReader(env, self._space, actions.size)
        )
        #: The actions allowed now in each environment, where it says so.
        self.masks: list[Mask | None] = [None] * self.n

    def reset(self, seed: int | None) -> list[Any]:
        """Begins an episode everywhere."""
        observations, info = self.env.reset() if seed is None else self.env.reset(seed=seed)
        self._over = np.zeros(self.n, dtype=np.bool_)
        found = self._each(observations)
        self.masks = self._masks(found, info)
        return found

    def _masks(self, observations: list[Any], info: Any) -> list[Mask | None]:
        if self._reader is None:
            return [None] * self.n
        return self._reader.read(observations, info)

    def step(self, actions: list[Any]) -> RawVectorStep:
        """Takes one action in each environment."""
        observations, rewards, terminated, truncated, info = self.env.step(self._batch(actions))
        now = self._each(observations)
        self.masks = self._masks(now, info)
        given = [np.asarray(reward) for reward in np.asarray(rewards)]
        over = np.asarray(terminated) | np.asarray(truncated)
        everywhere, nowhere = np.ones(self.n, dtype=np.bool_), np.zeros(self.n, dtype=np.bool_)
        if self._mode == "NextStep":
            stepped = ~self._over
            self._over = over & stepped
            ended = np.asarray(terminated) & stepped, np.asarray(truncated) & stepped
            return RawVectorStep(now, given, *ended, stepped, ~stepped, now)
        ended = np.asarray(terminated), np.asarray(truncated)
        if not over.any():
            return RawVectorStep(now, given, *ended, everywhere, nowhere, now)
        reached = list(now)
        if self._mode == "SameStep":
            last = entry_of(info, "final_obs", "final_observation")
            for k in np.flatnonzero(over).tolist():
                reached[k] = _part(last, k)
            return RawVectorStep(reached, given, *ended, everywhere, over, now)
        observations, info = self.env.reset(options={"reset_mask": over})
        again = self._each(observations)
        masks = self._masks(again, info)
        self.masks = [masks[k] if over[k] else self.masks[k] for k in range(self.n)]
        begun = [again[k] if over[k] else now[k] for k in range(self.n)]
        return RawVectorStep(reached, given, *ended, everywhere, over, begun)

    def _each(self, observations: Any) -> list[Any]:
        if (
            type(observations) is tuple
            and type(self.env.single_observation_space).__name__ != "Tuple"
        ):
            found = list(observations)
        else:
            found = [kept(one) for one in elements(observations)]
        if len(found) != self.n:
            raise Error(f"{self.n} environments returned {len(found)} observations")
        return found

    def _batch(self, actions: list[Any]) -> Any:
        utils = need("gymnasium.vector.utils", "gymnasium")
        empty = utils.create_empty_array(self._space, n=self.n)
        return utils.concatenate(self._space, actions, empty)


def _part(batch: Any, k: int) -> Any:
    """One of many, where they come as an array of objects, or in parts."""
    if isinstance(batch, Mapping):
        return {name: _part(inner, k) for name, inner in batch.items()}
    if isinstance(batch, tuple):
        return tuple(_part(inner, k) for inner in batch)
    return batch[k]
