"""What a data set is promised to hold, and how it comes about in few steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .. import _ide3al
from .._ide3al import Error
from ..agents.algorithms import IDE3AL
from ..datasets.card import NAMED
from ..encoding.discrete import Found, Index
from ..types import Floats, Integers
from .episode import Episode, Lessons, Plan

if TYPE_CHECKING:
    from ..datasets.dataset import Data
    from .runners.single import Source

#: Without a number of steps a promise is given up after so many times the least that the data suggest, and so many steps.
BUDGET, BUDGET_STEPS = 20, 1000
#: Steps grow by this factor between two looks at the budget.
_LOOK = 1.5
#: One of so many episodes more is lived with what was learned before the same one.
_TOGETHER = 20


@dataclass(frozen=True)
class Coverage:
    """A promise about data: at least ``each_pair`` samples of every action in every state, or ``each_state`` visits of every
    state, or as many ``effective_states`` (exp of the entropy of the visits).

    It speaks of the states that were met and are not terminal; declared states that were never met are named on the card. ``states``
    lists states that have to be met beside: without them the promise does not hold.
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
            if not (math.isfinite(value) and value >= 1) or (
                name != "effective_states" and value != int(value)
            ):
                raise Error(f"Coverage: {name} = {value}: a number from 1 is needed")
        if self.states is not None and self.effective_states is not None:
            raise Error("Coverage: effective_states speaks of all states; leave out states")

    def said(self) -> dict[str, Any]:
        """As JSON."""
        named = None if self.states is None else [repr(state) for state in self.states]
        kinds = {
            "each_pair": self.each_pair,
            "each_state": self.each_state,
            "effective_states": self.effective_states,
            "states": named,
        }
        return {name: value for name, value in kinds.items() if value is not None}

    def plans(self, policy: Any) -> bool:
        """Whether the agent plans for the promise, rather than being followed as it is."""
        return isinstance(policy, IDE3AL)

    @property
    def text(self) -> str:
        if self.effective_states is not None:
            return f"{self.effective_states:g} effective states"
        if self.each_pair is not None:
            return f"at least {self.each_pair} samples of every pair"
        return f"at least {self.each_state} visits of every state"


class Tally:
    """How a promise stands, episode by episode."""

    def __init__(self, until: Coverage, states: Index | Found, n_actions: int) -> None:
        self.until, self.states, self.n_actions = until, states, n_actions
        size = self.states.size if isinstance(self.states, Index) else max(self.states.size, 1)
        self.counts: Integers = np.zeros((size, self.n_actions), dtype=np.int64)
        self._met = np.zeros(size, dtype=np.bool_)
        self._ended = np.zeros(size, dtype=np.bool_)
        self.steps = 0
        self.experience = _ide3al.Experience(size, self.n_actions)
        self._lessons = Lessons(self.n_actions)
        self._demanded = self._numbers()

    def take(self, episode: Episode) -> None:
        size = int(episode.states.max()) + 1
        if size > len(self._met):
            more = max(size, 2 * len(self._met)) - len(self._met)
            self.counts = np.concatenate(
                [self.counts, np.zeros((more, self.n_actions), dtype=np.int64)]
            )
            self._met = np.concatenate([self._met, np.zeros(more, dtype=np.bool_)])
            self._ended = np.concatenate([self._ended, np.zeros(more, dtype=np.bool_)])
        np.add.at(self.counts, (episode.states[:-1], episode.actions), 1)
        self._met[episode.states] = True
        if episode.terminated:
            self._ended[episode.states[-1]] = True
        self.steps += len(episode)
        self.experience.record(*self._lessons.of([episode]))

    @property
    def wanting(self) -> npt.NDArray[np.bool_]:
        """States met whose actions can be taken."""
        over: npt.NDArray[np.bool_] = self._ended & (self.counts.sum(axis=1) == 0)
        return np.asarray(self._met & ~over, dtype=np.bool_)

    def short(self) -> Floats:
        """Samples still missing, per pair or per state; none of what was never met."""
        wanting = self.wanting
        if self.until.each_pair is not None:
            missing = np.maximum(self.until.each_pair - self.counts, 0) * wanting[:, None]
        else:
            missing = (
                np.maximum((self.until.each_state or 0) - self.counts.sum(axis=1), 0) * wanting
            )
        return missing.astype(np.float64)

    def effective(self) -> float:
        visits = self.counts.sum(axis=1)
        shares = visits[visits > 0] / max(self.steps, 1)
        return float(np.exp(-(shares * np.log(shares)).sum())) if self.steps else 0.0

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
        return not self.short().any()

    def holds(self) -> bool:
        return self.satisfied() and not self.unmet()

    def progress(self) -> dict[str, Any]:
        if self.until.effective_states is not None:
            return {"effective_states": self.effective()}
        unit = "pairs" if self.until.each_pair is not None else "states"
        return {"short": int((self.short() > 0).sum()), "unit": unit}

    def least(self) -> dict[str, Any] | None:
        """Fewest steps from nothing, in the model that everything taken suggests."""
        if self.until.effective_states is not None or not self.wanting.any():
            return None
        wanting = self.wanting
        n = float(self.until.each_pair or self.until.each_state or 0)
        whole = (
            np.repeat(wanting[:, None], self.n_actions, axis=1) if self.until.each_pair else wanting
        )
        return self.plan(whole.astype(np.float64) * n)[1]

    def plan(self, wanted: Floats) -> tuple[Floats, dict[str, Any]]:
        size = self.experience.n_states
        rows, said = self.experience.plan(wanted[:size].ravel(), self.until.each_state is not None)
        return rows.reshape(size, self.n_actions), said

    def judged(self) -> dict[str, Any]:
        """How the promise stands, for the card."""
        holds, steps = self.holds(), self.steps
        report: dict[str, Any] = {"wanted": self.until.said(), "holds": holds, "steps": steps}
        report["text"] = f"{self.until.text}: {'holds' if holds else 'does not hold'}"
        if self.until.effective_states is not None:
            report["effective_states"] = self.effective()
            return report
        short = self.short()
        places = np.argwhere(short > 0)
        report["short"] = len(places)
        report["short_named"] = [
            [*map(int, place), int(short[tuple(place)])] for place in places[:NAMED].tolist()
        ]
        least = self.least()
        if least is not None:
            report["least_steps"] = least["least"]
            report["least_status"] = least["status"]
            report["ratio"] = steps / least["least"] if holds else None
        if len(places):
            # what is missing now, in the model that the data suggest
            report["least_further_steps"] = self.plan(short)[1]["least"]
        unmet = self.unmet()
        if unmet:
            report["unmet_named"] = [repr(state) for state in unmet[:NAMED]]
        return report

    def _numbers(self) -> list[int | None]:
        if self.until.states is None:
            return []
        if isinstance(self.states, Found):
            return [self.states.find(state) for state in self.until.states]
        return [self.states.number(state) for state in self.until.states]


class Promised:
    """IDE3AL with a promise: the explorer goes for the nearest pair, or state, that has too few samples.

    Each episode is lived with what was learned before it, and learns itself; of later ones some are lived with the same, so that
    a cluster has something to do, and the data do not depend on who lived what. Where no number of steps was given, a promise that is still short after ``BUDGET`` times the least number of steps
    that the data suggest ends with an account of what is missing."""

    def __init__(
        self, until: Coverage, agent: IDE3AL, source: Source, steps: int | None
    ) -> None:
        n_actions = source.actions.size
        self._tally = Tally(until, source.states, n_actions)
        self._until, self._agent, self._source = until, agent, source
        self._limited = steps is not None
        self._said: list[dict[str, Any]] = []
        self._explorer = _ide3al.Explorer(n_actions)
        self._explorer.set_quota(until.each_pair or until.each_state or 1, until.each_pair is None)
        self._lessons = Lessons(n_actions)
        #: Episodes that the explorer was not told of yet, and how many it was told of.
        self._pending: list[Episode] = []
        self._told = 0
        self._look = 0.0
        self._least: float | None = None
        self._why: str | None = None

    def digest(self) -> str:
        return repr(self._agent)

    def take(self, episode: Episode) -> None:
        self._tally.take(episode)
        self._pending.append(episode)

    def over(self) -> bool:
        return self._tally.holds()

    def next(self) -> tuple[Plan, int | None, dict[str, Any]] | None:
        tally = self._tally
        if tally.satisfied():
            self._why = self._cannot()
            return None
        if not self._limited and tally.steps >= self._look and tally.steps > 0:
            self._look = _LOOK * tally.steps
            least = tally.least()
            self._least = None if least is None else least["least"]
        allowed = BUDGET * (self._least or 0.0) + BUDGET_STEPS
        if not self._limited and self._least is not None and tally.steps > allowed:
            self._why = self._account(allowed)
            return None
        about = {"steps": tally.steps, "least": self._least, "told": self._told + len(self._pending)}
        self._said.append(about)
        count = 1 + about["told"] // _TOGETHER
        return self._plan(len(self._said) - 1, len(self._pending)), count, about

    def _plan(self, number: int, new: int) -> Plan:
        """For episodes that know of so many more than those before."""
        self._explorer.record(*self._lessons.of(self._pending[:new]))
        self._told += new
        del self._pending[:new]
        nothing = np.zeros((0, self._tally.n_actions))
        return Plan(number, nothing, explorer=self._explorer.to_bytes(), until_sampled=True)

    def _account(self, allowed: float) -> str:
        tally = self._tally
        short = tally.short()
        unit = "pairs" if self._until.each_pair else "states"
        places = np.argwhere(short > 0)[:NAMED].tolist()
        never = int((tally.counts[tally.wanting] == 0).sum())
        return (
            f"the promise was given up after {tally.steps} steps, more than {BUDGET} times the {self._least:.0f} that the estimated "
            f"model calls the least: {int((short > 0).sum())} {unit} are short, for example {places}; {never} pairs of the states "
            "met were never tried. Either what leads there is rare, or states that look alike are not the same, and the model is "
            "not the environment. Give steps=... to go on for longer, or a state that says what it hides"
        )

    def _cannot(self) -> str:
        named = ", ".join(repr(state) for state in self._tally.unmet()[:NAMED])
        samples = self._until.each_pair or self._until.each_state
        return (
            f"the promise cannot hold: never met: {named}; every {'pair' if self._until.each_pair else 'state'} of the states met has "
            f"{samples} samples, and none led there"
        )

    def resume(self, plan: Plan, said: list[dict[str, Any]]) -> Plan:
        self._said = [{key: value for key, value in one.items() if key != "count"} for one in said]
        self._least = self._said[-1].get("least")
        for one in self._said:
            # as it would have looked then
            if one["steps"] >= self._look and one["steps"] > 0 and not self._limited:
                self._look = _LOOK * one["steps"]
        # the explorer is told of the same episodes in the same order, and no others
        return self._plan(plan.number, self._said[-1]["told"])

    def progress(self) -> dict[str, Any]:
        return {**self._tally.progress(), "least": self._least}

    def said(self) -> list[dict[str, Any]]:
        return self._said

    def promise(self) -> dict[str, Any] | None:
        report = self._tally.judged()
        if self._why is not None:
            report["reason"] = self._why
        return report


def judged(data: Data, until: Coverage) -> dict[str, Any]:
    """How a promise stands in a data set."""
    states = Found()
    states.restart(range(data.n_states) if data.states is None else data.states)
    tally = Tally(until, states, data.n_actions)
    for episode in data.episodes():
        tally.take(episode)
    return tally.judged()
