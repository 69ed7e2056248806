"""Follows one policy, or an agent as it is."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from ...agents.base import Agent
from ...datasets.coverage import Coverage, CoverageTracker
from ...datasets.episode import Episode
from ...encoding.discrete import SpaceIndex
from ...runners.base import EpisodeRunner
from ...runners.plan import Plan, ScheduledPlan, checked_table


class FixedStrategy:
    """One policy for ever."""

    def __init__(self, policy: Any, runner: EpisodeRunner, until: Coverage | None) -> None:
        states, n_actions = runner.states, runner.actions.size
        declared = states.size if isinstance(states, SpaceIndex) else None
        looks = isinstance(policy, str) or callable(policy) or hasattr(policy, "predict")
        if looks and not isinstance(policy, Agent):
            # what looks at observations is asked in every step; "random" is uniform
            policy, declared = np.zeros((0, n_actions)), None
        if isinstance(policy, Agent):
            is_unfitted = policy.num_timesteps == 0
            policy = (
                np.full((states.size, n_actions), 1 / n_actions) if is_unfitted else policy.policy
            )
            if is_unfitted and declared is None:
                policy = np.zeros((0, n_actions))
        self._table = checked_table(policy, declared, n_actions)
        self._tracker = (
            None if until is None else CoverageTracker(until, runner.states, runner.actions.size)
        )

    def digest(self) -> str:
        return hashlib.sha256(self._table.tobytes()).hexdigest()[:16]

    def next_plan(self) -> ScheduledPlan:
        return ScheduledPlan(Plan(0, self._table), None, {})

    def resume(self, plan: Plan, info: list[dict[str, Any]]) -> Plan:
        return plan

    def observe(self, episode: Episode) -> None:
        if self._tracker is not None:
            self._tracker.observe(episode)

    def done(self) -> bool:
        return self._tracker is not None and self._tracker.holds()

    def progress(self) -> dict[str, Any]:
        return {} if self._tracker is None else self._tracker.progress()

    def plan_info(self) -> list[dict[str, Any]]:
        return []

    def promise(self) -> dict[str, Any] | None:
        return None if self._tracker is None else self._tracker.report()
