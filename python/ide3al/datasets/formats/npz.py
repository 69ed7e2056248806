"""NumPy's archive of arrays: ``.npz``."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np

from ..._archives import DAMAGED, Archive
from ..._ide3al import Error
from ...encoding.discrete import literal
from ...encoding.raw import RAW
from ..card import Card, card_text
from ..transitions import Transitions


class NpzFormat:
    """NumPy's archive: the six arrays, numbers of states and actions, the states met, the card."""

    suffix = ".npz"

    def to_bytes(self, data: Transitions, card: Card) -> bytes:
        """Contents of a file that holds the data."""
        return npz_bytes(data, card)

    def read(self, path: str) -> dict[str, Any]:
        """All arrays of a file by name."""
        return read_npz(path)


def npz_bytes(data: Transitions, card: Card) -> bytes:
    """Contents of an archive."""
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
        "card": np.array(card_text(card)),
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


def read_npz(name: str) -> dict[str, Any]:
    """All arrays of an archive by name."""
    try:
        return Archive(name).arrays()
    except OSError as problem:
        raise Error(f"{name}: cannot read: {problem}") from None
    except DAMAGED as problem:
        raise Error(
            f"{name}: this is no NPZ file of arrays, or it is cut or damaged: {problem}"
        ) from None
