"""Observations of an environment as states of a plan, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._display import plain
from .._ide3al import Error
from ..encoding.adaptive import AdaptivePartition
from ..encoding.discrete import DiscoveredStates, GrowingIndex, SpaceIndex, from_key


class Decoder:
    """The states of an agent: the number of an observation, the observation of a number, and the
    action of a number."""

    def __init__(
        self,
        encoder: SpaceIndex | DiscoveredStates | None,
        actions: Any,
        partition: AdaptivePartition | None,
        n_states: int,
    ) -> None:
        self.encoder, self.actions, self.partition = encoder, actions, partition
        self.n_states = n_states

    @property
    def declared(self) -> bool:
        """Whether the number of states was known before any was met."""
        beyond = isinstance(self.encoder, GrowingIndex) and bool(self.encoder.beyond)
        return self.partition is None and isinstance(self.encoder, SpaceIndex) and not beyond

    @property
    def repeat(self) -> int:
        """Steps of the environment that an action is held for."""
        return 1 if self.partition is None else self.partition.repeat

    def state(self, observation: Any) -> int | None:
        """The number of an observation, if it was met."""
        if self.partition is not None:
            return self.partition.find(self.partition.vector(observation), self.n_states)
        if self.encoder is None:
            raise Error("give env=... to load, before observations can be told apart")
        if isinstance(self.encoder, SpaceIndex) and not isinstance(self.encoder, GrowingIndex):
            return self.encoder.number(observation)
        found = self.encoder.find(observation)
        return None if found is None or found >= self.n_states else found

    def observation(self, state: int) -> Any:
        """The observation of a number; of a cell its middle."""
        if self.partition is not None:
            return np.asarray(self.partition.states[state])
        if self.encoder is None:
            raise Error("give env=... to load, before observations can be told apart")
        if isinstance(self.encoder, SpaceIndex):
            return self.encoder.element(state)
        return from_key(self.encoder.space, self.encoder.keys[state])

    def action(self, number: int) -> Any:
        """The action of a number."""
        if self.actions is None:
            raise Error("give env=... to load, before actions can be named")
        return self.actions.element(number)

    def matching(self, goal: Any, what: str, met: list[int]) -> list[int]:
        """The states met that a goal means: an observation, a list of them, or a predicate."""
        if callable(goal):

            def holds(observation: Any) -> bool:
                return bool(goal(observation))

            return [s for s in met if self._asked(holds, (self.observation(s),), what)]
        many = isinstance(goal, list)
        found = []
        for one in goal if many else [goal]:
            state = self.state(one)
            if state is None or state not in met:
                raise Error(f"{what} = {plain(one)} was never met; {self.summary(met)}")
            found.append(state)
        return found

    def summary(self, met: list[int]) -> str:
        """What was met, in short."""
        few = ", ".join(plain(self.observation(s)) for s in met[:3])
        return f"{len(met)} states were met, such as {few}; explore further, or choose among them"

    def observed(self, reward: Callable[..., Any], n_arguments: int) -> Callable[..., float]:
        """A function of observations, of the last alone or of all three, whose errors are named."""

        def of(observation: Any, action: Any, reached: Any) -> float:
            arguments = (observation, action, reached)[3 - n_arguments :]
            return _number(self._asked(reward, arguments, "reward"), arguments)

        return of

    def earned(self, reward: Callable[..., Any], n_arguments: int) -> Callable[..., float]:
        """The same of state, action and next state, by number."""
        observed = self.observed(reward, n_arguments)

        def of(state: int, action: int, reached: int) -> float:
            first = None if n_arguments == 1 else self.observation(state)
            taken = None if n_arguments == 1 else self.action(action)
            return observed(first, taken, self.observation(reached))

        return of

    @staticmethod
    def _asked(function: Callable[..., Any], arguments: tuple[Any, ...], what: str) -> Any:
        try:
            return function(*arguments)
        except Exception as problem:
            raise Error(
                f"{what}: the function raised {type(problem).__name__} for {plain(arguments)}: "
                f"{problem}"
            ) from problem


def _number(value: Any, arguments: tuple[Any, ...]) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise Error(
            f"reward: the function returned {value!r} for {plain(arguments)}, not a number"
        ) from None
    if not np.isfinite(number):
        raise Error(
            f"reward: the function returned {number} for {plain(arguments)}; a finite number is "
            "needed"
        )
    return number
