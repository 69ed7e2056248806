"""Goes where the error of the model weighs most, until every reward can be planned for."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...datasets.episode import Episode
from ...datasets.tally import TransitionTally
from ...encoding.discrete import SpaceIndex
from ...planning.accuracy import Accuracy
from ...runners.base import EpisodeRunner
from ...runners.plan import Plan, ScheduledPlan

#: The next look at the error is taken after this share of the steps so far.
_GROWTH = 0.1


class AccuracyStrategy:
    """In every state the action with the largest error bound, as in RF-UCRL; actions never tried
    first. Looks at the error after each tenth more steps, which the confidence sets allow: they
    hold at all times."""

    def __init__(self, until: Accuracy, runner: EpisodeRunner) -> None:
        self._until, self._runner = until, runner
        self._tally = TransitionTally()
        self._steps = self._episodes = self._number = 0
        self._error = 1.0
        self._due = 0
        self._table = np.zeros((0, runner.actions.size))
        self._info: list[dict[str, Any]] = []

    def digest(self) -> str:
        return repr(self._until)

    def next_plan(self) -> ScheduledPlan:
        self._look()
        length = self._steps / self._episodes if self._episodes else 1.0
        count = max(1, round(_GROWTH * self._steps / max(length, 1.0)))
        info = {"steps": self._steps, "error": self._error, "batch": None}
        self._info.append(info)
        self._number += 1
        return ScheduledPlan(Plan(self._number - 1, self._table), count, info)

    def _look(self) -> None:
        """The error of everything so far, and where to go for less."""
        if self._steps == 0:
            return
        states, n_actions = self._runner.states, self._runner.actions.size
        declared = isinstance(states, SpaceIndex)
        rows = self._tally.rows
        n = states.size if declared else int(max(rows[:, 0].max(), rows[:, 2].max())) + 1
        tried = self._tally.tried(n, n_actions, declared)
        until = self._until
        error, pairs = tried.reward_free_error(until.discount, until.confidence)
        self._error, self._due = float(error), self._steps
        bound = np.full((n, n_actions), 2.0)
        for state, action, value in pairs:
            bound[state, action] = value
        top = bound >= bound.max(axis=1, keepdims=True) - 1e-9
        self._table = top / top.sum(axis=1, keepdims=True)

    def resume(self, plan: Plan, info: list[dict[str, Any]]) -> Plan:
        self._info = [dict(one) for one in info]
        self._number = plan.number + 1
        return plan

    def observe(self, episode: Episode) -> None:
        self._tally.record_episodes([episode])
        self._steps += len(episode)
        self._episodes += 1

    def done(self) -> bool:
        if self._steps >= (1 + _GROWTH) * self._due and self._steps > 0:
            self._look()
        # two policies are compared, the best and the one planned
        return 2 * self._error <= self._until.epsilon

    def progress(self) -> dict[str, Any]:
        return {"error": 2 * self._error, "wanted": self._until.epsilon}

    def plan_info(self) -> list[dict[str, Any]]:
        return self._info

    def promise(self) -> dict[str, Any]:
        self._look()
        holds = 2 * self._error <= self._until.epsilon
        return {
            "wanted": self._until.to_dict(),
            "holds": holds,
            "steps": self._steps,
            "error": 2 * self._error,
            "text": f"{self._until.text}: {'holds' if holds else 'does not hold'}",
        }
