"""Zip archives from anywhere: refused where they would fill the memory."""

from __future__ import annotations

import io
import math
import os
import zipfile
import zlib
from typing import Any

import numpy as np

#: Unpacked bytes up to which an archive may expand as it likes, and by how much it may beyond: what
#: people store expands less, what was made to exhaust the memory more.
FREE_BYTES, MAX_EXPANSION = 1 << 28, 100


def check_expansion(archive: zipfile.ZipFile) -> None:
    """Raises a ValueError where the members are declared to unpack to far more than they take.

    No member yields more bytes than it declares.
    """
    members = archive.infolist()
    packed = sum(member.compress_size for member in members)
    unpacked = sum(member.file_size for member in members)
    if unpacked > max(FREE_BYTES, MAX_EXPANSION * packed):
        raise ValueError(
            f"it unpacks to {unpacked} bytes from {packed}, more than {MAX_EXPANSION} times as many; "
            "if you trust it, unpack it and store it again without compression"
        )


#: What reading a damaged archive may raise, whichever part is damaged.
DAMAGED = (
    zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError, RuntimeError,
    SyntaxError, TypeError, ValueError, OverflowError, MemoryError, IndexError, AttributeError,
)  # fmt: skip


class Archive:
    """A zip archive whose members together unpack to no more than is sensible."""

    def __init__(self, content: bytes | str | os.PathLike[str]) -> None:
        self._zip = zipfile.ZipFile(io.BytesIO(content) if isinstance(content, bytes) else content)
        check_expansion(self._zip)
        self._members = self._zip.namelist()

    def __contains__(self, member: str) -> bool:
        return member in self._members

    def read(self, member: str) -> bytes:
        """One member, never more of it than the archive says there is."""
        return self._zip.read(member)

    def close(self) -> None:
        self._zip.close()

    def arrays(self) -> dict[str, Any]:
        """All arrays of an NPZ by name; none of them may hold Python's objects."""
        return {
            member.removesuffix(".npy"): _array(self.read(member), member)
            for member in self._members
        }


def _array(content: bytes, member: str) -> Any:
    """An array whose shape is that of its content, so that no header takes memory."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    else:
        raise ValueError(f"{member}: version {version} of the array format")
    if dtype.hasobject:
        raise ValueError(f"{member}: holds Python's objects, which are not read")
    held = len(content) - stream.tell()
    if math.prod(shape) * dtype.itemsize != held:
        raise ValueError(f"{member}: shape {shape} does not fit its {held} bytes")
    return np.load(io.BytesIO(content), allow_pickle=False)
