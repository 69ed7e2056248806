"""What data can be collected with: agents, tables, any function from observations to actions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from .._display import plain
from .._ide3al import Error
from ..agents.base import Agent
from ..encoding.masks import Mask

#: An action for an observation, among those allowed.
Choice = Callable[[Any, Mask | None], Any]


class ObservationPolicy:
    """A policy that looks at observations: a function, or a model of Stable-Baselines3."""

    def __init__(self, policy: Any) -> None:
        method = getattr(policy, "predict", None)
        self._predict = method if callable(method) else None
        self._call = policy if self._predict is None else self._predict
        self._policy = policy
        self._takes_masks = _takes(self._call, "action_masks")
        self._memory: Any = None
        self.name = str(getattr(policy, "__name__", type(policy).__name__))

    def begin(self, rng: np.random.Generator) -> None:
        """An episode begins."""
        self._memory = None
        reset = getattr(self._policy, "reset", None)
        if callable(reset) and self._predict is None:
            self._asked(reset)

    def choose(self, observation: Any, mask: Mask | None) -> Any:
        """An action, as the environment takes it."""
        options = {"action_masks": mask} if self._takes_masks and mask is not None else {}
        if self._predict is None:
            return self._asked(self._call, observation, **options)
        if _takes(self._predict, "episode_start"):
            begun = np.array([self._memory is None])
            options |= {"state": self._memory, "episode_start": begun}
        answer = self._asked(self._predict, observation, **options)
        if isinstance(answer, tuple) and len(answer) == 2:
            # an action, and what a recurrent model remembers
            action, self._memory = answer
            return action
        return answer

    def _asked(self, function: Any, *arguments: Any, **options: Any) -> Any:
        """What a function answers; whatever it raises is an error of the policy, not of the
        environment."""
        try:
            return function(*arguments, **options)
        except Error:
            raise
        except Exception as problem:
            given = f" for {plain(arguments[0])}" if arguments else ""
            raise Error(
                f"policy: {self.name} raised {type(problem).__name__}{given}: {problem}"
            ) from problem


class RandomPolicy:
    """Any action the space holds, all equally likely, among those allowed."""

    name = "random"

    def __init__(self, space: Any) -> None:
        self._space = space
        self._rng = np.random.default_rng(0)

    def begin(self, rng: np.random.Generator) -> None:
        """An episode begins, with a stream of its own."""
        self._rng = rng
        self._space.seed(int(rng.integers(1 << 31)))

    def choose(self, observation: Any, mask: Mask | None) -> Any:
        """An action, as the environment takes it."""
        if mask is not None and type(self._space).__name__ == "Discrete":
            return np.int64(self._rng.choice(np.flatnonzero(mask)) + int(self._space.start))
        return self._space.sample()


def observation_policy(policy: Any, action_space: Any, continuous: bool) -> Any:
    """The policy that looks at observations, if this is one; nothing for agents and tables.

    ``"random"`` is a table where states are finite: uniform over the actions."""
    if isinstance(policy, str):
        if policy != "random":
            raise Error(
                f'policy = {policy!r}: "random" is known; or give an agent, a table (S, A), or a '
                "function from an observation to an action"
            )
        return RandomPolicy(action_space) if continuous else None
    if isinstance(policy, Agent) or isinstance(policy, np.ndarray | list | tuple):
        return None
    if callable(policy) or callable(getattr(policy, "predict", None)):
        return ObservationPolicy(policy)
    return None


def policy_name(policy: Any) -> str:
    """As the card says it."""
    if isinstance(policy, Agent):
        return type(policy).__name__
    if isinstance(policy, str):
        return policy
    if callable(policy) or hasattr(policy, "predict"):
        return str(getattr(policy, "__name__", type(policy).__name__))
    return "policy"


def _takes(function: Any, name: str) -> bool:
    """Whether a function has a parameter of this name."""
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
