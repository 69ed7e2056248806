"""Agents that learn from batches of whole episodes, in this process or in others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import _ide3al
from ..._ide3al import Error
from ...datasets.episode import Episode, TransitionFlattener
from ...encoding.discrete import DiscoveredStates
from ...runners.base import EpisodeRunner
from ...runners.plan import Plan, ScheduledPlan
from ...runners.ray import RayRunner
from ...runners.sampler import DEFAULT_MAX_STEPS
from ..learner import Learner
from .base import Rollout


class LearningStrategy:
    """An agent that learns from every batch of episodes. Where many live them, a batch has an
    episode for each."""

    def __init__(
        self, agent: Learner, env: Any, runner: EpisodeRunner, total: int, workers: int
    ) -> None:
        self._inner, _, actions = agent.attach(env, runner.states)
        self._agent, self._total, self._workers = agent, total, workers
        self._flattener = TransitionFlattener(actions.size)
        self._batch: list[Episode] = []
        self._number = self._episodes = self._steps = 0
        #: Steps of the model so far: those of the episodes, and those that left a terminal state;
        # and whether one is to be left.
        self.rows = self.owed = 0

    def digest(self) -> str:
        return f"{self._inner.steps} steps"

    def next_plan(self) -> ScheduledPlan | None:
        self.learn(False)
        inner = self._inner
        self._number += 1
        rows = _ide3al.agent_behaviour(inner)
        if rows is None:
            # each episode is taken with all that was learned before it
            nothing = np.zeros((0, inner.n_actions))
            explorer = _ide3al.agent_explorer(inner)
            if explorer is None:
                raise Error(
                    f"engine = 'ray': {type(self._agent).__name__} chooses each action in this "
                    "process; leave engine out"
                )
            plan = Plan(self._number - 1, nothing, explorer=explorer)
            return ScheduledPlan(plan, self._workers, {})
        wanted = inner.batch_size(self._total)
        length = self._steps / self._episodes if self._episodes else float(wanted)
        count = max(self._workers, math.ceil(wanted / max(length, 1.0)))
        table = rows.reshape(inner.n_states, inner.n_actions)
        return ScheduledPlan(Plan(self._number - 1, table), count, {})

    def learn(self, last: bool) -> None:
        """From the episodes taken since the last time."""
        if self._batch:
            self.record()
            _ide3al.agent_learn(self._inner, last)

    def record(self) -> None:
        """Hands the episodes of the batch to the agent."""
        rows, starts = self._flattener.flatten(self._batch)
        # one environment after the other, whoever stepped it
        alone = np.zeros((len(rows), 1), dtype=np.int64)
        begun = np.stack([starts, np.zeros_like(starts)], axis=1)
        _ide3al.agent_record(self._inner, np.concatenate([rows, alone], axis=1), begun)
        self._batch = []

    def resume(self, plan: Plan, info: list[dict[str, Any]]) -> Plan:
        return plan

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


class ClusterRollout(Rollout):
    """Whole episodes by runners on a cluster, truncated where the steps end."""

    def __init__(self, agent: Learner, make_env: Any, total: int, workers: int) -> None:
        known = agent.encoder.copy() if isinstance(agent.encoder, DiscoveredStates) else None
        self._runner = RayRunner(make_env, known, workers, None)
        env = self._runner.env
        spec = getattr(env, "spec", None)
        self._limit = getattr(spec, "max_episode_steps", None) or DEFAULT_MAX_STEPS
        try:
            self._learning = LearningStrategy(agent, env, self._runner, total, workers)
        except BaseException:
            self._runner.close()
            raise
        self._tally, self._total = agent.tally, total
        self._first, self._number = agent.seed + agent.num_timesteps, 0

    @property
    def left(self) -> int:  # type: ignore[override]
        """Steps that may still be taken."""
        return self._total - self._learning.rows

    def collect(self) -> None:
        learning = self._learning
        scheduled = learning.next_plan()
        assert scheduled is not None
        plan, count, _ = scheduled
        episodes = self._runner.episodes(
            plan, self._first, self._number, count, lambda: self.left, self._limit
        )
        for episode in episodes:
            self._number += 1
            if self.left > 0:
                # leaving a terminal state is a step as well, and may be the last one
                kept = episode.truncate(self.left - learning.owed)
                learning.observe(kept)
                self._tally.record_episodes([kept])
        learning.record()

    def close(self) -> None:
        self._runner.close()
