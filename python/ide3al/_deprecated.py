"""Old names, accepted for one version with a warning."""

from __future__ import annotations

import warnings


def warn(what: str, stacklevel: int = 3) -> None:
    """Warns that something old is used, at the line that uses it."""
    message = f"{what}; the old way is refused from the next version on"
    warnings.warn(message, DeprecationWarning, stacklevel=stacklevel)
