"""Observations that are real numbers by their type and whole ones in truth: one-hot vectors, places
on a grid, flags. Every vector that is met is a cell of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..types import Floats, Integers

#: Fewest moments per distinct vector for which vectors are states: of real states many are met
#: again, of counters and clocks hardly any.
AGAIN = 2.0
#: Powers of an odd number, as whole numbers that wrap around: one for each of most numbers.
MIXERS = np.cumprod(np.full(1024, 0x9E3779B97F4A7C15, dtype=np.uint64), dtype=np.uint64).view(
    np.int64
)


def are_values(vectors: Floats) -> bool:
    """Whether vectors are whole numbers, and few enough to be told apart."""
    if np.abs(vectors).max(initial=0.0) > 2**31 or (vectors != np.rint(vectors)).any():
        return False
    return len(vectors) >= AGAIN * len(np.unique(vectors, axis=0))


class Values:
    """A cell for every vector of whole numbers: ``keys(vectors)``."""

    kind = "values"

    def __init__(self, points: npt.ArrayLike, dimension: int) -> None:
        self.dimension = int(dimension)
        self._points: dict[int, tuple[float, ...]] = {}
        known = np.asarray(points, dtype=np.float64).reshape(-1, self.dimension)
        if len(known):
            self.keys(known)

    def keys(self, vectors: Floats) -> Integers:
        """A number for each vector, the same wherever it is met, (N,)."""
        rounded = np.rint(vectors)
        # 62 bits: two of a million vectors share a number in one of ten million runs
        mixed = (rounded.astype(np.int64) @ MIXERS[: self.dimension]) & (2**62 - 1)
        if len(mixed) == 1:
            key = int(mixed[0])
            if key not in self._points:
                self._points[key] = tuple(rounded[0].tolist())
            return mixed
        for key, at in zip(*(a.tolist() for a in np.unique(mixed, return_index=True)), strict=True):
            if key not in self._points:
                self._points[key] = tuple(rounded[at].tolist())
        return mixed

    def centres(self, keys: Integers) -> Floats:
        """The vectors, (N, D)."""
        nowhere = (np.nan,) * self.dimension
        found = [self._points.get(int(key), nowhere) for key in keys]
        return np.array(found, dtype=np.float64).reshape(-1, self.dimension)

    @property
    def width(self) -> Floats:
        """How far apart cells are along each number."""
        return np.ones(self.dimension)

    def save(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "points": list(self._points.values()),
            "dimension": self.dimension,
        }

    @classmethod
    def load(cls, document: dict[str, Any]) -> Values:
        return cls(document["points"], document["dimension"])
