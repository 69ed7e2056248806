"""What a data set is promised to hold, and how far it does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _ide3al
from .._entropy import entropy
from .._ide3al import Error
from ..encoding.discrete import DiscoveredStates, SpaceIndex
from ..types import Floats, Integers
from .card import NAMED
from .episode import Episode, TransitionFlattener
from .transitions import Transitions


@dataclass(frozen=True)
class Coverage:
    """A promise about data: how often every pair or state occurs, or how even the visits are.

    It speaks of the states that were met and are not terminal; declared states that were never met
    are named on the card. Give one of the first three.

    Parameters
    ----------
    each_pair : int, optional
        Number of samples of every action in every state.
    each_state : int, optional
        Number of visits of every state.
    effective_states : float, optional
        The exponential of the entropy of the visits.
    states : sequence, optional
        States that have to be met besides: without them the promise does not hold.

    Raises
    ------
    Error
        If not exactly one kind is given, or its number is below 1.

    Examples
    --------
    >>> import gymnasium, ide3al
    >>> env = gymnasium.make("FrozenLake-v1")
    >>> data = ide3al.collect(env, ide3al.IDE3AL(), until=ide3al.Coverage(each_pair=3), seed=1)
    >>> data.card["promise"]["holds"]
    True
    """

    each_pair: int | None = None
    each_state: int | None = None
    effective_states: float | None = None
    states: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        kinds = {
            "each_pair": self.each_pair,
            "each_state": self.each_state,
            "effective_states": self.effective_states,
        }
        given = {name: value for name, value in kinds.items() if value is not None}
        if len(given) != 1:
            raise Error(f"Coverage: give one of {', '.join(kinds)}")
        for name, value in given.items():
            if isinstance(value, bool) or not isinstance(value, int | float | np.number):
                raise Error(f"Coverage: {name} = {value!r}: a number from 1 is needed")
            if not (math.isfinite(value) and value >= 1) or (
                name != "effective_states" and value != int(value)
            ):
                raise Error(f"Coverage: {name} = {value}: a number from 1 is needed")
        if self.states is not None and self.effective_states is not None:
            raise Error("Coverage: effective_states speaks of all states; leave out states")

    def to_dict(self) -> dict[str, Any]:
        """Give the promise as JSON has it.

        Returns
        -------
        dict
            What was given.
        """
        named = None if self.states is None else [repr(state) for state in self.states]
        kinds = {
            "each_pair": self.each_pair,
            "each_state": self.each_state,
            "effective_states": self.effective_states,
            "states": named,
        }
        return {name: value for name, value in kinds.items() if value is not None}

    @property
    def text(self) -> str:
        """The promise in words."""
        if self.effective_states is not None:
            return f"{self.effective_states:g} effective states"
        if self.each_pair is not None:
            return f"at least {self.each_pair} samples of every pair"
        return f"at least {self.each_state} visits of every state"


class CoverageTracker:
    """How a promise stands, episode by episode."""

    def __init__(
        self, until: Coverage, states: SpaceIndex | DiscoveredStates, n_actions: int
    ) -> None:
        self.until, self.states, self.n_actions = until, states, n_actions
        size = self.states.size if isinstance(self.states, SpaceIndex) else max(self.states.size, 1)
        self.counts: Integers = np.zeros((size, self.n_actions), dtype=np.int64)
        self._met = np.zeros(size, dtype=np.bool_)
        #: Actions that were allowed in each state at some time, where any are masked.
        self._allowed: npt.NDArray[np.bool_] | None = None
        self._ended = np.zeros(size, dtype=np.bool_)
        self.steps = 0
        self.experience = _ide3al.Experience(size, self.n_actions)
        self._flattener = TransitionFlattener(self.n_actions)
        self._demanded = self._numbers()

    def observe(self, episode: Episode) -> None:
        size = int(episode.states.max()) + 1
        if size > len(self._met):
            more = max(size, 2 * len(self._met)) - len(self._met)
            self.counts = np.concatenate(
                [self.counts, np.zeros((more, self.n_actions), dtype=np.int64)]
            )
            self._met = np.concatenate([self._met, np.zeros(more, dtype=np.bool_)])
            self._ended = np.concatenate([self._ended, np.zeros(more, dtype=np.bool_)])
        np.add.at(self.counts, (episode.states[:-1], episode.actions), 1)
        if episode.allowed is not None:
            before, self._allowed = self._allowed, np.zeros(self.counts.shape, dtype=np.bool_)
            if before is not None:
                self._allowed[: len(before)] = before
            np.logical_or.at(self._allowed, episode.states, episode.allowed)
        self._met[episode.states] = True
        if episode.terminated:
            self._ended[episode.states[-1]] = True
        self.steps += len(episode)
        self.experience.record(*self._flattener.flatten([episode]))

    @property
    def actionable(self) -> npt.NDArray[np.bool_]:
        """States met whose actions can be taken."""
        over: npt.NDArray[np.bool_] = self._ended & (self.counts.sum(axis=1) == 0)
        return np.asarray(self._met & ~over, dtype=np.bool_)

    def shortfall(self) -> Floats:
        """Samples still missing, per pair or per state; none of what was never met."""
        actionable = self.actionable
        if self.until.each_pair is not None:
            wanted = actionable[:, None] & self.possible()
            missing = np.maximum(self.until.each_pair - self.counts, 0) * wanted
        else:
            missing = (
                np.maximum((self.until.each_state or 0) - self.counts.sum(axis=1), 0) * actionable
            )
        return missing.astype(np.float64)

    def possible(self) -> npt.NDArray[np.bool_]:
        """Pairs that can be tried at all, (S, A)."""
        possible = np.ones(self.counts.shape, dtype=np.bool_)
        if self._allowed is not None:
            possible[: len(self._allowed)] = self._allowed
        return possible

    def effective(self) -> float:
        return float(np.exp(entropy(self.counts.sum(axis=1)))) if self.steps else 0.0

    def unmet(self) -> list[Any]:
        """States asked for by name that were not met."""
        return [
            s
            for s, k in zip(self.until.states or (), self._numbers(), strict=True)
            if k is None or not self._met[k]
        ]

    def satisfied(self) -> bool:
        """As far as states were met."""
        if self.steps == 0:
            return False
        if self.until.effective_states is not None:
            return self.effective() >= self.until.effective_states
        return not self.shortfall().any()

    def holds(self) -> bool:
        return self.satisfied() and not self.unmet()

    def progress(self) -> dict[str, Any]:
        if self.until.effective_states is not None:
            return {"effective_states": self.effective()}
        unit = "pairs" if self.until.each_pair is not None else "states"
        return {"short": int((self.shortfall() > 0).sum()), "unit": unit}

    def least(self) -> dict[str, Any] | None:
        """Fewest steps from nothing, in the model that everything taken suggests."""
        if self.until.effective_states is not None or not self.actionable.any():
            return None
        actionable = self.actionable
        n = float(self.until.each_pair or self.until.each_state or 0)
        whole = actionable[:, None] & self.possible() if self.until.each_pair else actionable
        return self.plan(whole.astype(np.float64) * n)[1]

    def plan(self, wanted: Floats) -> tuple[Floats, dict[str, Any]]:
        size = self.experience.n_states
        rows, info = self.experience.plan(wanted[:size].ravel(), self.until.each_state is not None)
        # a step brings one sample at most, whatever became of the solve
        info["least"] = max(info["least"], float(wanted.sum()))
        return rows.reshape(size, self.n_actions), info

    def report(self) -> dict[str, Any]:
        """How the promise stands, for the card."""
        holds, steps = self.holds(), self.steps
        report: dict[str, Any] = {"wanted": self.until.to_dict(), "holds": holds, "steps": steps}
        report["text"] = f"{self.until.text}: {'holds' if holds else 'does not hold'}"
        if self.until.effective_states is not None:
            report["effective_states"] = self.effective()
            return report
        short = self.shortfall()
        indices = np.argwhere(short > 0)
        report["short"] = len(indices)
        report["short_named"] = [
            [*map(int, index), int(short[tuple(index)])] for index in indices[:NAMED].tolist()
        ]
        least = self.least()
        if least is not None:
            report["least_steps"] = least["least"]
            report["least_status"] = least["status"]
            report["ratio"] = steps / least["least"] if holds else None
        if len(indices):
            # what is missing now, in the model that the data suggest
            report["least_further_steps"] = self.plan(short)[1]["least"]
        unmet = self.unmet()
        if unmet:
            report["unmet_named"] = [repr(state) for state in unmet[:NAMED]]
        return report

    def _numbers(self) -> list[int | None]:
        if self.until.states is None:
            return []
        if isinstance(self.states, DiscoveredStates):
            return [self.states.find(state) for state in self.until.states]
        # a promise names declared states only
        return [SpaceIndex.number(self.states, state) for state in self.until.states]


def coverage_report(data: Transitions, until: Coverage) -> dict[str, Any]:
    """How a promise stands in a data set."""
    states = DiscoveredStates()
    states.restart(range(data.n_states) if data.keys is None else data.keys)
    tracker = CoverageTracker(until, states, data.n_actions)
    for episode in data.episodes():
        tracker.observe(episode)
    return tracker.report()
