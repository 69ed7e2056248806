"""Episodes of many environments at once, for policies that look at observations and for cells."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._ide3al import Error
from ..datasets.episode import Episode
from ..encoding.abstraction import ActionGrid
from ..encoding.discrete import DiscoveredStates, SpaceIndex
from ..encoding.masks import Mask, is_allowed, nearest_legal
from ..encoding.partitioned import TERMINAL_KEY, PartitionEncoder
from ..encoding.raw import RawRecorder
from .base import Budget
from .drawing import drawn, element_of
from .plan import Plan
from .raw_vector import RawVector
from .sampler import seeds


class _Open:
    """An episode in progress in one of the environments."""

    def __init__(self, observation: Any, state: int) -> None:
        self.observation, self.recorder = observation, RawRecorder()
        self.recorder.begin(observation)
        self.visited, self.tried, self.rewards = [state], list[int](), list[Any]()
        #: The action that is held, and for how many steps more.
        self.action, self.element, self.left = 0, None, 0
        self.total: Any = 0.0


class RawVectorRunner:
    """Gives episodes in the order in which they end; those in progress go on under the next plan.

    ``view`` are cells, whose actions are held; without it ``states`` numbers observations."""

    def __init__(
        self,
        env: Any,
        states: SpaceIndex | DiscoveredStates,
        actions: SpaceIndex | ActionGrid,
        policy: Any,
        view: PartitionEncoder | None,
        raw: bool,
    ) -> None:
        self._vector = RawVector(env, actions)
        self.states, self.actions = states, actions
        self._policy, self._view, self._raw = policy, view, raw
        self._space = env.single_action_space
        self._rng = np.random.default_rng(0)
        self._open: list[_Open] = []
        self._ready: deque[Episode] = deque()
        self._known = states.size

    def episodes(
        self,
        plan: Plan,
        seed: int,
        first: int,
        count: int | None,
        left: Budget,
        max_steps: int | None,
    ) -> Iterator[Episode]:
        if plan.length is not None:
            raise Error(
                "policy: one that depends on the step begins anew with every episode, and vector "
                "environments start over by themselves only; give one environment, or a policy "
                "(S, A)"
            )
        if not self._open:
            reset, self._rng = seeds(seed, first)
            if self._policy is not None:
                self._policy.begin(self._rng)
            self._open = [self._begin(o) for o in self._vector.reset(reset)]
        given = 0
        while count is None or given < count:
            if self._ready:
                given += 1
                yield self._ready.popleft()
                continue
            wanted = left()
            if wanted is not None and sum(len(one.tried) for one in self._open) >= wanted:
                return
            self._step(plan, max_steps)

    def _step(self, plan: Plan, max_steps: int | None) -> None:
        repeat = 1 if self._view is None else self._view.repeat
        for one, mask in zip(self._open, self._vector.masks, strict=True):
            if one.left <= 0:
                self._decide(one, plan, mask)
                one.left = repeat
        moved = self._vector.step([one.element for one in self._open])
        for k, one in enumerate(self._open):
            if moved.stepped[k]:
                held = one.left < repeat
                one.left -= 1
                one.observation = moved.reached[k]
                one.recorder.step(one.element, moved.rewards[k], one.observation, decided=not held)
                one.total = one.total + moved.rewards[k]
                terminated = bool(moved.terminated[k])
                over = terminated or bool(moved.truncated[k])
                if over or one.left <= 0 or not is_allowed(one.action, self._vector.masks[k]):
                    self._decided(one, terminated)
                if over or len(one.tried) == max_steps:
                    self._ready.append(self._ended(one, terminated, plan.number))
                    self._open[k] = self._begin(one.observation)
            if moved.begun[k]:
                self._open[k] = self._begin(moved.observations[k])

    def _decide(self, one: _Open, plan: Plan, mask: Mask | None) -> None:
        if self._policy is None:
            choice = drawn(plan, one.visited[-1], self._rng, self.actions.size)
            one.action = nearest_legal(choice, mask)
            one.element = self.actions.element(one.action)
        else:
            choice = self._policy.choose(one.observation, mask)
            one.element = element_of(choice, self._space, self.actions)
            one.action = self.actions.number(one.element)
            if not is_allowed(one.action, mask):
                raise Error(
                    f"policy: chose {one.element!r}, which is not allowed here; give a function "
                    "that takes action_masks, too"
                )
        one.total = 0.0

    def _decided(self, one: _Open, terminated: bool) -> None:
        one.left = 0
        one.visited.append(self._number(one.observation, terminated))
        one.tried.append(one.action)
        one.rewards.append(one.total)

    def _number(self, observation: Any, terminated: bool) -> int:
        if self._view is None:
            return self.states.number(observation)
        assert isinstance(self.states, DiscoveredStates)
        return self.states.take(TERMINAL_KEY if terminated else self._view(observation))

    def _begin(self, observation: Any) -> _Open:
        return _Open(observation, self._number(observation, False))

    def _ended(self, one: _Open, terminated: bool, plan: int) -> Episode:
        found: tuple[Any, ...] = ()
        if isinstance(self.states, DiscoveredStates) and self.states.size > self._known:
            found, self._known = tuple(self.states.keys[self._known :]), self.states.size
        return Episode(
            np.array(one.visited, dtype=np.int64),
            np.array(one.tried, dtype=np.int64),
            np.array(one.rewards, dtype=np.float64),
            terminated,
            not terminated,
            plan,
            found,
            one.recorder.episode() if self._raw else None,
        )

    def drain(self, plan: int) -> Iterator[Episode]:
        """Episodes that nobody took, and those in progress, cut here."""
        while self._ready:
            yield self._ready.popleft()
        for one in self._open:
            if one.left > 0 and len(one.recorder) and one.left < self._repeat:
                # an action is held at the moment: the decision ends here
                self._decided(one, False)
            if one.tried:
                yield self._ended(one, False, plan)
        self._open = []

    @property
    def _repeat(self) -> int:
        return 1 if self._view is None else self._view.repeat

    def close(self) -> None:
        """The environment is the caller's."""
