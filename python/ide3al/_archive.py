"""Archives that strangers may have made: nothing is read that is larger than its file allows."""

from __future__ import annotations

import io
import math
import os
import zipfile
from typing import Any

import numpy as np

from ._ide3al import Error

#: Bytes that any archive may expand to, and how many more for each of its own. Data sets of real
#: environments expand to some twenty times their size.
FREE, PER_BYTE = 1 << 29, 64


class Archive:
    """A ZIP archive whose members together expand to no more than its size allows."""

    def __init__(self, content: bytes | str | os.PathLike[str], name: str) -> None:
        size = len(content) if isinstance(content, bytes) else os.stat(content).st_size
        source = io.BytesIO(content) if isinstance(content, bytes) else content
        self._zip = zipfile.ZipFile(source)
        self._name = name
        self._members = {info.filename: info for info in self._zip.infolist()}
        expanded = sum(info.file_size for info in self._zip.infolist())
        allowed = FREE + PER_BYTE * size
        if expanded > allowed:
            raise Error(
                f"{name}: {size} bytes that expand to {expanded}: no data set or agent of this "
                "size is packed so tightly; the file is not read"
            )

    def __contains__(self, member: str) -> bool:
        return member in self._members

    def read(self, member: str) -> bytes:
        """One member, never more than the archive said it has."""
        return self._zip.read(member)

    def arrays(self) -> dict[str, Any]:
        """All arrays of an NPZ by name; none of them may hold Python's objects."""
        return {
            member.removesuffix(".npy"): _array(self.read(member), f"{self._name}: {member}")
            for member in self._members
        }


def _array(content: bytes, source: str) -> Any:
    """An array whose shape is that of its content."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    else:
        raise ValueError(f"{source}: version {version} of the array format")
    if dtype.hasobject:
        raise ValueError(f"{source}: holds Python's objects, which are not read")
    held = len(content) - stream.tell()
    if math.prod(shape) * dtype.itemsize != held:
        raise ValueError(f"{source}: shape {shape} does not fit its {held} bytes")
    return np.load(io.BytesIO(content), allow_pickle=False)
