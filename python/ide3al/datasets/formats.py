"""Data sets as others keep them: Minari, NPZ, Parquet, d3rlpy."""

from __future__ import annotations

import io
import json
import os
import warnings
import zipfile
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from .._archive import FREE, PER_BYTE, Archive
from .._extras import need
from .._ide3al import Error
from ..encoding.discrete import SpaceIndex, from_key, literal, read_literal
from .raw_table import described, with_raw, without_table
from .card import card_text

if TYPE_CHECKING:
    from .dataset import Data

#: Metadata key of the card, and name of what says how raw steps are made of arrays.
CARD, RAW = "ide3al_card", "raw_steps"


def npz_bytes(data: Data) -> bytes:
    """NumPy's archive: the six arrays, numbers of states and actions, what was met, the card."""
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {
        "observations": data.observations,
        "actions": data.actions,
        "rewards": data.rewards,
        "next_observations": data.next_observations,
        "terminations": data.terminations,
        "truncations": data.truncations,
        "n_states": np.int64(data.n_states),
        "n_actions": np.int64(data.n_actions),
        "card": np.array(card_text(data.card)),
    }
    if data.keys is not None:
        arrays["states"] = np.array(literal(data.keys))
    if data.allowed is not None:
        arrays["allowed"] = data.allowed
    if data.raw is not None:
        raw, shape = data.raw.to_arrays()
        arrays |= raw | {RAW: np.array(json.dumps(shape))}
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def frame(data: Data) -> Any:
    """A Polars frame, one row per step."""
    polars = need("polars", "polars")
    bounds = data.bounds
    lengths = np.diff(bounds)
    episode = np.repeat(np.arange(lengths.size), lengths)
    columns = {
        "episode": episode,
        "step": np.arange(len(data)) - bounds[:-1][episode],
        "observation": data.observations,
        "action": data.actions,
        "reward": data.rewards,
        "next_observation": data.next_observations,
        "terminated": data.terminations,
        "truncated": data.truncations,
    }
    return polars.DataFrame(columns)


def parquet_bytes(data: Data) -> bytes:
    """Parquet with the card in its metadata."""
    about = {
        CARD: card_text(data.card),
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


def observed(data: Data) -> list[Any] | None:
    """The observation of each state, where it can be told."""
    if data.spaces is None:
        return None
    space = data.spaces[0]
    if data.keys is not None:
        return [from_key(space, key) for key in data.keys]
    index = SpaceIndex(space)
    return [index.element(s) for s in range(index.size)]


def read_npz(name: str) -> dict[str, Any]:
    """All arrays of an archive by name."""
    try:
        return Archive(name, name).arrays()
    except OSError as problem:
        raise Error(f"{name}: cannot read: {problem}") from None
    except Error:
        raise
    except (
        ValueError, EOFError, KeyError, TypeError, MemoryError, zipfile.BadZipFile, zlib.error,
        NotImplementedError, RuntimeError, SyntaxError, OverflowError,
    ) as problem:  # fmt: skip
        raise Error(
            f"{name}: this is no NPZ file of arrays, or it is cut or damaged: {problem}"
        ) from None


def read_parquet(name: str) -> dict[str, Any]:
    """Columns and metadata of a Parquet file under the names of the arrays in an NPZ."""
    polars = need("polars", "polars")
    try:
        about = dict(polars.read_parquet_metadata(name))
        rows = int(polars.scan_parquet(name).select(polars.len()).collect().item())
        columns = len(polars.read_parquet_schema(name))
        size = os.stat(name).st_size
        if 8 * rows * columns > FREE + PER_BYTE * size:
            raise Error(
                f"{name}: {size} bytes that expand to {rows} rows of {columns} columns: no data "
                "set is packed so tightly; the file is not read"
            )
        table = polars.read_parquet(name)
    except OSError as problem:
        raise Error(f"{name}: cannot read: {problem}") from None
    except polars.exceptions.PolarsError as problem:
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


def read_keys(text: str, source: str) -> tuple[Any, ...]:
    """What was met, as :func:`literal` wrote it."""
    try:
        return tuple(read_literal(text))
    except (ValueError, SyntaxError) as problem:
        raise Error(f"{source}: states: damaged: {problem}") from None


def read_card(text: str, source: str) -> dict[str, Any]:
    """A card as :func:`card_text` wrote it."""
    try:
        card = json.loads(text)
        if not isinstance(card, dict):
            raise ValueError("no object")
    except ValueError as problem:
        raise Error(f"{source}: card: damaged: {problem}") from None
    return card
