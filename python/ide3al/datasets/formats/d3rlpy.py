"""Data sets as d3rlpy takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..._extras import need
from ..._ide3al import Error
from ..transitions import Transitions, observed


def d3rlpy_dataset(data: Transitions) -> Any:
    """``MDPDataset``: observations and actions as the environment had them where its steps were
    kept, else observations as one number (or as the arrays they were) and actions by number."""
    dataset = need("d3rlpy.dataset", "d3rlpy")
    spaces = need("d3rlpy.constants", "d3rlpy").ActionSpace
    if data.rewards.ndim > 1:
        raise Error(
            f"d3rlpy: these rewards have {data.rewards.shape[1]} numbers each and d3rlpy takes one; "
            "give data.replace(rewards=data.rewards @ weights, raw=None)"
        )
    if data.raw is not None:
        return _raw(data, dataset, spaces)
    observations = data.observations[:, None].astype(np.float32)
    elements = observed(data)
    if elements is not None and isinstance(elements[0], np.ndarray) and elements[0].ndim:
        table = np.stack([np.ravel(element) for element in elements]).astype(np.float32)
        observations = table[data.observations]
    ends = np.zeros(len(data), dtype=np.bool_)
    ends[data.bounds[1:] - 1] = True
    return dataset.MDPDataset(
        observations=observations,
        actions=data.actions[:, None],
        rewards=data.rewards[:, None].astype(np.float32),
        terminals=data.terminations.astype(np.float32),
        timeouts=(ends & ~data.terminations).astype(np.float32),
        action_space=spaces.DISCRETE,
        action_size=data.n_actions,
    )


def _raw(data: Transitions, dataset: Any, spaces: Any) -> Any:
    raw = data.raw
    assert raw is not None
    steps = raw.transitions
    observations, actions = steps["observations"], np.asarray(steps["actions"])
    if isinstance(observations, Mapping | tuple):
        raise Error(
            "d3rlpy: observations of several parts; wrap the environment with "
            "gymnasium.wrappers.FlattenObservation before collecting"
        )
    ends = np.cumsum(raw.lengths) - 1
    terminals = np.zeros(len(raw), dtype=np.float32)
    terminals[ends] = data.terminations[data.bounds[1:] - 1]
    timeouts = np.zeros(len(raw), dtype=np.float32)
    timeouts[ends] = 1.0 - terminals[ends]
    discrete = actions.dtype.kind in "iub" and actions.ndim == 1
    return dataset.MDPDataset(
        observations=observations,
        actions=actions[:, None] if actions.ndim == 1 else actions.reshape(len(actions), -1),
        rewards=np.asarray(raw.rewards, dtype=np.float32)[:, None],
        terminals=terminals,
        timeouts=timeouts,
        action_space=spaces.DISCRETE if discrete else spaces.CONTINUOUS,
        action_size=data.n_actions if discrete else actions.reshape(len(actions), -1).shape[1],
    )
