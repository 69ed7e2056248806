"""Episodes of one environment, in this process."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Iterator
from typing import Any

from .._ide3al import Error
from ..datasets.episode import Episode
from ..encoding.abstraction import ActionGrid
from ..encoding.discrete import DiscoveredStates, SpaceIndex
from .base import Budget, CollectionError, smallest
from .plan import Plan
from .sampler import EpisodeSampler


class SingleRunner:
    """One environment, in this process."""

    def __init__(
        self,
        env: Any,
        states: SpaceIndex | DiscoveredStates | None,
        time_limit: float | None,
        own: bool = False,
        policy: Any = None,
        actions: SpaceIndex | ActionGrid | None = None,
    ) -> None:
        self._sampler = EpisodeSampler(env, states, policy, actions)
        self.states, self.actions = self._sampler.states, self._sampler.actions
        self._time_limit, self._own = time_limit, own

    def episodes(
        self,
        plan: Plan,
        seed: int,
        first: int,
        count: int | None,
        left: Budget,
        max_steps: int | None,
    ) -> Iterator[Episode]:
        number = first
        while count is None or number < first + count:
            yield self.one(plan, seed, number, smallest(max_steps, left()))
            number += 1

    def one(self, plan: Plan, seed: int, number: int, max_steps: int | None) -> Episode:
        """One episode; what goes wrong in it says so."""
        sampler = self._sampler
        before = sampler.taken
        try:
            if self._time_limit is None:
                return sampler.sample(plan, seed, number, max_steps)
            return self._watched(plan, seed, number, max_steps, self._time_limit)
        except Error:
            raise
        except Exception as problem:
            steps = max(sampler.taken - before - 1, 0)
            problem.add_note(
                f"ide3al: the environment raised this in episode {number}, after {steps} steps"
            )
            raise

    def _watched(
        self, plan: Plan, seed: int, number: int, max_steps: int | None, limit: float
    ) -> Episode:
        """On a thread of its own, that is left behind if a step never ends."""
        sampler = self._sampler
        done: queue.SimpleQueue[Episode | BaseException] = queue.SimpleQueue()

        def work() -> None:
            try:
                done.put(sampler.sample(plan, seed, number, max_steps))
            except BaseException as problem:  # raised again where somebody waits
                done.put(problem)

        threading.Thread(target=work, daemon=True).start()
        seen, since = sampler.taken, time.monotonic()
        outcome: Episode | BaseException | None = None
        try:
            while outcome is None:
                with contextlib.suppress(queue.Empty):
                    outcome = done.get(timeout=min(0.05, limit / 4))
                if sampler.taken != seen:
                    seen, since = sampler.taken, time.monotonic()
                elif outcome is None and time.monotonic() - since > limit:
                    raise CollectionError(
                        f"episode {number}: a reset or step took longer than step_time_limit = "
                        f"{limit:g} s"
                    )
        finally:
            # after the limit or Ctrl-C the environment is left alone as soon as it returns
            sampler.is_abandoned = outcome is None
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def drain(self, plan: int) -> Iterator[Episode]:
        return iter(())

    def close(self) -> None:
        if self._own:
            self._sampler.env.close()
