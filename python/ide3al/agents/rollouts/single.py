"""Steps of one finite environment as the learner sees them: states and actions by number."""

from __future__ import annotations

from typing import Any

from ..._check import check_actions
from ..._protocol import reset_env, step_env
from ...encoding.masks import Mask, MaskedStates, MaskReader, nearest_legal
from ..learner import Learner
from .base import Rollout


class SingleRollout(Rollout):
    """``reset`` and ``step`` by number. Where actions are masked, a state has those allowed when
    it was first met, numbered among themselves; one that is not allowed any more is replaced."""

    def __init__(self, agent: Learner, env: Any, total: int) -> None:
        check_actions(env.action_space)
        self.left = self._total = total
        # the environment is seeded once: the first reset of the first fit
        fresh = agent.compiled is None or agent.compiled.steps == 0
        # what it returns says whether actions are masked
        first = reset_env(env, seed=agent.seed) if fresh else reset_env(env)
        self._agent, self._states, self._actions = agent.attach(env, first=first)
        self._agent.interrupt_trajectory()
        self._first: tuple[Any, Any] | None = first
        self._env, self._changes, self._tally = env, agent.changes, agent.tally
        self._masked = self._states if isinstance(self._states, MaskedStates) else None
        self._reader = MaskReader(env, self._actions.space, self._actions.size)
        self._state = 0
        self._mask: Mask | None = None

    def collect(self) -> None:
        steps = min(self._agent.batch_size(self._total), self.left)
        self._agent.collect(self._reset, self._step, steps)
        self.left -= steps

    def _reset(self) -> int:
        """Begins an episode."""
        observation, info = self._first if self._first is not None else reset_env(self._env)
        self._first = None
        self._changes.begin()
        self._state = self._tally.begin(self._number(observation, info))
        return self._state

    def _step(self, action: int) -> tuple[int, int]:
        """Takes an action: the next state, and 1 where it is terminal, 2 where the episode was
        truncated."""
        chosen = action
        if self._masked is not None:
            chosen = nearest_legal(int(self._masked.legal[self._state][action]), self._mask)
        observation, reward, terminated, truncated, info = step_env(
            self._env, self._actions.element(chosen)
        )
        following = self._number(observation, info)
        self._changes.step(self._state, chosen, following)
        self._tally.record(self._state, chosen, reward, following, bool(terminated))
        self._state = following
        return following, 1 if terminated else 2 if truncated else 0

    def _number(self, observation: Any, info: Any) -> int:
        if self._masked is None:
            return self._states.number(observation)
        self._mask = self._reader.read(observation, info)
        state = self._masked.number(observation)
        if state == len(self._masked.legal):
            self._agent.set_width(state, self._masked.allow(state, self._mask))
        return state
