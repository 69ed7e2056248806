"""Optional packages."""

import importlib
from typing import Any

from ._ide3al import Error


def need(module: str, extra: str) -> Any:
    """The module, or an error that names the installation that mends it."""
    try:
        return importlib.import_module(module)
    except ImportError as problem:
        raise Error(
            f'{module} is not installed; install it with: pip install "ide3al[{extra}]"'
        ) from problem
