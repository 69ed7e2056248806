"""Cells that are cut finer where one cell hides different dynamics."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..types import Floats, Integers

#: Share of the cells that are laid evenly, before any is split for what happens in it.
EVEN = 0.75
#: Most halvings by which a cell is split further than the finest of the even ones.
FINER = 1
#: Fewest transitions in each half of a cell that is split.
SAMPLES = 12


class Tree:
    """A box halved again and again, each part along a number of its own: ``keys(vectors)``. What
    lies beyond the box belongs to its outermost cells. ``parts`` are rows of (axis, threshold,
    left, right), leaves those with axis -1; a cell's key is its row."""

    kind = "tree"

    def __init__(self, low: Any, high: Any, axes: Any, thresholds: Any, left: Any) -> None:
        self.low, self.high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        self.axes, self.left = np.asarray(axes, dtype=np.int64), np.asarray(left, dtype=np.int64)
        self.thresholds = np.asarray(thresholds, dtype=np.float64)
        # one vector at a time is looked up in plain lists, which is many times quicker
        self._quick = self.axes.tolist(), self.thresholds.tolist(), self.left.tolist()
        lows, highs = (
            np.empty((len(self.axes), len(self.low))),
            np.empty((len(self.axes), len(self.low))),
        )
        lows[0], highs[0] = self.low, self.high
        # a part stands before its halves
        for k in np.flatnonzero(self.axes >= 0).tolist():
            axis, first = self.axes[k], self.left[k]
            lows[first : first + 2], highs[first : first + 2] = lows[k], highs[k]
            highs[first, axis] = lows[first + 1, axis] = self.thresholds[k]
        self.lows, self.highs = lows, highs

    def keys(self, vectors: Floats) -> Integers:
        """A number for each vector's cell, (N,)."""
        if len(vectors) == 1:
            axes, thresholds, left = self._quick
            vector, k = vectors[0].tolist(), 0
            while (axis := axes[k]) >= 0:
                k = left[k] + (vector[axis] >= thresholds[k])
            return np.array([k])
        at = np.zeros(len(vectors), dtype=np.int64)
        inner = np.arange(len(vectors))
        while len(inner := inner[self.axes[at[inner]] >= 0]):
            here = at[inner]
            at[inner] = self.left[here] + (vectors[inner, self.axes[here]] >= self.thresholds[here])
        return at

    def centres(self, keys: Integers) -> Floats:
        """The middle of each cell, (N, D)."""
        middle: Floats = 0.5 * (self.lows[keys] + self.highs[keys])
        return middle

    @property
    def width(self) -> Floats:
        """How wide a cell is along each number, in the geometric mean over all cells."""
        leaves = self.axes < 0
        wide: Floats = np.exp(np.log(self.highs[leaves] - self.lows[leaves]).mean(axis=0))
        return wide

    def same(self, other: Any) -> bool:
        """Whether the cells are those of another tree."""
        return (
            isinstance(other, Tree)
            and np.array_equal(self.axes, other.axes)
            and np.array_equal(self.thresholds, other.thresholds)
            and np.array_equal(self.left, other.left)
        )

    def save(self) -> dict[str, Any]:
        arrays = {
            "low": self.low,
            "high": self.high,
            "axes": self.axes,
            "thresholds": self.thresholds,
            "left": self.left,
        }
        return {"kind": self.kind, **{name: array.tolist() for name, array in arrays.items()}}

    @classmethod
    def load(cls, document: dict[str, Any]) -> Tree:
        return cls(*(document[name] for name in ("low", "high", "axes", "thresholds", "left")))


@dataclass(frozen=True)
class Moves:
    """Recorded decisions: the moment each was made, the action, and the moment it led to."""

    first: Integers
    actions: Integers
    last: Integers


class _Growing:
    """A tree while it is made, with what each of its parts holds."""

    def __init__(self, low: Floats, high: Floats, whole: Any) -> None:
        self.low, self.high = low, high
        # all that is whole is told apart before anything else, and never cut within one value
        self.whole = whole
        self.axes, self.thresholds, self.left = [-1], [0.0], [-1]
        self.lows, self.highs, self.depth = [low], [high], [0]

    def widest(self, k: int) -> int:
        """The number that a part is widest along, as a share of the whole box."""
        share = (self.highs[k] - self.lows[k]) / (self.high - self.low)
        values = self.highs[k] - self.lows[k]
        return int(
            np.argmax(np.where(self.whole, np.where(values > 1.5, 1.0 + values, 0.0), share))
        )

    def threshold(self, k: int, axis: int) -> float | None:
        """Where to halve a part; None where that would cut through a single value."""
        middle = 0.5 * (self.lows[k][axis] + self.highs[k][axis])
        if not self.whole[axis]:
            return float(middle)
        middle = np.floor(middle) + 0.5
        return float(middle) if self.lows[k][axis] < middle < self.highs[k][axis] else None

    def split(self, k: int, axis: int, threshold: float) -> int:
        """Halves a part; returns its first half, which the second follows."""
        first = len(self.axes)
        self.axes[k], self.thresholds[k], self.left[k] = axis, threshold, first
        for half in range(2):
            low, high = self.lows[k].copy(), self.highs[k].copy()
            (low if half else high)[axis] = threshold
            self.lows.append(low)
            self.highs.append(high)
            self.depth.append(self.depth[k] + 1)
        self.axes += [-1, -1]
        self.thresholds += [0.0, 0.0]
        self.left += [-1, -1]
        return first

    def tree(self) -> Tree:
        return Tree(self.low, self.high, self.axes, self.thresholds, self.left)


def refined(
    vectors: Floats, low: Floats, high: Floats, whole: Any, count: int, moves: Moves
) -> Tree:
    """At most ``count`` cells that hold any of the vectors, from nothing but what is recorded: a
    split that later steps no longer bear out is thereby undone.

    Three in four cells are laid evenly: the largest part that holds anything is halved along the
    number it is widest along. The others are spent where the halves of a cell lead elsewhere: a
    cell with n decisions, split, explains where they led better by

        sum over actions and halves h of  n_h D(q_h || q),

    with q the successors of the whole cell, among the even cells, and q_h those of a half: the gain
    in log-likelihood. The cell and number with the greatest gain come first, as long as the gain
    exceeds what chance would bring (Schwarz: a half logarithm of the decisions for every
    probability more)."""
    growing = _Growing(low, high, whole)
    holds = {0: np.arange(len(vectors))}
    largest = [(0.0, 0)]
    while largest and len(holds) < max(1, int(EVEN * count)):
        volume, k = heapq.heappop(largest)
        axis = growing.widest(k)
        threshold = growing.threshold(k, axis)
        if threshold is None:
            continue
        _halve(growing, holds, vectors, k, axis, threshold)
        for half in (growing.left[k], growing.left[k] + 1):
            if half in holds:
                heapq.heappush(largest, (volume + 1.0, half))
    even = growing.tree()
    deepest = max(growing.depth) + FINER
    # from here on parts hold decisions, not moments
    begins = vectors[moves.first]
    pairs = moves.actions * len(even.axes) + even.keys(vectors[moves.last])
    owner = even.keys(begins)
    order = np.argsort(owner, kind="stable")
    bounds = np.searchsorted(owner[order], np.arange(len(even.axes) + 1))
    decisions = {k: order[bounds[k] : bounds[k + 1]] for k in holds}
    best: list[tuple[float, int, int, float]] = []

    def consider(k: int) -> None:
        if growing.depth[k] < deepest:
            found = _best(
                growing, k, begins[decisions[k]], pairs[decisions[k]], moves.actions[decisions[k]]
            )
            if found is not None:
                heapq.heappush(best, (-found[0], k, found[1], found[2]))

    for k in list(decisions):
        consider(k)
    cells = len(holds)
    while best and cells < count:
        _, k, axis, threshold = heapq.heappop(best)
        first, inside = growing.split(k, axis, threshold), decisions.pop(k)
        above = begins[inside, axis] >= threshold
        decisions[first], decisions[first + 1] = inside[~above], inside[above]
        cells += 1
        consider(first)
        consider(first + 1)
    return growing.tree()


def _halve(
    growing: _Growing,
    holds: dict[int, Integers],
    vectors: Floats,
    k: int,
    axis: int,
    threshold: float,
) -> None:
    inside = holds.pop(k)
    first = growing.split(k, axis, threshold)
    above = vectors[inside, axis] >= threshold
    for half, part in ((first, inside[~above]), (first + 1, inside[above])):
        if len(part):
            holds[half] = part


def _best(
    growing: _Growing, k: int, begins: Floats, pairs: Integers, actions: Integers
) -> tuple[float, int, float] | None:
    """The number along which halving a part explains most, if any is worth it: gain, number,
    threshold."""
    if len(begins) < 2 * SAMPLES:
        return None
    distinct, pair, times = np.unique(pairs, return_inverse=True, return_counts=True)
    acted = np.bincount(actions)
    whole = _likelihood(times) - _likelihood(acted)
    # the choice of a number to halve along counts as one more
    penalty = 0.5 * (len(distinct) - np.count_nonzero(acted) + 1) * np.log(len(begins))
    found = None
    for axis in range(begins.shape[1]):
        threshold = growing.threshold(k, axis)
        if threshold is None:
            continue
        above = begins[:, axis] >= threshold
        upper = np.count_nonzero(above)
        if min(upper, len(above) - upper) < SAMPLES:
            continue
        over, acted_over = (
            np.bincount(pair[above], minlength=len(distinct)),
            np.bincount(actions[above], minlength=len(acted)),
        )
        halves = (
            _likelihood(over)
            + _likelihood(times - over)
            - _likelihood(acted_over)
            - _likelihood(acted - acted_over)
        )
        gain = halves - whole - penalty
        if gain > 0 and (found is None or gain > found[0]):
            found = gain, axis, threshold
    return found


def _likelihood(times: Integers) -> float:
    """Sum of n ln n."""
    seen = times[times > 1].astype(np.float64)
    return float((seen * np.log(seen)).sum())
