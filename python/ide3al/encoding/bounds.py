"""Numbers beyond their declared bounds: counted, said once, and never the end of a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..types import Floats

#: Share of the observations beyond bounds from which on these are not believed any more.
OFTEN = 0.01


class BoundsMonitor:
    """Counts observations that lie beyond the bounds of their space, number by number."""

    def __init__(self) -> None:
        self.seen = 0
        self._beyond: dict[int, list[float]] = {}

    def watch(self, vector: Floats, low: Floats, high: Floats) -> None:
        """Looks at an observation."""
        self.seen += 1
        # comparing is many times quicker than measuring by how much
        if (vector >= low).all() and (vector <= high).all():
            return
        slack = 1e-3 * (1.0 + np.minimum(np.abs(vector), 1e300))
        for k in np.flatnonzero((vector < low - slack) | (vector > high + slack)).tolist():
            value = float(vector[k])
            times, least, largest = self._beyond.get(k, (0, value, value))
            self._beyond[k] = [times + 1, min(least, value), max(largest, value)]

    def often(self, size: int) -> Any:
        """Numbers that are beyond so often that their bounds mean nothing, (size,)."""
        found = np.zeros(size, dtype=np.bool_)
        for k, (times, _, _) in self._beyond.items():
            found[k] = times > OFTEN * self.seen
        return found

    def notes(self, names: list[str], low: Floats, high: Floats) -> list[str]:
        """One note for all of them."""
        if not self._beyond:
            return []
        k = max(self._beyond, key=lambda j: self._beyond[j][0])
        times, least, largest = self._beyond[k]
        more = f", and {len(self._beyond) - 1} numbers more" if len(self._beyond) > 1 else ""
        return [
            f"observations lie beyond their declared bounds: {names[k]}, declared "
            f"[{low[k]:g}, {high[k]:g}], ranged over [{least:g}, {largest:g}] in {int(times)} of "
            f"{self.seen} steps{more}; they belong to the outermost cells. Correct the "
            "environment's observation_space, or give Abstraction(low=..., high=...)"
        ]

    def save(self) -> dict[str, Any]:
        return {"seen": self.seen, "beyond": [[k, *v] for k, v in self._beyond.items()]}

    @classmethod
    def load(cls, document: dict[str, Any]) -> BoundsMonitor:
        monitor = cls()
        monitor.seen = int(document["seen"])
        monitor._beyond = {int(k): [float(x) for x in rest] for k, *rest in document["beyond"]}
        return monitor
