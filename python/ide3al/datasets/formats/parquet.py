"""Columns in Parquet files, and as frames of Polars."""

from __future__ import annotations

import io
import json
import os
import warnings
from typing import Any

import numpy as np

from ..._archives import FREE_BYTES, MAX_EXPANSION
from ..._extras import need
from ..._ide3al import Error
from ...encoding.discrete import literal
from ...encoding.raw import RAW
from ..card import CARD, Card, card_text
from ..transitions import Transitions
from .raw_table import described, with_raw, without_table


class ParquetFormat:
    """Columns, one row per step, with the card in the file's metadata."""

    suffix = ".parquet"

    def to_bytes(self, data: Transitions, card: Card) -> bytes:
        """Contents of a file that holds the data."""
        return parquet_bytes(data, card)

    def read(self, path: str) -> dict[str, Any]:
        """All columns of a file, and what its metadata hold, by name."""
        return read_parquet(path)


def frame(data: Transitions) -> Any:
    """A Polars frame, one row per step."""
    polars = need("polars", "polars")
    bounds = data.bounds
    lengths = np.diff(bounds)
    episode = np.repeat(np.arange(lengths.size), lengths)
    return polars.DataFrame(
        {
            "episode": episode,
            "step": np.arange(len(data)) - bounds[:-1][episode],
            "observation": data.observations,
            "action": data.actions,
            "reward": data.rewards,
            "next_observation": data.next_observations,
            "terminated": data.terminations,
            "truncated": data.truncations,
        }
    )


def parquet_bytes(data: Transitions, card: Card) -> bytes:
    """Parquet with the card in its metadata."""
    about = {
        CARD: card_text(card),
        "n_states": str(data.n_states),
        "n_actions": str(data.n_actions),
    }
    if data.keys is not None:
        about["states"] = literal(data.keys)
    if data.allowed is not None:
        about["allowed"] = "".join("1" if x else "0" for x in data.allowed.ravel())
    table = frame(data)
    if data.raw is not None:
        raw, shape = data.raw.to_arrays()
        table = with_raw(table, raw)
        about[RAW] = json.dumps({"shape": shape, "arrays": described(raw)})
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        # Polars calls the metadata experimental
        warnings.simplefilter("ignore")
        table.write_parquet(buffer, metadata=about)
    return buffer.getvalue()


def read_parquet(name: str) -> dict[str, Any]:
    """Columns and metadata of a Parquet file under the names of the arrays in an NPZ."""
    polars = need("polars", "polars")
    try:
        about = dict(polars.read_parquet_metadata(name))
        rows = int(polars.scan_parquet(name).select(polars.len()).collect().item())
        columns = len(polars.read_parquet_schema(name))
        size = os.stat(name).st_size
        if 8 * rows * columns > max(FREE_BYTES, MAX_EXPANSION * size):
            raise Error(
                f"{name}: {size} bytes that unpack to {rows} rows of {columns} columns, more than "
                f"{MAX_EXPANSION} times as much; if you trust it, store it again uncompressed"
            )
        table = polars.read_parquet(name)
    except OSError as problem:
        raise Error(f"{name}: cannot read: {problem}") from None
    except Error:
        raise
    except BaseException as problem:
        # Polars panics on some damaged files, which is no Exception
        if isinstance(problem, KeyboardInterrupt | SystemExit):
            raise
        raise Error(
            f"{name}: this is no Parquet file, or it is cut or damaged: {problem}"
        ) from None
    arrays: dict[str, Any] = {}
    for column in table.columns:
        if not column.startswith("raw/"):
            values = table[column].to_numpy()
            arrays[column] = np.stack(values) if values.dtype == object and len(values) else values
    try:
        for key in ("n_states", "n_actions"):
            if key in about:
                arrays[key] = np.int64(about[key])
        if "allowed" in about:
            flags = np.frombuffer(about["allowed"].encode(), dtype=np.uint8) == ord("1")
            arrays["allowed"] = flags.reshape(-1, int(about["n_actions"]))
        if RAW in about:
            document = json.loads(about[RAW])
            arrays |= without_table(table, document["arrays"])
            arrays[RAW] = np.array(json.dumps(document["shape"]))
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise Error(f"{name}: damaged: {problem!r}") from None
    for key, inside in (("states", "states"), (CARD, "card")):
        if key in about:
            arrays[inside] = np.array(about[key])
    return arrays
