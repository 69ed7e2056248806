"""Arguments by name: old names are taken with a warning, unknown ones refused with the nearest."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from ._deprecated import warn
from ._ide3al import Error

P = ParamSpec("P")
R = TypeVar("R")


class ArgumentError(Error, TypeError):
    """Arguments that a function does not take: a ``TypeError``, as Python raises for its own."""


def checked_names(**renamed: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Lets a function refuse what it does not take by an :class:`ArgumentError`, and take
    parameters by their old names for one version.

    Parameters
    ----------
    **renamed : str
        The new name of each old one; the empty string for a parameter that is gone.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        parts = function.__qualname__.split(".")
        called = parts[0] if parts[-1] == "__init__" else parts[-1]

        @functools.wraps(function)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
            for old in renamed.keys() & kwargs.keys():
                new = renamed[old]
                if new and new in kwargs:
                    raise Error(f"{old} is the old name of {new}: give one of them")
                warn(f"{old} is now called {new}" if new else f"{old} does nothing")
                value = kwargs.pop(old)
                if new:
                    kwargs[new] = value
            try:
                signature.bind(*args, **kwargs)
            except TypeError as problem:
                known = [name for name in signature.parameters if name != "self"]
                raise ArgumentError(_refusal(called, known, list(kwargs), problem)) from None
            return function(*args, **kwargs)

        return wrapper

    return decorate


def _refusal(called: str, known: list[str], given: list[str], problem: TypeError) -> str:
    unknown = [name for name in given if name not in known]
    if not unknown:
        return f"{called}: {problem}; it takes {', '.join(known)}"
    near = difflib.get_close_matches(unknown[0], known, 1)
    remedy = f"did you mean {near[0]}?" if near else f"it takes {', '.join(known)}"
    return f"{called} takes no {unknown[0]}; {remedy}"
