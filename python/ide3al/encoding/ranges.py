"""The range of each number that cells are cut from: as given, as declared, or as seen."""

from __future__ import annotations

import numpy as np

from .._ide3al import Error
from ..types import Floats, Integers
from .abstraction import Abstraction
from .bounds import BoundsMonitor
from .features import Features


def given_bounds(abstraction: Abstraction, features: Features, used: Integers) -> list[Floats]:
    """Bounds of the numbers in use as the abstraction gives them, else infinite."""
    bounds = []
    for name, given, none in (
        ("low", abstraction.low, -np.inf),
        ("high", abstraction.high, np.inf),
    ):
        if given is not None and given.size not in (1, features.size):
            raise Error(
                f"{name}: {given.size} numbers for {features.size} per observation; "
                "one each is needed"
            )
        whole = np.full(features.size, none if given is None else given)
        bounds.append(whole[used])
    return bounds


def declared_bounds(abstraction: Abstraction, features: Features, used: Integers) -> list[Floats]:
    """Bounds of the numbers in use as given, else as their space declares them, else infinite."""
    of_space = features.low[used], features.high[used]
    return [
        np.where(np.isfinite(t), t, d)
        for t, d in zip(given_bounds(abstraction, features, used), of_space, strict=True)
    ]


def range_of(
    vectors: Floats,
    abstraction: Abstraction,
    features: Features,
    used: Integers,
    monitor: BoundsMonitor,
) -> tuple[Floats, Floats]:
    """Bounds as given; else what was seen so far or, on demand, what is declared; all values of
    what has few, and whole turns of angles."""
    seen = vectors.min(axis=0), vectors.max(axis=0)
    declared = abstraction.bounds == "declared"
    often = monitor.often(features.size)[used]
    given = given_bounds(abstraction, features, used)
    boxes = declared_bounds(abstraction, features, used)
    found = []
    for bound, box, extreme in zip(given, boxes, seen, strict=True):
        believed = np.isfinite(box) & ~often & (declared | features.fixed[used])
        found.append(np.where(np.isfinite(bound) | believed, box, extreme))
    low, high = found
    if (high < low).any():
        k = int(np.argmax(high < low))
        raise Error(
            f"low = {low[k]:g} exceeds high = {high[k]:g} ({features.names[used[k]]}): "
            "nothing lies between"
        )
    same = high == low
    return np.where(same, low - 0.5, low), np.where(same, high + 0.5, high)
