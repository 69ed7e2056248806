"""Models from arrays, sparse matrices and the tables of Gymnasium's environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _ide3al
from .._ide3al import Error
from ..types import Floats, Integers

#: Rows of a compressed matrix: offsets, columns, values.
Rows = tuple[Integers, Integers, Floats]


def model_from(
    P: Any,
    start: npt.ArrayLike | int | None,
    s_indices: npt.ArrayLike | None,
    a_indices: npt.ArrayLike | None,
) -> _ide3al.Model:
    """The model that arrays or sparse matrices describe, in any of the forms of :class:`MDP`."""
    if (s_indices is None) != (a_indices is None):
        raise Error("state-action pairs: give both s_indices and a_indices")
    if s_indices is not None and a_indices is not None:
        return _from_pairs(P, s_indices, a_indices, start)
    if isinstance(P, (list, tuple)):
        return _from_list(P, start)
    if _is_sparse(P):
        return _from_tall(P, start)
    return _from_dense(P, start)


def model_from_gymnasium(
    env: Any, on_terminal: str, start: npt.ArrayLike | int | None
) -> _ide3al.Model:
    """The model in the transition table ``env.unwrapped.P``."""
    if on_terminal not in ("reset", "absorb"):
        raise Error(f"on_terminal = {on_terminal!r}: must be 'reset' or 'absorb'")
    base = getattr(env, "unwrapped", env)
    table = getattr(base, "P", None)
    if table is None:
        raise Error(
            f"{_name(env)} has no transition table P; learn from its steps with "
            "ide3al.IDE3AL(...).fit(env) instead"
        )
    n_states, n_actions = (
        _finite(getattr(base, f"{kind}_space", None), kind, env)
        for kind in ("observation", "action")
    )
    if start is None:
        start = getattr(base, "initial_state_distrib", None)
        if start is None:
            raise Error(
                f"{_name(env)} has no initial_state_distrib; say where it starts: "
                "from_gymnasium(env, start=...)"
            )
    distribution = _start(start, n_states)
    assert distribution is not None
    reset = on_terminal == "reset"
    return _ide3al.Model.from_table(table, n_states, n_actions, distribution, reset)


def _is_sparse(matrix: Any) -> bool:
    """SciPy's matrices and arrays, without importing SciPy."""
    return hasattr(matrix, "tocsr") and hasattr(matrix, "nnz")


def _name(env: Any) -> str:
    spec = getattr(env, "spec", None)
    return getattr(spec, "id", None) or type(env).__name__


def _finite(space: Any, kind: str, env: Any) -> int:
    if not hasattr(space, "n") or getattr(space, "start", 0) != 0:
        raise Error(f"{_name(env)}: its {kind} space is {space}, not Discrete(n) from 0")
    return int(space.n)


def numbers(values: Any, what: str) -> Floats:
    try:
        array = np.asarray(values)
        if np.iscomplexobj(array) or array.dtype.kind not in "biufO":
            raise TypeError(f"numbers of type {array.dtype}")
        return np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise Error(f"{what}: cannot be read as an array of real numbers: {problem}") from None


def _integers(values: Any, what: str) -> Integers:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise Error(f"{what}: expected a list of whole numbers, found {array.dtype} {array.shape}")
    return np.ascontiguousarray(array, dtype=np.int64)


def _start(start: npt.ArrayLike | int | None, n_states: int) -> Floats | None:
    if start is None:
        return None
    if np.ndim(start) == 0:
        state = np.asarray(start)
        if state.dtype.kind not in "iu" or not 0 <= int(state) < n_states:
            raise Error(
                f"start = {start}: give a state from 0 to {n_states - 1}, or a distribution"
            )
        one = np.zeros(n_states)
        one[int(state)] = 1.0
        return one
    array = numbers(start, "start distribution")
    if array.shape != (n_states,):
        raise Error(f"start distribution: expected shape ({n_states},), found {array.shape}")
    if not (array >= 0).all() or abs(array.sum() - 1) > 1e-6:
        raise Error(
            f"start distribution: it sums to {array.sum()} with least entry {array.min()}; give S "
            "probabilities that sum to 1, or one state index"
        )
    return array


def _csr(matrix: Any, what: str) -> Rows:
    if np.dtype(matrix.dtype).kind not in "biuf":
        raise Error(f"{what}: its entries are of type {matrix.dtype}, not real numbers")
    rows = matrix.tocsr()
    return (
        np.ascontiguousarray(rows.indptr, dtype=np.int64),
        np.ascontiguousarray(rows.indices, dtype=np.int64),
        np.ascontiguousarray(rows.data, dtype=np.float64),
    )


def _from_dense(P: Any, start: npt.ArrayLike | int | None) -> _ide3al.Model:
    array = numbers(P, "P")
    if array.ndim != 3 or array.shape[0] != array.shape[2]:
        hint = ""
        if array.ndim == 3 and array.shape[1] == array.shape[2]:
            hint = "; this one looks like (A, S, S): pass P.swapaxes(0, 1)"
        raise Error(f"P: expected shape (S, A, S), found {array.shape}{hint}")
    return _ide3al.Model.from_dense(array, _start(start, array.shape[0]))


def _from_tall(P: Any, start: npt.ArrayLike | int | None) -> _ide3al.Model:
    if len(P.shape) != 2 or P.shape[1] == 0 or P.shape[0] % P.shape[1]:
        raise Error(f"P: expected a sparse matrix of shape (S * A, S), found {P.shape}")
    n_states = int(P.shape[1])
    return _ide3al.Model.from_sparse(n_states, [_csr(P, "P")], _start(start, n_states))


def _from_list(P: Sequence[Any], start: npt.ArrayLike | int | None) -> _ide3al.Model:
    if not P or not any(_is_sparse(matrix) for matrix in P):
        return _from_dense(P, start)
    shapes = {tuple(np.shape(matrix)) for matrix in P}
    if not all(_is_sparse(matrix) for matrix in P):
        raise Error("P: a list of matrices, one per action: all must be sparse, or none")
    if len(shapes) != 1 or len({*shapes.copy().pop()}) != 1:
        raise Error(f"P: expected A sparse matrices of one shape (S, S), found {sorted(shapes)}")
    n_states = int(P[0].shape[0])
    matrices = [_csr(matrix, f"P[{a}]") for a, matrix in enumerate(P)]
    return _ide3al.Model.from_sparse(n_states, matrices, _start(start, n_states))


def _from_pairs(
    P: Any,
    s_indices: npt.ArrayLike,
    a_indices: npt.ArrayLike,
    start: npt.ArrayLike | int | None,
) -> _ide3al.Model:
    states, actions = _integers(s_indices, "s_indices"), _integers(a_indices, "a_indices")
    if _is_sparse(P):
        shape, rows = P.shape, _csr(P, "P")
    else:
        array = numbers(P, "P")
        shape = array.shape
        if array.ndim == 2:
            row, column = np.nonzero(array)
            offsets = np.searchsorted(row, np.arange(shape[0] + 1)).astype(np.int64)
            rows = offsets, column.astype(np.int64), array[row, column]
    if len(shape) != 2:
        raise Error(f"P: state-action pairs need shape (pairs, S), found {shape}")
    n_states = int(shape[1])
    return _ide3al.Model.from_pairs(n_states, states, actions, rows, _start(start, n_states))
