"""Zip archives from anywhere: refused where they would fill the memory."""

from __future__ import annotations

import zipfile

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
