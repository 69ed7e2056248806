"""Old names of parameters, accepted for one version with a warning."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from ._ide3al import Error

P = ParamSpec("P")
R = TypeVar("R")


def renamed(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Lets a function take parameters by their old names, too.

    Parameters
    ----------
    **names : str
        The new name of each old one; the empty string for a parameter that is gone.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
            for old in names.keys() & kwargs.keys():
                new = names[old]
                if new and new in kwargs:
                    raise Error(f"{old} is the old name of {new}: give one of them")
                warn(f"{old} is now called {new}" if new else f"{old} does nothing")
                value = kwargs.pop(old)
                if new:
                    kwargs[new] = value
            return function(*args, **kwargs)

        return wrapper

    return decorate


def warn(what: str, stacklevel: int = 3) -> None:
    """Warns that something old is used, at the line that uses it."""
    message = f"{what}; the old way is refused from the next version on"
    warnings.warn(message, DeprecationWarning, stacklevel=stacklevel)
