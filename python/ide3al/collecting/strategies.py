"""What is followed while data are collected: a plan for some episodes, then another."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from .. import _ide3al
from ..agents.base import Agent
from ..encoding.discrete import Found, Index
from .coverage import Coverage, Tally
from .episode import LONGEST, Episode, Lessons, Plan, checked_table
from .runners.single import Source

#: Samples of every pair after which nothing new is expected.
_ENOUGH = 20

#: A plan, for how many episodes, and what is said of it.
Made = tuple[Plan, int | None, dict[str, Any]]


class Planner(Protocol):
    """Takes every episode, in order, and makes plans from what it has taken."""

    def digest(self) -> str:
        """What it begins with, in short: a collection that goes on must begin with the same."""

    def next(self) -> Made | None:
        """The next plan; nothing if no plan can help."""

    def resume(self, plan: Plan, said: list[dict[str, Any]]) -> Plan:
        """Goes on with plans made before a crash, the last of them whole."""

    def take(self, episode: Episode) -> None: ...

    def over(self) -> bool:
        """Whether nothing more is wanted."""

    def progress(self) -> dict[str, Any]: ...

    def said(self) -> list[dict[str, Any]]:
        """What was said of all plans."""

    def promise(self) -> dict[str, Any] | None:
        """How the promise stands."""


class Fixed:
    """One policy for ever."""

    def __init__(self, policy: Any, source: Source, until: Coverage | None) -> None:
        states, n_actions = source.states, source.actions.size
        declared = states.size if isinstance(states, Index) else None
        if isinstance(policy, Agent):
            untaught = policy.num_timesteps == 0
            policy = np.full((states.size, n_actions), 1 / n_actions) if untaught else policy.policy
            if untaught and declared is None:
                policy = np.zeros((0, n_actions))
        self._table = checked_table(policy, declared, n_actions)
        self._tally = None if until is None else Tally(until, source.states, source.actions.size)

    def digest(self) -> str:
        return hashlib.sha256(self._table.tobytes()).hexdigest()[:16]

    def next(self) -> Made:
        return Plan(0, self._table), None, {}

    def resume(self, plan: Plan, said: list[dict[str, Any]]) -> Plan:
        return plan

    def take(self, episode: Episode) -> None:
        if self._tally is not None:
            self._tally.take(episode)

    def over(self) -> bool:
        return self._tally is not None and self._tally.holds()

    def progress(self) -> dict[str, Any]:
        return {} if self._tally is None else self._tally.progress()

    def said(self) -> list[dict[str, Any]]:
        return []

    def promise(self) -> dict[str, Any] | None:
        return None if self._tally is None else self._tally.judged()


class Learning:
    """An agent that learns from every batch of episodes. Where many live them, a batch has an episode for each."""

    def __init__(self, agent: Agent, env: Any, source: Source, total: int, workers: int) -> None:
        self._inner, _, actions = agent._attach(env, source.states)
        self._agent, self._total, self._workers = agent, total, workers
        self._lessons = Lessons(actions.size)
        self._batch: list[Episode] = []
        self._number = self._episodes = self._steps = 0
        # : Steps of the model so far: those of the episodes, and those that left a terminal state;
        # and whether one is to be left.
        self.rows = self.owed = 0

    def digest(self) -> str:
        return f"{self._inner.steps} steps"

    def next(self) -> Made | None:
        self.learn(False)
        inner = self._inner
        rows = _ide3al.agent_behaviour(inner)
        self._number += 1
        if rows is None:
            # each episode is lived with all that was learned before it
            nothing = np.zeros((0, inner.n_actions))
            explorer = _ide3al.agent_explorer(inner)
            return Plan(self._number - 1, nothing, explorer=explorer), self._workers, {}
        wanted = inner.batch_size(self._total)
        length = self._steps / self._episodes if self._episodes else float(wanted)
        count = max(self._workers, math.ceil(wanted / max(length, 1.0)))
        table = rows.reshape(inner.n_states, inner.n_actions)
        return Plan(self._number - 1, table), count, {}

    def learn(self, last: bool) -> None:
        """From the episodes taken since the last time."""
        if self._batch:
            rows, starts = self._lessons.of(self._batch)
            # one environment after the other, whoever lived in it
            alone = np.zeros((len(rows), 1), dtype=np.int64)
            begun = np.stack([starts, np.zeros_like(starts)], axis=1)
            _ide3al.agent_record(self._inner, np.concatenate([rows, alone], axis=1), begun)
            self._batch = []
            _ide3al.agent_learn(self._inner, last)

    def resume(self, plan: Plan, said: list[dict[str, Any]]) -> Plan:
        return plan

    def take(self, episode: Episode) -> None:
        self._batch.append(episode)
        self._episodes += 1
        self._steps += len(episode)
        self.rows += len(episode) + self.owed
        self.owed = int(episode.terminated)

    def over(self) -> bool:
        return False

    def progress(self) -> dict[str, Any]:
        return {}

    def said(self) -> list[dict[str, Any]]:
        return []

    def promise(self) -> dict[str, Any] | None:
        self.learn(True)
        return None


class Evened(Learning):
    """IDE3AL until the visits are as even as promised: it learns on the way, and follows its plans for even visits."""

    def __init__(self, until: Coverage, agent: Agent, env: Any, source: Source, total: int) -> None:
        super().__init__(agent, env, source, total, 1)
        self._tally = Tally(until, source.states, source.actions.size)
        self._until = until

    def next(self) -> Made | None:
        tally = self._tally
        known = tally.counts[tally.wanting]
        if (
            known.size
            and known.min() >= _ENOUGH
            and len(known) < (self._until.effective_states or 0)
        ):
            return None
        return super().next()

    def take(self, episode: Episode) -> None:
        super().take(episode)
        self._tally.take(episode)

    def over(self) -> bool:
        return self._tally.holds()

    def progress(self) -> dict[str, Any]:
        return self._tally.progress()

    def promise(self) -> dict[str, Any] | None:
        super().promise()
        report = self._tally.judged()
        met = int(self._tally.wanting.sum())
        if not report["holds"] and self.next() is None:
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
    from .runners.ray import RaySource

    known = agent._observations.copy() if isinstance(agent._observations, Found) else None
    source = RaySource(make_env, known, workers, None)
    try:
        limit = getattr(getattr(source.env, "spec", None), "max_episode_steps", None) or LONGEST
        learning = Learning(agent, source.env, source, total, workers)
        first, number = agent.num_timesteps, 0

        def left() -> int:
            return total - learning.rows

        while left() > 0:
            made = learning.next()
            if made is None:
                break
            plan, count, _ = made
            for episode in source.episodes(plan, agent.seed + first, number, count, left, limit):
                number += 1
                if left() > 0:
                    # leaving a terminal state is a step as well, and may be the last one
                    learning.take(episode.cut(left() - learning.owed))
            learning.learn(left() <= 0)
            if show is not None:
                show(total - max(left(), 0), total, agent)
            if callback is not None and callback(agent) is False:
                break
    finally:
        source.close()
