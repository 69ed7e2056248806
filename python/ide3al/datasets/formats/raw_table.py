"""Raw steps as columns of a table with one row per decision: lists of what its steps were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..._extras import need
from ...encoding.raw import PREFIX

#: Column of the observations after the last step of each episode; empty lists elsewhere.
LAST = "last"


def described(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Shape and type of each array, to read them back exactly."""
    return {name: [array.dtype.str, list(array.shape[1:])] for name, array in raw.items()}


def with_raw(table: Any, raw: Mapping[str, Any]) -> Any:
    """The table with a column of lists for every array of raw steps.

    Observations have one entry more per episode than there are steps: it stands in a column of its
    own, in the last row of the episode."""
    polars = need("polars", "polars")
    durations, lengths = raw[f"{PREFIX}/durations"], raw[f"{PREFIX}/lengths"]
    steps = int(durations.sum())
    after = np.cumsum(durations)
    last_rows = np.searchsorted(after, np.cumsum(lengths), side="left")
    columns = []
    for name, array in raw.items():
        if name.split("/")[1] in ("durations", "lengths"):
            continue
        if len(array) == steps:
            columns.append(_lists(polars, name, array, durations))
            continue
        places = np.cumsum(lengths + 1) - 1
        ends = np.zeros(len(durations), dtype=np.int64)
        ends[last_rows] = 1
        columns.append(_lists(polars, name, np.delete(array, places, axis=0), durations))
        columns.append(_lists(polars, f"{name}/{LAST}", array[places], ends))
    return table.with_columns(columns)


def without_table(table: Any, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays that :func:`with_raw` made columns of."""
    found: dict[str, Any] = {}
    episodes = table["episode"].to_numpy()
    for name, (dtype, shape) in arrays.items():
        if name.split("/")[1] in ("durations", "lengths"):
            continue
        kind = np.dtype(dtype)
        if kind.hasobject:
            raise ValueError(f"{name}: holds Python's objects")
        values = _flat(table[name], kind, shape)
        if f"{name}/{LAST}" in table.columns:
            last = _flat(table[f"{name}/{LAST}"], kind, shape)
            counts = table[name].list.len().fill_null(0).to_numpy()
            steps = np.bincount(episodes, weights=counts // _size(shape)).astype(np.int64)
            values = np.insert(values, np.cumsum(steps), last, axis=0)
        found[name] = values
    rewards = table[f"{PREFIX}/rewards"].list.len().fill_null(0).to_numpy()
    durations = (rewards // _size(arrays[f"{PREFIX}/rewards"][1])).astype(np.int64)
    found[f"{PREFIX}/durations"] = durations
    found[f"{PREFIX}/lengths"] = np.bincount(episodes, weights=durations).astype(np.int64)
    return found


def _size(shape: Any) -> int:
    return max(1, int(np.prod(shape)))


def _lists(polars: Any, name: str, array: Any, lengths: Any) -> Any:
    """One list of numbers for each row, row after row."""
    numbers = polars.Series(name, np.ascontiguousarray(array).reshape(-1))
    counts = np.asarray(lengths, dtype=np.int64) * _size(array.shape[1:])
    row = np.repeat(np.arange(len(counts)), counts)
    filled = (
        polars.DataFrame({"row": row, name: numbers})
        .group_by("row", maintain_order=True)
        .agg(polars.col(name))
    )
    rows = polars.DataFrame({"row": np.arange(len(counts))})
    joined = rows.join(filled, on="row", how="left", maintain_order="left")
    return joined[name]


def _flat(column: Any, kind: Any, shape: Any) -> Any:
    numbers = column.explode().drop_nulls().to_numpy() if len(column) else np.zeros(0)
    return numbers.astype(kind, copy=False).reshape(-1, *shape)
