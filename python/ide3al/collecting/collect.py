"""Collecting data sets: a plan is followed for some episodes, every episode is saved as it ends, and the next plan is made."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .. import _check as check
from .._display import bar
from .._ide3al import Error
from ..agents.base import Agent
from ..datasets.audit import read, states_match
from ..datasets.dataset import Data, joined
from ..datasets.minari import minari_can_hold, minari_folder, unfinished
from ..datasets.grid_layout import environment_name, grid_cells
from ..encoding.discrete import DiscoveredStates, GrowingIndex, SpaceIndex
from .coverage import Coverage, CoverageStrategy
from .episode import DEFAULT_MAX_STEPS, CollectionError, Episode, Plan
from .journal import EpisodeJournal, collection_folder
from .partitioned import CellSpace, PartitionedEnv, PartitionEncoder
from .policies import policy_name
from .recording import recorded
from .runners.raw_vector_runner import RawVectorRunner
from .runners.single import EpisodeRunner, SingleRunner
from .runners.vector import VectorRunner, is_vector
from .setting import Setting
from .strategies import CollectionStrategy, EntropyStrategy, FixedStrategy, LearningStrategy
from .unlabelled import UnlabelledStates

#: Called with a dictionary after every episode: steps, episodes, and what the plan at hand says.
Progress = Callable[[dict[str, Any]], Any]


def collect(
    env: Any,
    policy: Agent | Any,
    steps: int | None = None,
    *,
    until: Coverage | None = None,
    seed: int | None = 0,
    learn: bool = False,
    states: Agent | None = None,
    dataset_id: str | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    complete: Any = None,
    engine: str | None = None,
    workers: int | None = None,
    episode_steps: int | None = None,
    time_limit: float | None = None,
    cell: Callable[[Any], tuple[int, int] | None] | None = None,
    progress: bool | Progress = False,
) -> Data:
    """Takes ``steps`` steps in ``env`` with an agent or a policy (S, A), resetting after each
    episode; unlike in learning, resets are no steps here. A policy (T, S, A) depends on the step: it begins anew after each
    reset, and its episodes are cut after T steps.

    ``env`` is an environment, many at once (``gymnasium.make_vec``), or a function that makes one; ``engine="ray"`` lets
    ``workers`` runners on a Ray cluster live the episodes, for the same data.

    ``until`` is a promise, such as ``ide3al.Coverage(each_pair=50)``, to go on for, with ``steps`` as the most. IDE3AL plans for what is
    still missing; any other agent and any policy is followed as it is. ``complete`` is a data set to begin with: one that
    :func:`ide3al.audit` reads.

    In a continuous environment ``policy`` is an agent that was fitted there: states are its cells, each told by its middle, and a step is
    one of its decisions, held for ``agent.repeat`` steps of the environment whose rewards are summed.

    With ``learn`` the agent is fitted meanwhile, and the data are the steps that it learns
    from (its own seed counts then); without, it follows what it has learned before.

    ``dataset_id`` ("frozen-lake/ide3al-v0") writes a Minari data set of that name, ``out`` a folder with ``data.npz``,
    ``card.json`` and ``card.html``. Both are written whole or not at all, and until then every episode is saved as it ends: after a crash
    the same call with ``resume=True`` goes on. The last episode is cut where the steps end.

    ``episode_steps`` cuts longer episodes, ``time_limit`` (seconds) gives up on a step that takes longer, ``cell`` places a
    state on a grid of (row, column) for the card's map, ``progress`` shows how far it is.
    """
    if steps is None and until is None:
        raise Error("steps: say how many, or give a promise with until=ide3al.Coverage(...)")
    if steps is not None:
        steps = check.whole("steps", steps)
    if episode_steps is not None:
        episode_steps = check.whole("episode_steps", episode_steps)
    if workers is not None:
        workers = check.whole("workers", workers)
    if time_limit is not None and not check.real("time_limit", time_limit) > 0:
        raise Error(f"time_limit = {time_limit}: seconds above 0 are needed")
    if until is not None and not isinstance(until, Coverage):
        raise Error(f"until = {until!r}: a promise is needed, such as ide3al.Coverage(each_pair=50)")
    if states is not None and not isinstance(states, Agent):
        raise Error(f"states = {states!r}: the agent is needed whose states the data are to have")
    if resume and overwrite:
        raise Error("resume, overwrite: one goes on, the other begins anew; give one of them")
    seed = check.seed_of(seed)
    if learn and not isinstance(policy, Agent):
        raise Error("learn: only an agent can; give one, such as ide3al.IDE3AL()")
    if learn and (resume or until is not None or complete is not None):
        raise Error(
            "learn: an agent that learns from its own steps takes no resume, until or complete; leave one out"
        )
    if resume and out is None and dataset_id is None:
        raise Error("resume: give the out or dataset_id of the collection to go on with")
    if engine not in (None, "ray"):
        raise Error(f"engine = {engine!r}: known is 'ray'; leave it out to collect in this process")
    if workers is not None and engine is None:
        raise Error(
            'workers: only with engine="ray"; for many environments here give gymnasium.make_vec(...)'
        )
    journal_path = _journal_path(dataset_id, out, overwrite, resume)
    own = engine is None and callable(env) and not hasattr(env, "observation_space")
    if own:
        env = env()
    if engine is None:
        check.environment(env)
    setting = None if engine is not None else Setting.of(env, policy, states, learn, until)
    if dataset_id is not None and setting is not None:
        minari_can_hold(*setting.spaces, dataset_id)
    if setting is not None:
        env = setting.env
    view = None if setting is None else setting.view
    initial = None if complete is None else _initial(complete, env, view, until, policy)
    runner, spec = _runner(env, engine, workers, time_limit, initial, policy, own, setting)
    try:
        if learn and engine is None and episode_steps is None and time_limit is None:
            data = recorded(spec, policy, steps or 0)
        else:
            collection = _Collection(
                spec,
                runner,
                policy,
                steps,
                until,
                seed,
                learn,
                episode_steps,
                initial,
                workers or 1,
            )
            data = collection.run(journal_path, resume, _shown(progress, until, steps))
        if setting is not None and not learn:
            data, view = setting.labelled(data)
        if view is not None and "abstraction" not in data.about:
            data = data.replace(about={**data.about, "abstraction": view.to_dict()})
        if view is not None and cell is None and view.flat:
            cell = view.grid_position
        data = data.replace(about={**data.about, "cells": grid_cells(spec, data, cell)})
        return _kept(data, spec, dataset_id, out, journal_path, overwrite)
    finally:
        runner.close()


def _journal_path(
    dataset_id: str | None, out: str | Path | None, overwrite: bool, resume: bool
) -> Path | None:
    """Where episodes are saved as they end; an error if something is there already."""
    if dataset_id is not None:
        minari_folder(dataset_id, overwrite)
    path = None
    if out is not None:
        folder = collection_folder(out)
        if (folder / "data.npz").exists() and not overwrite:
            raise Error(
                f"out = {str(folder)!r}: a data set is there already; choose another folder, or "
                "replace it with overwrite=True"
            )
        path = folder / "episodes.log"
    elif dataset_id is not None:
        path = unfinished(dataset_id) / "episodes.log"
    if path is not None and overwrite:
        path.unlink(missing_ok=True)
    return path


def _initial(
    complete: Any, env: Any, view: PartitionEncoder | None, until: Coverage | None, policy: Any
) -> Data:
    """The data to begin with."""
    initial = read(complete, env=None if callable(env) or view is not None else env, states=view)
    if view is not None:
        held = initial.about.get("abstraction", {}).get("repeat")
        if held != view.repeat:
            raise Error(
                f"complete: these data hold each action for {held or 'an unknown number of'} steps, the agent for {view.repeat}; "
                "fit one with Abstraction(repeat=...) that does the same"
            )
        if until is None or not until.plans(policy):
            raise Error(
                "complete: in a continuous environment only with ide3al.IDE3AL and a promise, until=..."
            )
    return initial


def _runner(
    env: Any,
    engine: str | None,
    workers: int | None,
    time_limit: float | None,
    initial: Data | None,
    policy: Any,
    own: bool,
    setting: Setting | None,
) -> tuple[EpisodeRunner, Any]:
    """Who gives the episodes, and an environment that says what is observed and done."""
    if engine == "ray":
        from .runners.ray import RayRunner

        remote = RayRunner(env, None, workers or 2, time_limit)
        _known(remote.states, policy, initial, remote.env)
        return remote, remote.env
    assert setting is not None
    if is_vector(env) and setting.looks_at_observations:
        if time_limit is not None:
            raise Error("time_limit: not for many environments that are looked at one by one")
        many = RawVectorRunner(
            env, setting.states, setting.actions, setting.policy, setting.view, setting.raw
        )
        _known(many.states, policy, initial, env)
        return many, env
    if is_vector(env):
        vector = VectorRunner(env, setting.states, time_limit)
        _known(vector.states, policy, initial, env)
        return vector, env
    single = SingleRunner(env, setting.states, time_limit, own, setting.policy, setting.actions)
    _known(single.states, policy, initial, env)
    return single, env


def _known(
    states: SpaceIndex | DiscoveredStates, policy: Any, initial: Data | None, env: Any
) -> None:
    """States that were met before have numbers already."""
    if isinstance(states, GrowingIndex) and isinstance(policy, Agent):
        if isinstance(policy._observations, GrowingIndex):
            states.admit(policy._observations.beyond)
    if initial is not None:
        spaces = (
            getattr(env, "single_observation_space", env.observation_space),
            getattr(env, "single_action_space", env.action_space),
        )
        if not states_match(spaces, initial.n_states, initial.n_actions, initial.keys):
            raise Error(
                f"complete: {initial.n_states} states and {initial.n_actions} actions; the environment has {spaces[0]} and {spaces[1]}: "
                "these data are of another environment"
            )
        if isinstance(states, DiscoveredStates):
            states.restart(initial.keys or ())
    if isinstance(states, UnlabelledStates) or isinstance(states.space, CellSpace):
        # without cells there is nothing to number yet; cells are numbered as the agent's
        if initial is None and isinstance(env, PartitionedEnv):
            states.restart(env.view.known())
        return
    if (
        isinstance(states, DiscoveredStates)
        and isinstance(policy, Agent)
        and isinstance(policy._observations, DiscoveredStates)
    ):
        if initial is not None and policy.num_timesteps:
            raise Error(
                "complete: give an agent that has not learned yet: it would number states in another way"
            )
        if initial is None:
            states.restart(policy._observations.keys)


class _Collection:
    """One collection."""

    def __init__(
        self,
        env: Any,
        runner: EpisodeRunner,
        policy: Any,
        steps: int | None,
        until: Coverage | None,
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
        elif until is not None and until.effective_states is not None and until.plans(policy):
            self._strategy = EntropyStrategy(until, policy, env, runner, steps or 100_000)
        elif until is not None and until.plans(policy):
            self._strategy = CoverageStrategy(until, policy, runner)
        else:
            self._strategy = FixedStrategy(policy, runner, until)
        parameters = (
            {k: v for k, v in policy._parameters.items() if v is not None}
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
        self._episodes: list[Episode] = []

    def run(self, path: Path | None, resume: bool, show: Progress) -> Data:
        for episode in self._initial:
            self._strategy.observe(episode)
        journal = None if path is None else EpisodeJournal(path, self._begun, resume)
        try:
            for episode in self._all(journal):
                if journal is not None:
                    journal.add(episode)
                self._observe(episode)
                show(
                    {
                        "steps": self._taken,
                        "episodes": len(self._episodes),
                        **self._strategy.progress(),
                    }
                )
            show(
                {
                    "steps": self._taken,
                    "episodes": len(self._episodes),
                    **self._strategy.progress(),
                    "done": True,
                }
            )
        except CollectionError as problem:
            raise CollectionError(
                f"{problem}; {self._saved(journal)}", self._data()
            ) from problem.__cause__
        except Exception as problem:
            # the environment's own exceptions come through
            problem.add_note(f"ide3al: {self._saved(journal)}")
            with contextlib.suppress(AttributeError):
                problem.data = self._data()  # type: ignore[attr-defined]
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
            plan, info = journal.plan, journal.plan_info
            strategy.resume(plan, info)
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
        steps = 0
        for episode in reversed(self._episodes):
            if episode.plan != plan.number:
                break
            steps += len(episode)
        return steps

    def _truncated(self, episode: Episode) -> Episode:
        left = self._left()
        return episode if left is None else episode.truncate(left)

    def _observe(self, episode: Episode) -> None:
        self._episodes.append(episode)
        self._taken += len(episode)
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


def _kept(
    data: Data, env: Any, dataset_id: str | None, out: str | Path | None, journal_path: Path | None,
    overwrite: bool,
) -> Data:
    """Written where it was asked for; what was saved on the way is not needed any more."""
    if out is not None:
        folder = collection_folder(out)
        folder.mkdir(parents=True, exist_ok=True)
        data.save_card(folder)
        data.save(folder / "data.npz")
    if dataset_id is not None:
        data = data.replace(dataset=data.to_minari(dataset_id, env, overwrite=overwrite))
    if journal_path is not None:
        journal_path.unlink(missing_ok=True)
        if out is None and journal_path.parent.is_dir() and not any(journal_path.parent.iterdir()):
            journal_path.parent.rmdir()
    return data


def _shown(progress: bool | Progress, until: Coverage | None, steps: int | None) -> Progress:
    if callable(progress):
        return progress
    if not progress:
        return lambda _: None

    begun, drawn = time.monotonic(), -math.inf

    def show(now: dict[str, Any]) -> None:
        nonlocal drawn
        seconds = time.monotonic() - begun
        if seconds - drawn < 0.1 and not now.get("done"):
            return
        drawn = seconds
        parts = [f"{now['episodes']} episodes, {now['steps']} steps"]
        if until is None and steps is not None:
            parts = [bar(now["steps"], steps, seconds).lstrip("\r\x1b[K"), parts[0]]
        if "short" in now:
            parts.append(f"{now['short']} {now['unit']} short")
        if now.get("least") is not None:
            parts.append(f"at least {now['least']:.0f} steps more when last planned")
        sys.stderr.write("\r\x1b[K" + "; ".join(parts) + ("\n" if now.get("done") else ""))
        sys.stderr.flush()

    return show


__all__ = ["collect"]
