"""The loop of learning: a batch of steps is taken, then the agent learns from all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from ... import _ide3al
from ..._display import Progress
from ..learner import Learner

#: Called with the agent after each batch; False ends the fit.
Callback = Callable[[Any], Any]


class Rollout(ABC):
    """Where an agent's steps come from."""

    #: Steps that may still be taken.
    left: int

    @abstractmethod
    def collect(self) -> None:
        """Takes a batch of steps by the agent's policy, and records them in the agent."""

    def close(self) -> None:  # noqa: B027  (most have opened nothing)
        """Gives back what was opened."""


def train(
    agent: Learner, rollout: Rollout, total: int, progress_bar: bool, callback: Callback | None
) -> None:
    """Takes batches of steps until none of ``total`` are left, and learns after each."""
    try:
        with Progress(total, progress_bar) as show:
            while rollout.left > 0:
                rollout.collect()
                _ide3al.agent_learn(agent.fitted(), rollout.left <= 0)
                show(total - max(rollout.left, 0), total, agent)
                if callback is not None and callback(agent) is False:
                    break
    finally:
        rollout.close()
