"""Steps of a finite environment as the learner sees them: states and actions by number."""

from __future__ import annotations

from typing import Any

from .. import _ide3al
from .._protocol import reset_env, step_env
from ..datasets.tally import TransitionTally
from ..encoding.changes import EpisodeChanges
from ..encoding.discrete import DiscoveredStates, SpaceIndex
from ..encoding.masks import Mask, MaskedStates, MaskReader, nearest_legal


class FiniteSteps:
    """``reset`` and ``step`` by number. Where actions are masked, a state has those allowed when
    it was first met, numbered among themselves; one that is not allowed any more is replaced.

    ``first`` is what the first reset returned: it was needed to know whether actions are masked.
    """

    def __init__(
        self,
        agent: _ide3al.Agent,
        env: Any,
        states: SpaceIndex | DiscoveredStates,
        actions: SpaceIndex,
        changes: EpisodeChanges,
        first: tuple[Any, Any],
        tally: TransitionTally,
    ) -> None:
        self._agent, self._env = agent, env
        self._states, self._actions = states, actions
        self._changes, self._tally = changes, tally
        self._first: tuple[Any, Any] | None = first
        self._masked = states if isinstance(states, MaskedStates) else None
        self._reader = MaskReader(env, actions.space, actions.size)
        self._state = 0
        self._mask: Mask | None = None

    def reset(self) -> int:
        """Begins an episode."""
        observation, info = self._first if self._first is not None else reset_env(self._env)
        self._first = None
        self._changes.begin()
        self._state = self._tally.begin(self._number(observation, info))
        return self._state

    def step(self, action: int) -> tuple[int, int]:
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
