"""An abstraction in use: the cells as they are cut at the moment, how long actions are held, and
the steps recorded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _ide3al
from .._ide3al import Error
from ..types import Floats, Integers
from .abstraction import Abstraction, choices
from .bounds import BoundsMonitor
from .features import MAX_FEATURES, Extractor, Features
from .grid import TERMINAL_CELL, Cells, Centres, Grid, cell_centres, load_cells
from .history import TERMINAL, TRUNCATED, JointHistory, TransitionHistory
from .holding import measured_repeat
from .ranges import declared_bounds, range_of
from .recounting import recount
from .resolution import PER_NUMBER, PER_PAIR, coarse_cells, in_all, per_number
from .tree import Moves, Tree, refined
from .values import Values, are_values

#: Cells are cut anew at the earliest when there are this many times the steps.
GROWTH = 1.5
#: Share of a range by which what is seen must exceed it before cells are cut anew.
BEYOND = 0.05
_LARGEST = float(np.finfo(np.float32).max)


class AdaptivePartition:
    """Numbers vectors by their cells, as they are met: ``number``, ``find``; ``repartition`` cuts
    anew from what is recorded."""

    def __init__(self, abstraction: Abstraction, observations: Any, actions: Any) -> None:
        self.abstraction = abstraction
        self.features = Features(observations, abstraction.features, abstraction.angles)
        self.actions = choices(actions, abstraction)
        self.cells: Cells | None = None
        self.repeat = abstraction.repeat or 1
        #: Places of the numbers that cells are cut from.
        self.used: Integers = np.zeros(0, dtype=np.int64)
        self.steps = 0
        self.history: TransitionHistory | JointHistory | None = None
        self._numbers: dict[int, int] = {}
        self._cut_at = self._laid_at = 0
        self._bounds = np.zeros(0), np.zeros(0)
        self.monitor = BoundsMonitor()
        # of the cells met, for what lies in none of them
        self._centres: Floats | None = None

    def check(self, env: Any) -> None:
        """Refuses an environment unlike the one that cells were cut in."""
        observations, action_space = (
            getattr(env, f"single_{kind}_space", getattr(env, f"{kind}_space"))
            for kind in ("observation", "action")
        )
        other = Features(observations, self.abstraction.features, self.abstraction.angles)
        size = self.features.size if self.abstraction.features is not None else other.size
        actions = choices(action_space, self.abstraction)
        if (size, actions.size) != (self.features.size, self.actions.size):
            raise Error(
                f"this agent knows observations of {self.features.size} numbers and "
                f"{self.actions.size} actions; the environment has {size} and {actions.size}"
            )

    # vectors and their numbers

    def vector(self, observation: Any) -> Floats:
        """The numbers of an observation as they are recorded."""
        vector = self.features.vector(observation)
        if self.abstraction.low is None and self.abstraction.high is None:
            self.monitor.watch(vector, self.features.low, self.features.high)
        # what lies beyond all numbers of 32 bits is beyond any cell
        return np.clip(vector, -_LARGEST, _LARGEST).astype(np.float32).astype(np.float64)

    def _keys(self, vectors: Floats, ended: Any) -> Integers:
        return np.where(ended, TERMINAL_CELL, self._laid().keys(vectors[:, self.used]))

    def number(self, vector: Floats, ended: bool = False) -> int:
        """The number of a vector's cell, a new one if it was never met."""
        key = int(self._keys(vector[None, :], ended)[0])
        self._centres = None
        return self._numbers.setdefault(key, len(self._numbers))

    def find(self, vector: Floats, known: int, ended: bool = False) -> int:
        """The number of a vector's cell; of the nearest among the ``known`` first if that was never
        met."""
        found = self._numbers.get(int(self._keys(vector[None, :], ended)[0]), known)
        if found < known:
            return found
        if self._centres is None or len(self._centres) != known:
            self._centres = np.array(self.states[:known])
        unit = (self._centres - vector[self.used]) / self._laid().width
        # an episode that goes on is not where others ended
        return int(np.nanargmin((unit**2).sum(axis=1)))

    @property
    def states(self) -> list[tuple[float, ...]]:
        """The middle of each cell met, by number; not a number where episodes end."""
        return cell_centres(self._laid(), list(self._numbers))

    @property
    def keys(self) -> list[int]:
        """Keys of the cells met, by number."""
        return list(self._numbers)

    def lay(self, episodes: Sequence[Floats]) -> None:
        """Cells for episodes that were recorded elsewhere, with an action chosen in every step."""
        self.repeat = 1
        vectors = np.concatenate(episodes)
        # within an episode every moment but the last has an action, whichever
        actions = np.zeros(len(vectors), dtype=np.int64)
        actions[np.cumsum([len(episode) for episode in episodes]) - 1] = TRUNCATED
        try:
            self.used = self._matter(vectors, actions)
        except Error:
            # nothing changed: one cell holds it all
            self.used = np.arange(self.features.size)
        self.cells = self._cut(vectors[:, self.used], math.inf)

    def cell_keys(self, vectors: Floats) -> Integers:
        """Keys of the cells of vectors."""
        return self._laid().keys(vectors[:, self.used])

    @property
    def names(self) -> list[str]:
        """Of the numbers that cells are cut from."""
        return [self.features.names[k] for k in self.used]

    @property
    def notes(self) -> list[str]:
        """What the cells, actions and repeats leave out, and what lies beyond declared bounds."""
        low, high = self.features.low, self.features.high
        notes = self.monitor.notes(self.features.names, low, high) + list(self.actions.notes)
        whole = self.features.whole[self.used]
        if whole.any() and isinstance(self.cells, Centres):
            merged = [name for name, is_whole in zip(self.names, whole, strict=True) if is_whole]
            notes.append(
                f"{', '.join(merged[:4])}: whole numbers that share {len(self.cells.points)} cells "
                "with the others, so that not every value has its own; give "
                "Abstraction(features=...) with the few numbers that matter"
            )
        notes += coarse_cells(self.abstraction, self.cells, whole)
        left_out = self.features.size - len(self.used)
        if left_out and self.history is not None:
            notes.append(
                f"{left_out} of {self.features.size} numbers never changed within an episode, or "
                "copy others, and are left out of the cells"
            )
        if self.repeat > 1:
            notes.append(
                f"actions are held for {self.repeat} steps, fewer of which lead nowhere else; "
                "Abstraction(repeat=1) chooses anew in every step"
            )
        return notes

    @property
    def box(self) -> tuple[Floats, Floats]:
        """Bounds of these numbers as given or declared, and where they are infinite those of what
        was seen."""
        low, high = (
            np.where(np.isfinite(b), b, seen)
            for b, seen in zip(
                declared_bounds(self.abstraction, self.features, self.used),
                self._bounds,
                strict=True,
            )
        )
        return low, high

    def _laid(self) -> Cells:
        if self.cells is None:
            raise Error("no cells have been cut yet; call fit first")
        return self.cells

    # what is recorded

    def begin(self, vector: Floats) -> None:
        if self.history is None:
            self.history = TransitionHistory(len(vector), self.abstraction.memory)
        if isinstance(self.history, TransitionHistory):
            self.history.begin(vector)

    def step(self, action: int, vector: Floats, end: int, reward: float = 0.0) -> None:
        self.steps += 1
        if isinstance(self.history, TransitionHistory):
            self.history.step(action, vector, end, reward)

    def decisions(self) -> tuple[Integers, Floats, Integers]:
        """What is recorded as decisions between the cells at hand: rows of state, action, next
        state and whether that is terminal; what each earned; and the first states of episodes."""
        assert self.history is not None
        first, last = self.history.decisions(self.repeat)
        actions = self.history.actions
        ended = actions == TERMINAL
        keys = self._keys(self.history.vectors, ended)
        # passed through and never decided in
        state = np.array([self._numbers.get(int(key), -1) for key in keys], dtype=np.int64)
        sums = np.concatenate([[0.0], np.cumsum(np.where(actions >= 0, self.history.rewards, 0.0))])
        earned = sums[last] - sums[first]
        rows = np.stack([state[first], actions[first], state[last], ended[last]], axis=1)
        known = (rows[:, 0] >= 0) & (rows[:, 2] >= 0)
        over = np.flatnonzero(actions < 0)
        begun = np.concatenate([[0], over + 1])
        starts = state[begun[begun < len(actions)]]
        return rows[known].astype(np.int64), earned[known], starts[starts >= 0]

    # cutting

    @property
    def due(self) -> bool:
        """Whether it is time to see if other cells would be better."""
        full = self.history is None or self.history.full
        return not full and self.steps >= GROWTH * self._cut_at

    def repartition(self, agent: _ide3al.Agent, episode_open: bool) -> bool:
        """Cuts anew from what is recorded, and counts again, unless everything would stay as it is.
        ``episode_open``: whether a trajectory is under way."""
        assert self.history is not None
        self._cut_at = self.steps
        vectors, actions = self.history.vectors, self.history.actions
        before, numbers = self.cells, self._numbers
        used_before, repeat_before = self.used, self.repeat
        self.used = self._matter(vectors, actions)
        values, affordable = vectors[:, self.used], self.steps / (PER_PAIR * self.actions.size)
        if self.abstraction.refine:
            self.cells = self._lay(values, before, used_before, affordable)
            self._measure_repeat(vectors, actions, self.cells)
        else:
            # as if every step were a decision: cells that grow with the repeat would make it grow
            self._measure_repeat(vectors, actions, self._cut(values, affordable))
            affordable /= self.repeat
            self.cells = self._lay(values, before, used_before, affordable)
        if self.cells is before and self.repeat == repeat_before:
            return False
        ended = actions == TERMINAL
        keys = self._keys(vectors, ended)
        if before is None:
            old = np.zeros(len(keys), dtype=np.int64)
        else:
            olds = np.where(ended, TERMINAL_CELL, before.keys(vectors[:, used_before]))
            # passed through and never decided in: newer than any policy
            old = np.array([numbers.get(int(key), len(numbers)) for key in olds], dtype=np.int64)
        self._numbers = recount(agent, self.history, self.repeat, keys, old, episode_open)
        self._centres = None
        return True

    def _measure_repeat(self, vectors: Floats, actions: Integers, cells: Cells) -> None:
        if self.abstraction.repeat is None:
            values = vectors[:, self.used]
            keys = np.where(actions == TERMINAL, TERMINAL_CELL, cells.keys(values))
            unit = values / cells.width
            self.repeat = measured_repeat(keys, unit, actions, self.actions.size)

    def _matter(self, vectors: Floats, actions: Integers) -> Integers:
        """Numbers that change while an episode lasts, each once: nothing can be explored along the
        others."""
        if isinstance(self.abstraction.cells, list):
            return np.arange(self.features.size)
        inside = np.flatnonzero(actions[:-1] >= 0)
        changes = (vectors[inside + 1] != vectors[inside]).any(axis=0)
        # equal columns have equal bytes: one pass, however many numbers there are
        first = {vectors[:, k].tobytes(): k for k in np.flatnonzero(changes).tolist()[::-1]}
        used = sorted(first.values())
        if not used:
            raise Error(
                f"nothing in the observations changed within {len(actions)} steps: there is "
                "nothing to explore; give Abstraction(features=...) with numbers that do"
            )
        return np.array(used, dtype=np.int64)

    def _lay(
        self, vectors: Floats, before: Cells | None, used_before: Integers, affordable: float
    ) -> Cells:
        """Cells for what was seen; those from before if they still do."""
        chosen = self.abstraction
        found = self._cut(vectors, affordable)
        if isinstance(found, Values):
            if isinstance(before, Values) and before.dimension == len(self.used):
                return before
            self._bounds = vectors.min(axis=0), vectors.max(axis=0)
            return found
        low, high = range_of(vectors, chosen, self.features, self.used, self.monitor)
        grown = before is None or not np.array_equal(self.used, used_before)
        grown = grown or isinstance(before, Values)
        if not grown:
            low_before, high_before = self._bounds
            beyond = np.maximum(low_before - low, high - high_before)
            grown = bool((beyond > BEYOND * (high_before - low_before)).any())
        if before is not None and not grown:
            if isinstance(found, Tree):
                again = self._cut(vectors, affordable, self._bounds)
                return before if isinstance(again, Tree) and again.same(before) else again
            if self.steps < 2 * self._laid_at:
                return before
            if isinstance(found, Grid) and isinstance(before, Grid):
                if np.array_equal(found.counts, before.counts):
                    return before
        self._bounds, self._laid_at = (low, high), self.steps
        return found

    def _cut(
        self, vectors: Floats, affordable: float, bounds: tuple[Floats, Floats] | None = None
    ) -> Cells:
        """Cells for what was seen, no more than are affordable unless their number is given."""
        chosen, whole = self.abstraction, self.features.whole[self.used]
        if self._by_value and are_values(vectors):
            return Values(vectors, len(self.used))
        low, high = bounds or range_of(vectors, chosen, self.features, self.used, self.monitor)
        if chosen.refine:
            return self._refine(vectors, low, high, whole)
        kind = chosen.kind or ("grid" if len(self.used) in PER_NUMBER else "k-means")
        if kind == "k-means":
            scale = np.where(whole, 0.25, np.maximum(high - low, 1e-9))
            return Centres.among(vectors, scale, in_all(chosen, len(self.used), affordable))
        if isinstance(chosen.cells, list):
            if len(chosen.cells) != self.features.size:
                raise Error(
                    f"cells: {len(chosen.cells)} numbers for {self.features.size} per "
                    "observation; one each is needed"
                )
            counts = np.array(chosen.cells)
        else:
            counts = np.full(len(self.used), per_number(chosen, len(self.used), affordable))
        if chosen.cells is None:
            counts = np.where(whole, high - low + 1, counts).astype(np.int64)
            low, high = np.where(whole, low - 0.5, low), np.where(whole, high + 0.5, high)
        return Grid(low, high, counts)

    @property
    def _by_value(self) -> bool:
        """Whether cells are left to be chosen, and may be the values themselves."""
        chosen = self.abstraction
        return (
            chosen.cells is None
            and chosen.kind is None
            and not chosen.refine
            and len(self.used) <= MAX_FEATURES
        )

    def _refine(self, vectors: Floats, low: Floats, high: Floats, whole: Any) -> Tree:
        """Cells that are finer where one of them would hide what happens."""
        assert self.history is not None
        first, last = self.history.decisions(self.repeat)
        low, high = np.where(whole, low - 0.5, low), np.where(whole, high + 0.5, high)
        moves = Moves(first, self.history.actions[first], last)
        return refined(vectors, low, high, whole, in_all(self.abstraction, len(self.used)), moves)

    def save(self) -> dict[str, Any]:
        return {
            "abstraction": self.abstraction.save(),
            "features": self.abstraction.features is not None,
            "cells": self._laid().save(),
            "repeat": self.repeat,
            "used": self.used.tolist(),
            "size": self.features.size,
            "steps": self.steps,
            "cut_at": self._cut_at,
            "laid_at": self._laid_at,
            "bounds": [bound.tolist() for bound in self._bounds],
            "keys": list(self._numbers),
            "full": self.history is not None and self.history.full,
            "bounds_seen": self.monitor.save(),
        }

    @classmethod
    def load(
        cls, document: dict[str, Any], observations: Any, actions: Any, features: Extractor | None
    ) -> AdaptivePartition:
        """What :meth:`save` gave, for spaces like those it was made for; without its steps."""
        if document["features"] and features is None:
            raise Error(
                "this agent was made with features=..., which no file can hold; give the function "
                "to load again"
            )
        if features is not None and not document["features"]:
            raise Error("features: this agent was made without any")
        cut = cls(Abstraction(**document["abstraction"], features=features), observations, actions)
        if features is None and cut.features.size != document["size"]:
            raise Error(
                f"this agent knows observations of {document['size']} numbers; the environment's "
                f"have {cut.features.size}"
            )
        cut._restore(document, load_cells(document["cells"]))
        return cut

    def _restore(self, document: dict[str, Any], cells: Cells) -> None:
        """Takes back what :meth:`save` gave, but for the recorded steps."""
        self.cells = cells
        self.repeat, self.steps = int(document["repeat"]), int(document["steps"])
        self.used = np.array(document["used"], dtype=np.int64)
        self._cut_at, self._laid_at = int(document["cut_at"]), int(document["laid_at"])
        low, high = document["bounds"]
        self._bounds = np.array(low), np.array(high)
        self._numbers = {int(key): k for k, key in enumerate(document["keys"])}
        self.monitor = BoundsMonitor.load(document.get("bounds_seen", {"seen": 0, "beyond": []}))
