"""Plans for the samples that a promise still lacks, follows the plan for a while, plans again."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...agents.algorithms import IDE3AL
from ...datasets.card import NAMED
from ...datasets.coverage import Coverage, CoverageTracker
from ...datasets.episode import Episode
from ...runners.base import EpisodeRunner
from ...runners.plan import Plan, ScheduledPlan
from ...types import Floats, Integers
from ..reachability import ReachabilityGraph

#: The next plan is followed for this share of the steps so far, but for no more than this share of
# what is still needed.
_GROWTH, _SHARE = 0.15, 0.4
#: When fewer steps than this many episodes have are still needed, an episode is cut when it has
# brought what it was for, or : nothing for this many times as long as a sample should take, and
# this many steps more.
_LATE, _PATIENCE = 4, 4
#: States that no more than this share of the episodes could have come to, of the share for the
# easiest ones, can wait.
_RARE = 0.5


def plans_for(until: Any, policy: Any) -> bool:
    """Whether the agent plans for a promise, rather than being followed as it is."""
    return isinstance(until, Coverage) and isinstance(policy, IDE3AL)


class CoverageStrategy:
    """IDE3AL with a promise: plans for what is missing, follows the plan for a while, and plans
    again."""

    def __init__(self, until: Coverage, agent: IDE3AL, runner: EpisodeRunner) -> None:
        self._tracker = CoverageTracker(until, runner.states, runner.actions.size)
        self._until, self._agent, self._runner = until, agent, runner
        self._plan_info: list[dict[str, Any]] = []
        self._number = self._episodes = 0
        self._length = 0.0
        #: The plan that the last episodes followed, how many, and their steps.
        self._followed, self._of_plan, self._steps_of_plan = 0, 0, 0
        self._graph = ReachabilityGraph()
        self._why: str | None = None

    def digest(self) -> str:
        return repr(self._agent)

    def observe(self, episode: Episode) -> None:
        self._tracker.observe(episode)
        self._graph.add(episode)
        self._episodes += 1
        if episode.plan != self._followed:
            self._followed, self._of_plan, self._steps_of_plan = episode.plan, 0, 0
        self._of_plan += 1
        self._steps_of_plan += len(episode)

    def done(self) -> bool:
        return self._tracker.holds()

    def next_plan(self) -> ScheduledPlan | None:
        tracker = self._tracker
        if tracker.steps == 0:
            # nothing is known: any action is as good as any other
            return self._schedule(np.zeros((0, tracker.n_actions)), 1, {"steps": 0, "least": None})
        if tracker.satisfied():
            self._why = self._cannot()
            return None
        short = tracker.shortfall()
        table, info = self._plan_missing(short)
        # of late episodes, which are cut short, no length is learned
        usual = max(tracker.steps / self._episodes, self._length)
        self._length = usual
        # the last plan's may have been longer: this one resembles it
        length = max(usual, self._steps_of_plan / max(self._of_plan, 1))
        batch = min(_GROWTH * tracker.steps, _SHARE * info["planned"])
        count = max(1, round(batch / length))
        sample_quota: Integers | None = None
        patience = 0
        if count == 1 and info["planned"] < _LATE * length:
            sample_quota = short.astype(np.int64).reshape(len(short), -1)[: len(table)]
            patience = math.ceil(_PATIENCE * info["planned"] / short.sum()) + _PATIENCE
        about = {
            "steps": tracker.steps,
            "least": info["least"],
            "status": info["status"],
            "episode_length": usual,
            "batch": batch,
        }
        return self._schedule(table, count, about, sample_quota, patience)

    def _plan_missing(self, short: Floats) -> tuple[Floats, dict[str, Any]]:
        """A plan for what is missing, less what can wait.

        A state that is known only from episodes that started near it seems to need as many episodes
        as it takes to start there again, and a plan for everything would mostly start over. As long
        as there are pairs elsewhere that were never tried, and may lead there, such states wait;
        whoever starts there tries what is missing. Fewer samples need fewer steps: the least number
        of steps for the rest is one for all."""
        tracker = self._tracker
        shares = self._graph.reachable_shares(len(short))
        untried = ((tracker.counts == 0) & tracker.possible()).any(axis=1) & tracker.actionable
        missing = short.reshape(len(short), -1)
        rare = shares <= _RARE * shares[tracker.actionable].max()
        if (
            not rare[tracker.actionable].any()
            or not (untried & ~rare).any()
            or not missing[~rare].any()
        ):
            return tracker.plan(short)
        table, info = tracker.plan(np.where(rare, 0.0, missing.T).T.reshape(short.shape))
        if self._until.each_pair is not None:
            there = np.flatnonzero(rare[: len(table)] & missing[: len(table)].any(axis=1))
            table[there] = missing[there] / missing[there].sum(axis=1, keepdims=True)
        return table, info

    def _schedule(
        self,
        table: Floats,
        count: int,
        info: dict[str, Any],
        sample_quota: Integers | None = None,
        patience: int = 0,
    ) -> ScheduledPlan:
        plan = Plan(self._number, table, sample_quota, patience)
        self._number += 1
        self._plan_info.append(info)
        return ScheduledPlan(plan, count, info)

    def _cannot(self) -> str:
        named = ", ".join(repr(state) for state in self._tracker.unmet()[:NAMED])
        samples = self._until.each_pair or self._until.each_state
        return (
            f"the promise cannot hold: never met: {named}; every {'pair' if self._until.each_pair else 'state'} of the states met has "
            f"{samples} samples, and none led there"
        )

    def resume(self, plan: Plan, info: list[dict[str, Any]]) -> None:
        self._plan_info = [
            {key: value for key, value in one.items() if key != "count"} for one in info
        ]
        self._number = plan.number + 1
        self._length = self._plan_info[-1].get("episode_length", 0.0)

    def progress(self) -> dict[str, Any]:
        return {
            **self._tracker.progress(),
            "least": self._plan_info[-1]["least"] if self._plan_info else None,
        }

    def plan_info(self) -> list[dict[str, Any]]:
        return self._plan_info

    def promise(self) -> dict[str, Any] | None:
        report = self._tracker.report()
        if self._why is not None:
            report["reason"] = self._why
        return report
