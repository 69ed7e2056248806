"""Data sets of d3rlpy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._extras import need
from ..transitions import Transitions, observed


def d3rlpy_dataset(data: Transitions) -> Any:
    """``MDPDataset`` of d3rlpy: observations as one number (or as the arrays they were), actions by
    number."""
    dataset = need("d3rlpy.dataset", "d3rlpy")
    constants = need("d3rlpy.constants", "d3rlpy")
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
        action_space=constants.ActionSpace.DISCRETE,
        action_size=data.n_actions,
    )
