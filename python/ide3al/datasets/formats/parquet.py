"""Columns in Parquet files, and as frames of Polars."""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np

from ..._extras import need
from ..._ide3al import Error
from ...encoding.discrete import literal
from ..card import CARD, Card, card_text
from ..transitions import Transitions


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
    if data.states is not None:
        about["states"] = literal(data.states)
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        # Polars calls the metadata experimental
        warnings.simplefilter("ignore")
        frame(data).write_parquet(buffer, metadata=about)
    return buffer.getvalue()


def read_parquet(name: str) -> dict[str, Any]:
    """Columns and metadata of a Parquet file under the names of the arrays in an NPZ."""
    polars = need("polars", "polars")
    try:
        table = polars.read_parquet(name)
        about = dict(polars.read_parquet_metadata(name))
    except OSError as problem:
        raise Error(f"{name}: cannot read: {problem}") from None
    except polars.exceptions.PolarsError as problem:
        raise Error(
            f"{name}: this is no Parquet file, or it is cut or damaged: {problem}"
        ) from None
    arrays: dict[str, Any] = {column: table[column].to_numpy() for column in table.columns}
    for key in ("n_states", "n_actions"):
        if key in about:
            arrays[key] = np.int64(about[key])
    for key, inside in (("states", "states"), (CARD, "card")):
        if key in about:
            arrays[inside] = np.array(about[key])
    return arrays
