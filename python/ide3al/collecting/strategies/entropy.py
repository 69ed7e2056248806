"""Learns on the way, and follows plans for even visits until they are as even as promised."""

from __future__ import annotations

from typing import Any

from ...agents.base import Agent
from ...agents.rollouts.episodes import LearningStrategy
from ...datasets.coverage import Coverage, CoverageTracker
from ...datasets.episode import Episode
from ...runners.base import EpisodeRunner
from ...runners.plan import ScheduledPlan

#: Samples of every pair after which nothing new is expected.
_ENOUGH = 20


class EntropyStrategy(LearningStrategy):
    """IDE3AL until the visits are as even as promised: it learns on the way, and follows its plans
    for even visits."""

    def __init__(
        self, until: Coverage, agent: Agent, env: Any, runner: EpisodeRunner, total: int
    ) -> None:
        super().__init__(agent, env, runner, total, 1)
        self._tracker = CoverageTracker(until, runner.states, runner.actions.size)
        self._until = until

    def next_plan(self) -> ScheduledPlan | None:
        tracker = self._tracker
        known = tracker.counts[tracker.actionable]
        if (
            known.size
            and known.min() >= _ENOUGH
            and len(known) < (self._until.effective_states or 0)
        ):
            return None
        return super().next_plan()

    def observe(self, episode: Episode) -> None:
        super().observe(episode)
        self._tracker.observe(episode)

    def done(self) -> bool:
        return self._tracker.holds()

    def progress(self) -> dict[str, Any]:
        return self._tracker.progress()

    def promise(self) -> dict[str, Any] | None:
        super().promise()
        report = self._tracker.report()
        met = int(self._tracker.actionable.sum())
        if not report["holds"] and self.next_plan() is None:
            report["reason"] = (
                f"the promise cannot hold: {self._until.text} of {met} states met; every pair was tried {_ENOUGH} times or more, and "
                "nothing else was found"
            )
        return report
