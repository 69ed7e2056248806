"""A policy followed in an environment: what it earned, episode by episode."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._display import html_table, text_table
from .._ide3al import Error
from .._protocol import reset_env, step_env
from ..types import Floats, Integers


@dataclass(frozen=True, repr=False)
class Evaluation:
    """Episodes of a policy: what they earned, how long they were, and how they ended."""

    #: Sum of the rewards of each episode, and the same discounted.
    returns: Floats
    discounted: Floats
    #: Steps of each episode.
    lengths: Integers
    #: Whether each ended in a terminal state or, where there is one, at the goal.
    finished: npt.NDArray[np.bool_]

    @property
    def mean(self) -> float:
        """Mean return of an episode."""
        return float(self.returns.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of the mean return."""
        n = len(self.returns)
        return float(self.returns.std(ddof=1) / math.sqrt(n)) if n > 1 else math.inf

    def _rows(self) -> list[tuple[str, str]]:
        spread = 1.96 * self.standard_error
        return [
            ("episodes", str(len(self.returns))),
            ("mean return", f"{self.mean:.5g} (plus or minus {spread:.2g}, 95 %)"),
            ("discounted", f"{float(self.discounted.mean()):.5g} on average"),
            ("mean length", f"{float(self.lengths.mean()):.5g} steps"),
            ("finished", f"{100 * float(self.finished.mean()):.1f} % of the episodes"),
        ]

    def __repr__(self) -> str:
        return text_table("Evaluation", self._rows())

    def _repr_html_(self) -> str:
        return html_table("Evaluation", self._rows())


def roll_out(
    env: Any,
    act: Callable[[Any, int], Any],
    begin: Callable[[], None],
    goal: Callable[[Any], bool] | None,
    earned: Callable[[Any, Any, Any], float] | None,
    discount: float,
    episodes: int,
    max_steps: int,
    seed: int,
) -> Evaluation:
    """Follows ``act(observation, step)`` for some episodes. With a goal an episode ends there;
    ``earned(observation, action, next observation)`` replaces the rewards."""
    if episodes < 1:
        raise Error(f"episodes = {episodes}: at least 1 is needed")
    if max_steps < 1:
        raise Error(f"max_steps = {max_steps}: at least 1 is needed")
    returns, discounted = np.zeros(episodes), np.zeros(episodes)
    lengths = np.zeros(episodes, dtype=np.int64)
    finished = np.zeros(episodes, dtype=np.bool_)
    for k in range(episodes):
        observation, _ = reset_env(env, seed=seed) if k == 0 else reset_env(env)
        begin()
        for step in range(max_steps):
            if goal is not None and goal(observation):
                finished[k] = True
                break
            action = act(observation, step)
            reached, reward, terminated, truncated, _ = step_env(env, action)
            if earned is not None:
                reward = earned(observation, action, reached)
            elif goal is not None:
                reward = float(goal(reached))
            returns[k] += reward
            discounted[k] += discount**step * reward
            lengths[k] = step + 1
            observation = reached
            if terminated:
                finished[k] = goal is None or goal(observation)
                break
            if truncated:
                finished[k] = goal is not None and goal(observation)
                break
        else:
            # the last step that is allowed may have reached the goal
            finished[k] = goal is not None and goal(observation)
    return Evaluation(returns, discounted, lengths, finished)
