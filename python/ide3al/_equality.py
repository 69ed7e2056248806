"""Equality of records that hold arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import Any

import numpy as np


def fields_equal(first: Any, second: Any, ignored: Collection[str] = ()) -> bool:
    """Whether two records are of one class with equal fields; NaN equals NaN."""
    if type(first) is not type(second):
        return False
    names = (field.name for field in dataclasses.fields(first) if field.name not in ignored)
    return all(_equal(getattr(first, name), getattr(second, name)) for name in names)


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        floats = first.dtype.kind == "f" and second.dtype.kind == "f"
        return np.array_equal(first, second, equal_nan=floats)
    return bool(first == second)
