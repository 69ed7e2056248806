"""The formats of files that data sets are read from and written to."""

from __future__ import annotations

from typing import Any, Protocol

from ..card import Card
from ..transitions import Transitions
from .npz import NpzFormat
from .parquet import ParquetFormat


class DatasetFormat(Protocol):
    """A format of files. To add one: a file beside this one with a class of this shape, and a line
    in :data:`FORMATS`."""

    #: How names of such files end.
    suffix: str

    def to_bytes(self, data: Transitions, card: Card) -> bytes:
        """Contents of a file that holds the data and its card."""

    def read(self, path: str) -> dict[str, Any]:
        """The arrays of a file under the names of :class:`Transitions`; ``n_states``,
        ``n_actions``, ``states`` and ``card`` besides where this package wrote it."""


#: Every format by its suffix.
FORMATS: dict[str, DatasetFormat] = {
    dataset_format.suffix: dataset_format for dataset_format in (NpzFormat(), ParquetFormat())
}
