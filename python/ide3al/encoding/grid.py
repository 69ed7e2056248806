"""Cells of a continuous space: which of them holds a vector."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._ide3al import Error
from ..types import Floats, Integers
from .tree import Tree
from .values import MIXERS, Values

#: The one cell of all observations that ended an episode: nothing can be done there, wherever it
#: is, and nothing is gained by ending episodes in many places.
TERMINAL_CELL = -1


class Grid:
    """A box cut into equally many equal parts along each number: ``keys(vectors)``. What lies
    beyond the box belongs to its outermost cells."""

    kind = "grid"

    def __init__(self, low: npt.ArrayLike, high: npt.ArrayLike, counts: npt.ArrayLike) -> None:
        self.low = np.asarray(low, dtype=np.float64)
        self.high = np.asarray(high, dtype=np.float64)
        self.counts = np.asarray(counts, dtype=np.int64)
        self._last = self.counts - 1
        if math.prod(self.counts.tolist()) >= 2**62:
            raise Error(
                f"a grid of {' x '.join(map(str, self.counts.tolist()))} cells has too many to be numbered; give "
                'fewer, or Abstraction(kind="k-means")'
            )
        self._scale = self.counts / np.maximum(self.high - self.low, 1e-300)
        # the last number counts fastest
        self._weights = np.cumprod(np.concatenate([[1], self.counts[:0:-1]]))[::-1].copy()

    def places(self, vectors: Floats) -> Integers:
        """Place along each number, (N, D)."""
        at = np.floor((vectors - self.low) * self._scale)
        return np.clip(at, 0, self._last).astype(np.int64)

    def keys(self, vectors: Floats) -> Integers:
        """A number for each vector's cell, (N,)."""
        found: Integers = self.places(vectors) @ self._weights
        return found

    def centres(self, keys: Integers) -> Floats:
        """The middle of each cell, (N, D)."""
        places = np.asarray(keys)[:, None] // self._weights % self.counts
        return self.low + (places + 0.5) / self._scale

    @property
    def width(self) -> Floats:
        """How wide a cell is along each number."""
        return 1.0 / self._scale

    def save(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "counts": self.counts.tolist(),
        }

    @classmethod
    def load(cls, document: dict[str, Any]) -> Grid:
        return cls(document["low"], document["high"], document["counts"])


class Centres:
    """Cells around centres: each vector belongs to the centre nearest to it, distances measured in
    units of ``scale``.

    The centres come from k-means on what was seen, thinned so that a place visited often counts no
    more than one visited once: cells are then about equally large wherever anything was seen, on
    whatever curve or surface that lies."""

    kind = "k-means"

    def __init__(self, points: npt.ArrayLike, scale: npt.ArrayLike) -> None:
        self.scale = np.asarray(scale, dtype=np.float64)
        self.points = np.asarray(points, dtype=np.float64)
        self._unit = self.points / self.scale
        self._half = 0.5 * (self._unit**2).sum(axis=1)

    def keys(self, vectors: Floats) -> Integers:
        """Number of the centre nearest to each vector, (N,)."""
        return _nearest(vectors / self.scale, self._unit, self._half)

    def centres(self, keys: Integers) -> Floats:
        return self.points[keys]

    @property
    def width(self) -> Floats:
        """How wide a cell is along each number: as far as centres commonly are from the nearest
        other."""
        gaps = 2 * (self._half[:, None] + self._half - self._unit @ self._unit.T)
        np.fill_diagonal(gaps, np.inf)
        gap = np.sqrt(np.maximum(np.median(gaps.min(axis=1)), 1e-18)) if len(gaps) > 1 else 1.0
        return self.scale * float(gap)

    @classmethod
    def among(cls, vectors: Floats, scale: Floats, count: int, rounds: int = 5) -> Centres:
        """At most ``count`` centres among vectors, by k-means (Lloyd) from farthest points."""
        unit = thinned(np.asarray(vectors) / scale, 16 * count)
        chosen = _farthest(unit, count)
        centres = unit[chosen]
        for _ in range(rounds):
            owner = _nearest(unit, centres, 0.5 * (centres**2).sum(axis=1))
            size = np.bincount(owner, minlength=len(centres))
            for column in range(unit.shape[1]):
                sums = np.bincount(owner, weights=unit[:, column], minlength=len(centres))
                centres[:, column] = np.where(
                    size > 0, sums / np.maximum(size, 1), centres[:, column]
                )
        return cls(centres * scale, scale)

    def save(self) -> dict[str, Any]:
        return {"kind": self.kind, "points": self.points.tolist(), "scale": self.scale.tolist()}

    @classmethod
    def load(cls, document: dict[str, Any]) -> Centres:
        return cls(document["points"], document["scale"])


def _nearest(unit: Floats, centres: Floats, half: Floats) -> Integers:
    """Which centre is nearest, in pieces so that no large table is made."""
    if len(unit) == 1:
        return np.array([(centres @ unit[0] - half).argmax()])
    found = np.empty(len(unit), dtype=np.int64)
    piece = max(1, 2_000_000 // len(centres))
    for first in range(0, len(unit), piece):
        part = unit[first : first + piece]
        found[first : first + piece] = np.argmax(part @ centres.T - half, axis=1)
    return found


def thinned(unit: Floats, max_vectors: int) -> Floats:
    """At most about ``max_vectors`` of the vectors, one per small cube: the finest cubes that are
    few enough."""
    low, spread = unit.min(axis=0), np.maximum(np.ptp(unit, axis=0), 1e-300).max()
    parts, kept = 1, unit[:1]
    while parts < 2**20:
        places = np.floor((unit - low) / spread * parts).astype(np.int64)
        # odd multipliers tell cubes apart by one number; two that meet are one cube, which does no
        # harm here
        mixed = places @ MIXERS[: unit.shape[1]]
        _, first = np.unique(mixed, return_index=True)
        if len(first) > max_vectors and len(kept) > 1:
            break
        kept = unit[np.sort(first)][:max_vectors]
        if len(first) == len(unit):
            break
        parts = max(parts + 1, int(parts * 1.4))
    return kept


def _farthest(unit: Floats, count: int) -> Integers:
    """Points each of which is as far as can be from those before; fewer where points are fewer."""
    chosen = [0]
    distance = ((unit - unit[0]) ** 2).sum(axis=1)
    while len(chosen) < min(count, len(unit)):
        k = int(np.argmax(distance))
        if distance[k] <= 0:
            break
        chosen.append(k)
        distance = np.minimum(distance, ((unit - unit[k]) ** 2).sum(axis=1))
    return np.array(chosen, dtype=np.int64)


Cells = Grid | Centres | Tree | Values


def load_cells(document: dict[str, Any]) -> Cells:
    """What ``save`` wrote."""
    kinds: dict[str, type[Grid] | type[Centres] | type[Tree] | type[Values]] = {
        kind.kind: kind for kind in (Grid, Centres, Tree, Values)
    }
    return kinds[document["kind"]].load(document)


def cell_centres(cells: Cells, keys: Sequence[int]) -> list[tuple[float, ...]]:
    """The middle of each of some cells; not a number for the one of all terminal observations."""
    numbers = np.array(keys, dtype=np.int64)
    terminal = numbers == TERMINAL_CELL
    centres = np.where(terminal[:, None], np.nan, cells.centres(np.where(terminal, 0, numbers)))
    return [tuple(row) for row in centres.tolist()]
