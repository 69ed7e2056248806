"""What a solver found as plain values: for copies, and for other processes."""

from __future__ import annotations

import os
from typing import Any

from .._ide3al import Error
from ..types import Floats


class StoredSolved:
    """Stands in for what the compiled module returned: the same values under the same names."""

    def __init__(self, values: dict[str, Any], probabilities: Floats, report: Any) -> None:
        self._values, self._probabilities, self._report = values, probabilities, report

    @classmethod
    def of(cls, native: Any, report: dict[str, Any]) -> StoredSolved:
        """All that can be asked of a compiled solution; ``report`` is what it said of itself."""
        if isinstance(native, StoredSolved):
            return native
        values = {
            name: value
            for name in dir(native)
            if not name.startswith("_") and not callable(value := getattr(native, name))
        }
        return cls(values, native.probabilities(), report)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_values"][name]
        except KeyError:
            raise AttributeError(name) from None

    def probabilities(self) -> Floats:
        """One per state-action pair."""
        return self._probabilities

    def report(self, *_: Any) -> Any:
        """What the solution said of itself when it was copied."""
        return self._report

    def save_policy(self, path: str | os.PathLike[str]) -> None:
        """Not possible: the file's header needs the compiled solution."""
        raise Error(
            f"{os.fspath(path)}: a copy of a solution cannot write the policy file; call "
            "save_policy on the solution that was copied, or keep solution.policy with numpy.save"
        )


def compiled(native: Any) -> Any:
    """What can be started from: a copy cannot."""
    if isinstance(native, StoredSolved):
        raise Error("warm: a copy holds no warm start; give the solution that was copied")
    return native
