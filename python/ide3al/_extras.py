"""Optional packages."""

import importlib
from typing import Any

from ._ide3al import Error


class MissingExtra(Error, ImportError):
    """An optional package is not installed; the message names the installation that mends it."""


def need(module: str, extra: str) -> Any:
    """The module, or an error that names the installation that mends it."""
    try:
        return importlib.import_module(module)
    except ImportError as problem:
        if problem.name is not None and problem.name.split(".")[0] != module.split(".")[0]:
            # it is there, and something that it needs itself is not: its own message says what
            raise
        raise MissingExtra(
            f'{module} is not installed; install it with: pip install "ide3al[{extra}]"'
        ) from problem
