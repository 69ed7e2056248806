"""Which states an episode can come to, as far as the steps taken so far tell."""

from __future__ import annotations

import numpy as np

from ..datasets.episode import Episode
from ..types import Floats

#: Most episodes whose starts are looked at, evenly spread over all of them.
_STARTS = 64


class ReachabilityGraph:
    """Steps seen between states, whatever their probability, and where episodes started."""

    def __init__(self) -> None:
        self._from: dict[int, set[int]] = {}
        self._starts: list[int] = []

    def add(self, episode: Episode) -> None:
        self._starts.append(int(episode.states[0]))
        for before, after in set(
            zip(episode.states[:-1].tolist(), episode.states[1:].tolist(), strict=True)
        ):
            if before != after:
                self._from.setdefault(before, set()).add(after)

    def reachable_shares(self, n_states: int) -> Floats:
        """Share of the episodes that could have come to each state: those from whose start steps
        lead there."""
        indices = np.unique(
            np.linspace(0, len(self._starts) - 1, _STARTS).astype(np.int64)
        ).tolist()
        reached = [0] * n_states
        # one bit per start, handed on along the steps until nothing changes
        changed: dict[int, None] = {}
        for bit, index in enumerate(indices):
            start = self._starts[index]
            reached[start] |= 1 << bit
            changed[start] = None
        while changed:
            before, _ = changed.popitem()
            bits = reached[before]
            for after in self._from.get(before, ()):
                if reached[after] | bits != reached[after]:
                    reached[after] |= bits
                    changed[after] = None
        return np.array([bits.bit_count() for bits in reached]) / len(indices)
