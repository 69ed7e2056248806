"""States and actions of data that others collected, as numbers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from ..encoding.abstraction import ActionGrid
from ..encoding.discrete import DiscoveredStates, SpaceIndex, state_encoder, to_key
from ..types import Integers

#: A function from an observation to whatever distinguishes its state from others.
StateFunction = Callable[[Any], Hashable]


def index_of(space: Any, states: StateFunction | None) -> SpaceIndex | DiscoveredStates:
    if states is not None:
        return DiscoveredStates()
    return DiscoveredStates() if space is None else state_encoder(space)


def spaces_of(env: Any) -> tuple[Any, Any]:
    if env is None:
        return None, None
    return (
        getattr(env, "single_observation_space", getattr(env, "observation_space", None)),
        getattr(env, "single_action_space", getattr(env, "action_space", None)),
    )


def numbers_in(
    observations: Any,
    index: SpaceIndex | DiscoveredStates | ActionGrid,
    states: StateFunction | None,
) -> Integers:
    """Numbers of a batch of observations, an array or one by one."""
    if states is not None:
        return np.array(
            [index.number(to_key(states(part))) for part in _each(observations)],
            dtype=np.int64,
        )
    if (
        isinstance(observations, np.ndarray)
        and observations.ndim == 1
        and observations.dtype.kind in "iu"
    ):
        values = observations.astype(np.int64)
        distinct, inverse = np.unique(values, return_inverse=True)
        # in the order in which they are met
        first = np.full(distinct.size, values.size, dtype=np.int64)
        np.minimum.at(first, inverse, np.arange(values.size))
        numbers = np.zeros(distinct.size, dtype=np.int64)
        for k in np.argsort(first, kind="stable").tolist():
            numbers[k] = index.number(int(distinct[k]))
        return numbers[inverse]
    return np.array([index.number(part) for part in _each(observations)], dtype=np.int64)


def _each(observations: Any) -> list[Any]:
    """One by one: rows of an array, or parts of a dictionary or tuple taken together."""
    if isinstance(observations, Mapping):
        names = list(observations)
        return [
            dict(zip(names, row, strict=True))
            for row in zip(*map(_each, observations.values()), strict=True)
        ]
    if isinstance(observations, tuple):
        return list(zip(*map(_each, observations), strict=True))
    return list(observations)


def states_match(
    spaces: tuple[Any, Any], n_states: int, n_actions: int, keys: tuple[Any, ...] | None
) -> bool:
    """Whether numbers of data fit the spaces of an environment."""
    index, actions = state_encoder(spaces[0]), SpaceIndex(spaces[1])
    return actions.size == n_actions and (
        keys is not None if isinstance(index, DiscoveredStates) else index.size == n_states
    )
