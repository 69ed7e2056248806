"""One collection: episodes taken, saved as they end, and handed to the strategy that plans the
next."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..agents.base import Agent
from ..agents.rollouts.episodes import LearningStrategy
from ..datasets.coverage import Coverage
from ..datasets.dataset import Data, joined
from ..datasets.episode import Episode
from ..datasets.grid_layout import environment_name
from ..encoding.discrete import DiscoveredStates, GrowingIndex
from ..planning.accuracy import Accuracy
from ..runners.base import CollectionError, EpisodeRunner
from ..runners.plan import Plan
from ..runners.sampler import DEFAULT_MAX_STEPS
from .journal import EpisodeJournal
from .policies import policy_name
from .strategies.accuracy import AccuracyStrategy
from .strategies.base import CollectionStrategy
from .strategies.coverage import CoverageStrategy, plans_for
from .strategies.entropy import EntropyStrategy
from .strategies.fixed import FixedStrategy

#: Called with a dictionary after every episode: steps, episodes, and what the plan at hand says.
Progress = Callable[[dict[str, Any]], Any]


class CollectionSession:
    """One collection."""

    def __init__(
        self,
        env: Any,
        runner: EpisodeRunner,
        policy: Any,
        steps: int | None,
        until: Coverage | Accuracy | None,
        seed: int,
        learn: bool,
        episode_steps: int | None,
        initial: Data | None,
        workers: int,
    ) -> None:
        self._runner, self._seed, self._steps = runner, seed, steps
        self._initial = [] if initial is None else initial.episodes()
        limit = getattr(getattr(env, "spec", None), "max_episode_steps", None)
        waits = until is not None or learn
        self._longest = episode_steps or ((limit or DEFAULT_MAX_STEPS) if waits else None)
        self._spaces = (
            getattr(env, "single_observation_space", env.observation_space),
            getattr(env, "single_action_space", env.action_space),
        )
        self._strategy: CollectionStrategy
        if learn:
            self._strategy = LearningStrategy(policy, env, runner, steps or 0, workers)
        elif isinstance(until, Accuracy):
            self._strategy = AccuracyStrategy(until, runner)
        elif until is not None and until.effective_states is not None and plans_for(until, policy):
            self._strategy = EntropyStrategy(until, policy, env, runner, steps or 100_000)
        elif until is not None and plans_for(until, policy):
            self._strategy = CoverageStrategy(until, policy, runner, steps)
        else:
            self._strategy = FixedStrategy(policy, runner, until)
        parameters = (
            {k: v for k, v in policy.parameters.items() if v is not None}
            if isinstance(policy, Agent)
            else {}
        )
        self._about: dict[str, Any] = {
            "environment": environment_name(env),
            "policy": {"name": policy_name(policy), "parameters": parameters},
            "seed": seed,
            "episode_steps": self._longest,
        }
        if initial is not None:
            self._about["completes"] = {
                "steps": len(initial),
                **{k: initial.about[k] for k in ("environment", "policy") if k in initial.about},
            }
        self._begun = {
            **self._about,
            "steps": steps,
            "until": None if until is None else until.to_dict(),
            "spaces": [str(space) for space in self._spaces],
            "start": self._strategy.digest(),
            "initial": len(self._initial),
            "environments": getattr(env, "num_envs", 1),
        }
        self._taken = 0
        self._plan_steps: dict[int, int] = {}
        self._episodes: list[Episode] = []

    def run(self, path: Path | None, resume: bool, show: Progress | None) -> Data:
        for episode in self._initial:
            self._strategy.observe(episode)
        journal = None if path is None else EpisodeJournal(path, self._begun, resume)
        try:
            for episode in self._all(journal):
                if journal is not None:
                    journal.add(episode)
                self._observe(episode)
                self._show(show)
            self._show(show, done=True)
        except CollectionError as problem:
            raise CollectionError(
                f"{problem}; {self._saved(journal)}", self._data()
            ) from problem.__cause__
        except (Exception, KeyboardInterrupt) as problem:
            # the environment's own exceptions come through, and Ctrl-C with what was collected
            problem.add_note(f"ide3al: {self._saved(journal)}")
            with contextlib.suppress(AttributeError):
                setattr(problem, "data", self._data())  # noqa: B010  (no field of these types)
            raise
        finally:
            if journal is not None:
                journal.close()
        promise = self._strategy.promise()
        if promise is not None:
            self._about["promise"] = promise
            if promise.get("reason"):
                raise CollectionError(f"{promise['reason']}; {self._saved(journal)}", self._data())
        return self._data()

    def _show(self, show: Progress | None, **more: bool) -> None:
        """Tells how far it is, where anybody asked: what is missing takes a look at every pair."""
        if show is not None:
            now = {"steps": self._taken, "episodes": len(self._episodes)}
            show({**now, **self._strategy.progress(), **more})

    def _all(self, journal: EpisodeJournal | None) -> Iterator[Episode]:
        runner, strategy = self._runner, self._strategy
        plan, count, budget = None, None, None
        if journal is not None and journal.episodes:
            for episode in journal.episodes:
                if isinstance(runner.states, DiscoveredStates):
                    for key in episode.found:
                        runner.states.take(key)
                self._observe(episode)
        if journal is not None and journal.plan is not None:
            # the plan at hand, as far as it was not followed yet
            info = journal.plan_info
            plan = strategy.resume(journal.plan, info)
            budget = info[-1].get("batch")
            if info[-1]["count"] is not None:
                count = info[-1]["count"] - sum(
                    episode.plan == plan.number for episode in journal.episodes
                )
                if budget is not None and self._of_plan(plan) >= budget:
                    count = 0
        while not self._done():
            if plan is None or count == 0:
                scheduled = strategy.next_plan()
                if scheduled is None:
                    break
                plan, count, about = scheduled
                budget = about.get("batch")
                if journal is not None:
                    journal.record_plan(plan, {**about, "count": count})
            before = len(self._episodes)
            for episode in runner.episodes(
                plan, self._seed, before, count, self._left, self._longest
            ):
                yield self._truncated(episode)
                # episodes that turn out longer than they were bring more than they were planned for
                if self._done() or (budget is not None and self._of_plan(plan) >= budget):
                    break
            if count is None:
                break
            count = 0
        left = self._left()
        for episode in runner.drain(0 if plan is None else plan.number):
            if left is None or left > 0:
                yield self._truncated(episode)
                left = self._left()

    def _of_plan(self, plan: Plan) -> int:
        """Steps taken with it."""
        return self._plan_steps.get(plan.number, 0)

    def _truncated(self, episode: Episode) -> Episode:
        left = self._left()
        return episode if left is None else episode.truncate(left)

    def _observe(self, episode: Episode) -> None:
        self._episodes.append(episode)
        self._taken += len(episode)
        self._plan_steps[episode.plan] = self._plan_steps.get(episode.plan, 0) + len(episode)
        self._strategy.observe(episode)

    def _left(self) -> int | None:
        return None if self._steps is None else self._steps - self._taken

    def _done(self) -> bool:
        return (self._steps is not None and self._taken >= self._steps) or self._strategy.done()

    def _data(self) -> Data:
        states = self._runner.states
        if isinstance(states, GrowingIndex) and states.beyond:
            self._about["notes"] = [
                f"{len(states.beyond)} states lie beyond the declared space {states.space}"
            ]
            states = states.as_discovered()
        keys = tuple(states.keys) if isinstance(states, DiscoveredStates) else None
        everything = [*self._initial, *self._episodes]
        about = {**self._about, "plans": self._strategy.plan_info()}
        return joined(everything, states.size, self._runner.actions.size, keys, about, self._spaces)

    def _saved(self, journal: EpisodeJournal | None) -> str:
        kept = f"{len(self._episodes)} episodes ({self._taken} steps)"
        if journal is None:
            return f"{kept} are in this error's data"
        return f"{kept} are saved in {journal.path}; go on with resume=True"
