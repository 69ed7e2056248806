"""What is followed while data are collected: a plan for some episodes, then another."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from .. import _ide3al
from ..agents.base import Agent
from ..encoding.discrete import DiscoveredStates, SpaceIndex
from .coverage import Coverage, CoverageTracker
from .episode import (
    DEFAULT_MAX_STEPS,
    Episode,
    Plan,
    ScheduledPlan,
    TransitionFlattener,
    checked_table,
)
from .runners.single import EpisodeRunner

#: Samples of every pair after which nothing new is expected.
_ENOUGH = 20


class CollectionStrategy(Protocol):
    """Takes every episode, in order, and makes plans from what it has taken."""

    def digest(self) -> str:
        """What it begins with, in short: a collection that goes on must begin with the same."""

    def next_plan(self) -> ScheduledPlan | None:
        """The next plan; nothing if no plan can help."""

    def resume(self, plan: Plan, info: list[dict[str, Any]]) -> None:
        """Goes on with plans made before a crash."""

    def observe(self, episode: Episode) -> None: ...

    def done(self) -> bool:
        """Whether nothing more is wanted."""

    def progress(self) -> dict[str, Any]: ...

    def plan_info(self) -> list[dict[str, Any]]:
        """What is recorded of every plan."""

    def promise(self) -> dict[str, Any] | None:
        """How the promise stands."""


class FixedStrategy:
    """One policy for ever."""

    def __init__(self, policy: Any, runner: EpisodeRunner, until: Coverage | None) -> None:
        states, n_actions = runner.states, runner.actions.size
        declared = states.size if isinstance(states, SpaceIndex) else None
        if isinstance(policy, str) or callable(policy) or hasattr(policy, "predict"):
            # what looks at observations is asked in every step; "random" is uniform
            if not isinstance(policy, Agent):
                policy = np.zeros((0, n_actions))
                declared = None
        if isinstance(policy, Agent):
            untaught = policy.num_timesteps == 0
            policy = np.full((states.size, n_actions), 1 / n_actions) if untaught else policy.policy
            if untaught and declared is None:
                policy = np.zeros((0, n_actions))
        self._table = checked_table(policy, declared, n_actions)
        self._tracker = (
            None if until is None else CoverageTracker(until, runner.states, runner.actions.size)
        )

    def digest(self) -> str:
        return hashlib.sha256(self._table.tobytes()).hexdigest()[:16]

    def next_plan(self) -> ScheduledPlan:
        return ScheduledPlan(Plan(0, self._table), None, {})

    def resume(self, plan: Plan, info: list[dict[str, Any]]) -> None:
        pass

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


class LearningStrategy:
    """An agent that learns from every batch of episodes. Where many live them, a batch has an episode for each."""

    def __init__(
        self, agent: Agent, env: Any, runner: EpisodeRunner, total: int, workers: int
    ) -> None:
        self._inner, _, actions = agent._attach(env, runner.states)
        self._agent, self._total, self._workers = agent, total, workers
        self._flattener = TransitionFlattener(actions.size)
        self._batch: list[Episode] = []
        self._number = self._episodes = self._steps = 0
        # : Steps of the model so far: those of the episodes, and those that left a terminal state;
        # and whether one is to be left.
        self.rows = self.owed = 0

    def digest(self) -> str:
        return f"{self._inner.steps} steps"

    def next_plan(self) -> ScheduledPlan | None:
        self.learn(False)
        inner = self._inner
        rows = _ide3al.agent_behaviour(inner).reshape(inner.n_states, inner.n_actions)
        wanted = inner.batch_size(self._total)
        length = self._steps / self._episodes if self._episodes else float(wanted)
        count = max(self._workers, math.ceil(wanted / max(length, 1.0)))
        self._number += 1
        return ScheduledPlan(Plan(self._number - 1, rows), count, {})

    def learn(self, last: bool) -> None:
        """From the episodes taken since the last time."""
        if self._batch:
            rows, starts = self._flattener.flatten(self._batch)
            _ide3al.agent_record(self._inner, rows, starts)
            self._batch = []
            _ide3al.agent_learn(self._inner, last)

    def resume(self, plan: Plan, info: list[dict[str, Any]]) -> None:
        pass

    def observe(self, episode: Episode) -> None:
        self._batch.append(episode)
        self._episodes += 1
        self._steps += len(episode)
        self.rows += len(episode) + self.owed
        self.owed = int(episode.terminated)

    def done(self) -> bool:
        return False

    def progress(self) -> dict[str, Any]:
        return {}

    def plan_info(self) -> list[dict[str, Any]]:
        return []

    def promise(self) -> dict[str, Any] | None:
        self.learn(True)
        return None


class EntropyStrategy(LearningStrategy):
    """IDE3AL until the visits are as even as promised: it learns on the way, and follows its plans for even visits."""

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


def fit_on_ray(
    agent: Agent,
    make_env: Any,
    total: int,
    workers: int,
    *,
    show: Callable[[int, int, Agent], None] | None = None,
    callback: Callable[[Agent], Any] | None = None,
) -> None:
    """``fit`` with runners on a cluster: whole episodes, cut where the steps end."""
    from .runners.ray import RayRunner

    known = (
        agent._observations.copy() if isinstance(agent._observations, DiscoveredStates) else None
    )
    runner = RayRunner(make_env, known, workers, None)
    try:
        limit = (
            getattr(getattr(runner.env, "spec", None), "max_episode_steps", None)
            or DEFAULT_MAX_STEPS
        )
        learning = LearningStrategy(agent, runner.env, runner, total, workers)
        first, number = agent.num_timesteps, 0

        def left() -> int:
            return total - learning.rows

        while left() > 0:
            made = learning.next_plan()
            if made is None:
                break
            plan, count, _ = made
            for episode in runner.episodes(plan, agent.seed + first, number, count, left, limit):
                number += 1
                if left() > 0:
                    # leaving a terminal state is a step as well, and may be the last one
                    learning.observe(episode.truncate(left() - learning.owed))
            learning.learn(left() <= 0)
            if show is not None:
                show(total - max(left(), 0), total, agent)
            if callback is not None and callback(agent) is False:
                break
    finally:
        runner.close()
