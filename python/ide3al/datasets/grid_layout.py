"""Where on a grid a state is, for environments that have one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._ide3al import Error
from .transitions import Transitions, observed

if TYPE_CHECKING:
    pass

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
    if data.keys is not None:
        return None
    shape: Any = getattr(getattr(base, "desc", None), "shape", None) or getattr(base, "shape", None)
    if isinstance(shape, tuple) and len(shape) == 2 and int(np.prod(shape)) == data.n_states:
        # numbered row by row: FrozenLake, CliffWalking
        return int(shape[0]), int(shape[1]), list(range(data.n_states))
    decode = getattr(base, "decode", None)
    if callable(decode) and type(base).__name__ == "TaxiEnv":
        at = [tuple(decode(s)) for s in range(data.n_states)]
        return 5, 5, [int(row) * 5 + int(column) for row, column, *_ in at]
    return None
