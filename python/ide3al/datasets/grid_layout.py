"""Where on a grid a state is, for environments that have one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._ide3al import Error
from .transitions import Transitions, observed

Cell = Callable[[Any], tuple[int, int] | None]


def environment_name(env: Any) -> str:
    """Its id where it has one."""
    spec = getattr(env, "spec", None)
    return str(getattr(spec, "id", None) or type(getattr(env, "unwrapped", env)).__name__)


def grid_cells(env: Any, data: Transitions, cell: Cell | None) -> tuple[int, int, list[int]] | None:
    """Rows, columns and the cell of each state; -1 for one that is nowhere."""
    if cell is not None:
        elements = data.states if data.keys is not None else observed(data)
        if elements is None:
            return None
        positions = [cell(element) for element in elements]
        there = [position for position in positions if position is not None]
        if not there or min(min(position) for position in there) < 0:
            raise Error("cell: must give (row, column), both from 0, for some states")
        rows, columns = (int(max(position[k] for position in there)) + 1 for k in (0, 1))
        return (
            rows,
            columns,
            [-1 if p is None else int(p[0]) * columns + int(p[1]) for p in positions],
        )
    base = getattr(env, "unwrapped", env)
    if hasattr(env, "envs"):
        base = getattr(env.envs[0], "unwrapped", env.envs[0])
    layout = getattr(getattr(getattr(base, "mdp", None), "native", None), "layout", None)
    if layout is not None:
        return int(layout[0]), int(layout[1]), [int(c) for c in layout[2]]
    decode = getattr(base, "decode", None)
    if callable(decode) and type(base).__name__ == "TaxiEnv":
        numbers = range(data.n_states) if data.keys is None else data.keys
        at = [tuple(decode(s)) for s in numbers]
        return 5, 5, [int(row) * 5 + int(column) for row, column, *_ in at]
    shape = None if data.keys is not None else map_shape(env, data.n_states)
    return None if shape is None else (*shape, list(range(data.n_states)))


def map_shape(env: Any, n_states: int) -> tuple[int, int] | None:
    """Rows and columns of an environment whose states are numbered row by row: FrozenLake,
    CliffWalking."""
    base = getattr(env, "unwrapped", env)
    if hasattr(env, "envs"):
        base = getattr(env.envs[0], "unwrapped", env.envs[0])
    shape: Any = getattr(getattr(base, "desc", None), "shape", None) or getattr(base, "shape", None)
    if isinstance(shape, tuple) and len(shape) == 2 and int(np.prod(shape)) == n_states:
        return int(shape[0]), int(shape[1])
    return None
