"""Steps of one continuous environment: actions are held, steps recorded, cells cut anew between
batches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._protocol import reset_env, step_env
from ...datasets.tally import as_number
from ...encoding.abstraction import ActionGrid
from ...encoding.adaptive import AdaptivePartition
from ...encoding.holding import REPEATS
from ...encoding.masks import Mask, MaskReader, nearest_legal
from ...types import Floats
from ..learner import Learner
from .base import Rollout

#: Share of the steps, and fewest and most of them, that are taken at random before cells are cut.
SURVEY, FEWEST, MOST = 0.02, 500, 2000


def survey_steps(total: int) -> int:
    """How many steps of a first fit are taken at random."""
    return min(max(FEWEST, min(MOST, int(SURVEY * total))), math.ceil(total / 2))


def batch_of_decisions(agent: Any, cut: AdaptivePartition, total: int, left: int) -> int:
    """Decisions of the next batch, of which each is held for some steps."""
    return int(min(agent.batch_size(math.ceil(total / cut.repeat)), math.ceil(left / cut.repeat)))


class PartitionRollout(Rollout):
    """An environment as a learner of finite ones sees it: ``reset`` and ``step`` between cells,
    with an action held for several steps."""

    def __init__(self, agent: Learner, env: Any, total: int) -> None:
        assert agent.partition is not None
        self._agent, self._env = agent, env
        self._cut = cut = agent.partition
        self.left = self._total = total
        self._seed = agent.seed if cut.steps == 0 else None
        self._reader = MaskReader(env, env.action_space, cut.actions.size)
        self._mask: Mask | None = None
        self._episode_open = False
        if agent.compiled is not None:
            agent.compiled.interrupt_trajectory()

    def collect(self) -> None:
        cut, agent = self._cut, self._agent.compiled
        if agent is None:
            self._survey()
            agent = self._agent.learner_of_cells()
            cut.repartition(agent, episode_open=True)
        elif self._episode_open and cut.due:
            cut.repartition(agent, episode_open=True)
        self._episode_open = True
        if self.left > 0:
            decisions = batch_of_decisions(agent, cut, self._total, self.left)
            agent.collect(self._reset, self._step, decisions)

    def _begin(self) -> Floats:
        options = {} if self._seed is None else {"seed": self._seed}
        self._seed = None
        observation, info = reset_env(self._env, **options)
        self._mask = self._masked(observation, info)
        vector = self._cut.vector(observation)
        self._cut.begin(vector)
        return vector

    def _hold(self, action: int, times: int) -> tuple[Floats, int]:
        """Takes an action some times, fewer where the episode is over: where that led, and how it
        ended."""
        for k in range(max(1, min(times, self.left))):
            if self._mask is not None and not self._mask[action]:
                if k > 0:
                    break
                action = nearest_legal(action, self._mask)
            element = self._cut.actions.element(action)
            observation, reward, terminated, truncated, info = step_env(self._env, element)
            end = 1 if terminated else 2 if truncated else 0
            self._mask = self._masked(observation, info)
            vector = self._cut.vector(observation)
            self._cut.step(action, vector, end, as_number(reward))
            self.left -= 1
            if end:
                break
        return vector, end

    def _masked(self, observation: Any, info: Any) -> Mask | None:
        # real-valued actions have no mask by number
        if isinstance(self._cut.actions, ActionGrid):
            return None
        return self._reader.read(observation, info)

    def _survey(self) -> None:
        """Random actions, held for random times: what cells and repeats are first chosen from."""
        rng = np.random.default_rng(self._agent.seed)
        until, end = max(self.left - survey_steps(self._total), 0), 2
        while self.left > until:
            if end:
                self._begin()
            times = int(rng.choice(REPEATS))
            _, end = self._hold(
                int(rng.integers(self._cut.actions.size)), min(times, self.left - until)
            )
        if end:
            self._begin()

    def _reset(self) -> int:
        return self._cut.number(self._begin())

    def _step(self, action: int) -> tuple[int, int]:
        vector, end = self._hold(action, self._cut.repeat)
        return self._cut.number(vector, end == 1), end
