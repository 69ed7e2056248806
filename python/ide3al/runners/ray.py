"""Environment runners on a Ray cluster. An episode is a function of the plan, the seed and its
number, so that one whose runner died is simply taken again by another, and the data do not
depend on who took which."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._extras import need
from .._ide3al import Error
from ..datasets.episode import Episode
from ..encoding.discrete import DiscoveredStates, SpaceIndex
from .base import Budget, CollectionError, smallest
from .plan import Plan
from .single import SingleRunner

#: How often a runner may die of the same episodes.
_TRIES = 3
#: Seconds that one task should take: short enough to lose little, long enough to hide the way
# there and back.
_TASK = 0.1

MakeEnv = Callable[[], Any]


class _RemoteRunner:
    """A runner in a process of its own."""

    def __init__(self, make_env: MakeEnv, time_limit: float | None) -> None:
        self._runner = SingleRunner(made(make_env), None, time_limit)
        self._plan: Plan | None = None
        self._known = 0

    def ready(self) -> bool:
        return True

    def run(
        self,
        plan: Plan,
        keys: Sequence[Hashable] | None,
        seed: int,
        first: int,
        count: int,
        max_steps: int | None,
    ) -> list[Episode]:
        states = self._runner.states
        if self._plan is None or self._plan.number != plan.number:
            self._plan = plan
            if isinstance(states, DiscoveredStates):
                states.restart(keys or ())
                self._known = states.size
        episodes = []
        for number in range(first, first + count):
            episodes.append(self._runner.one(plan, seed, number, max_steps))
            if isinstance(states, DiscoveredStates):
                states.forget(self._known)
        return episodes


def made(make_env: Any) -> Any:
    """An environment from whatever makes one."""
    if not callable(make_env):
        raise Error(
            f"{type(make_env).__name__}: runners elsewhere need a function that makes an environment, such as "
            'lambda: gymnasium.make("Taxi-v4")'
        )
    return make_env()


class RayRunner:
    """Episodes taken by runners on a cluster, given in order."""

    def __init__(
        self,
        make_env: MakeEnv,
        states: SpaceIndex | DiscoveredStates | None,
        workers: int,
        time_limit: float | None,
    ) -> None:
        if workers < 1:
            raise Error(f"workers = {workers}: at least 1 is needed")
        self._ray = need("ray", "ray")
        # one here as well: it says what is observed and done
        self.env = made(make_env)
        local = SingleRunner(self.env, states, None)
        self.states, self.actions = local.states, local.actions
        if not self._ray.is_initialized():
            self._ray.init(include_dashboard=False, log_to_driver=False)
        # a runner that died is replaced here, and its work given to another
        self._class = self._ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(
            _RemoteRunner
        )
        self._given = make_env, time_limit
        self._runners = [self._class.remote(*self._given) for _ in range(workers)]
        self._chunk = 1
        #: Runners that were replaced.
        self.replaced = 0

    def episodes(
        self,
        plan: Plan,
        seed: int,
        first: int,
        count: int | None,
        left: Budget,
        max_steps: int | None,
    ) -> Iterator[Episode]:
        ray = self._ray
        known = self.states.size
        sent = (
            ray.put(plan),
            ray.put(self.states.keys if isinstance(self.states, DiscoveredStates) else None),
        )
        limit = smallest(max_steps, left())
        waiting: dict[Any, tuple[int, int, int, float]] = {}
        idle = list(range(len(self._runners)))
        again: list[tuple[int, int]] = []
        tries: dict[int, int] = {}
        ready: dict[int, list[Episode]] = {}
        begun, given = first, first
        try:
            while count is None or given < first + count:
                if given in ready:
                    for episode in ready.pop(given):
                        given += 1
                        yield self._numbered(episode, known)
                    continue
                while idle and (again or count is None or begun < first + count):
                    # never further ahead than a few tasks per runner: what is not taken is thrown
                    # away
                    if not again and begun - given > 4 * self._chunk * len(self._runners):
                        break
                    if again:
                        job = again.pop(0)
                    else:
                        size = (
                            self._chunk
                            if count is None
                            else min(self._chunk, first + count - begun)
                        )
                        job, begun = (begun, size), begun + size
                    runner = idle.pop(0)
                    reference = self._runners[runner].run.remote(*sent, seed, *job, limit)
                    waiting[reference] = (runner, *job, time.monotonic())
                # with a time limit, so that Ctrl-C is noticed
                done, _ = ray.wait(list(waiting), num_returns=1, timeout=1.0)
                for reference in done:
                    runner, start, size, since = waiting.pop(reference)
                    try:
                        ready[start] = ray.get(reference)
                    except ray.exceptions.RayTaskError as problem:
                        # the environment raised: it would again
                        raise problem.cause from None
                    except ray.exceptions.RayError as problem:
                        # the runner, or the machine that it was on, is gone
                        tries[start] = tries.get(start, 0) + 1
                        if tries[start] >= _TRIES:
                            raise CollectionError(
                                f"{_TRIES} runners died in episodes {start} to {start + size - 1}, the last one with: {problem}"
                            ) from None
                        self._runners[runner] = self._class.remote(*self._given)
                        self.replaced += 1
                        again.append((start, size))
                    else:
                        took = time.monotonic() - since
                        if size == self._chunk and took < _TASK and self._chunk < 256:
                            self._chunk *= 2
                    idle.append(runner)
        finally:
            for reference in waiting:
                ray.cancel(reference)

    def _numbered(self, episode: Episode, known: int) -> Episode:
        """States found by a runner get the numbers that they have, or will have, for everybody."""
        if not isinstance(self.states, DiscoveredStates) or not episode.found:
            return episode
        before = self.states.size
        numbers = np.array([self.states.take(key) for key in episode.found], dtype=np.int64)
        states = episode.states.copy()
        new = states >= known
        states[new] = numbers[states[new] - known]
        found = tuple(self.states.keys[before:]) if self.states.size > before else ()
        return replace(episode, states=states, found=found)

    def drain(self, plan: int) -> Iterator[Episode]:
        return iter(())

    def close(self) -> None:
        for runner in self._runners:
            self._ray.kill(runner)
        self.env.close()
