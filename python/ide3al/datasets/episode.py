"""One episode, and episodes as the rows that a learner records."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np

from .._equality import fields_equal
from ..encoding.masks import Mask
from ..encoding.raw import RawEpisode
from ..types import Floats, Integers


@dataclass(frozen=True, eq=False)
class Episode:
    """States and actions by number; one state more than actions."""

    states: Integers
    actions: Integers
    rewards: Floats
    #: Whether it ended in a terminal state, and whether it was truncated.
    terminated: bool
    truncated: bool
    #: Number of the plan it followed.
    plan: int = 0
    #: What was met for the first time in this episode, where states are numbered as they are met,
    # in order.
    found: tuple[Hashable, ...] = ()
    #: What the environment really gave and was given, where states are cells.
    raw: RawEpisode | None = None
    #: Which actions were allowed in each of the states, where the environment masks any.
    allowed: Mask | None = None

    def __eq__(self, other: object) -> bool:
        return fields_equal(self, other)

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return int(self.actions.size)

    def truncate(self, steps: int) -> Episode:
        """The first steps of it."""
        if steps >= len(self):
            return self
        return Episode(
            self.states[: steps + 1],
            self.actions[:steps],
            self.rewards[:steps],
            False,
            True,
            self.plan,
            self.found,
            None if self.raw is None else self.raw.truncate(steps),
            None if self.allowed is None else self.allowed[: steps + 1],
        )


class TransitionFlattener:
    """Episodes as an agent remembers them: rows of state, action, next state and how the step ended
    (0 goes on, 1 in a terminal state, 2 cut short, 3 left a terminal state for a start), and
    where episodes began.

    Leaving a terminal state is a step of the model, whatever the action: the actions take turns."""

    def __init__(self, n_actions: int) -> None:
        self._n_actions = n_actions
        self._turn = 0
        self._terminal_state: int | None = None

    def flatten(self, episodes: Iterable[Episode]) -> tuple[Integers, Integers]:
        rows, starts = [np.zeros((0, 4), dtype=np.int64)], []
        for episode in episodes:
            start = int(episode.states[0])
            starts.append(start)
            if self._terminal_state is not None:
                rows.append(
                    np.array(
                        [[self._terminal_state, self._turn % self._n_actions, start, 3]],
                        dtype=np.int64,
                    )
                )
                self._turn += 1
            steps = np.zeros((len(episode), 4), dtype=np.int64)
            steps[:, 0], steps[:, 1], steps[:, 2] = (
                episode.states[:-1],
                episode.actions,
                episode.states[1:],
            )
            steps[-1:, 3] = 1 if episode.terminated else 2
            rows.append(steps)
            self._terminal_state = int(episode.states[-1]) if episode.terminated else None
        return np.concatenate(rows), np.array(starts, dtype=np.int64)
