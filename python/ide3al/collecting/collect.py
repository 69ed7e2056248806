"""Collecting data sets: a plan is followed for some episodes, every episode is saved as it ends, and the next plan is made."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .. import _ide3al
from .._ide3al import Error
from ..agents.base import Agent
from ..datasets.audit import read, states_match
from ..datasets.dataset import Data, joined
from ..datasets.formats import minari_folder, unfinished
from ..datasets.grid_layout import cells_of, environment_name
from ..encoding.discrete import Found, Index, states_of
from .coverage import Coverage, Promised
from .episode import LONGEST, CollectionError, Episode, Plan
from .journal import Store, folder_of
from .partitioned import Celled, View, viewed
from .recording import recorded
from .runners.single import SingleSource, Source
from .runners.vector import VectorSource, is_vector
from .strategies import Evened, Fixed, Learning, Planner

#: Called with a dictionary after every episode: steps, episodes, and what the plan at hand says.
Progress = Callable[[dict[str, Any]], Any]


def collect(
    env: Any,
    policy: Agent | Any,
    steps: int | None = None,
    *,
    until: Coverage | None = None,
    seed: int = 0,
    learn: bool = False,
    dataset_id: str | None = None,
    out: str | Path | None = None,
    resume: bool = False,
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
    for name, number in (("steps", steps), ("episode_steps", episode_steps)):
        if number is not None and number < 1:
            raise Error(f"{name} = {number}: at least 1 is needed")
    if time_limit is not None and not time_limit > 0:
        raise Error(f"time_limit = {time_limit}: seconds above 0 are needed")
    if seed < 0:
        raise Error(f"seed = {seed}: must not be negative")
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
    place = _place(dataset_id, out)
    own = engine is None and callable(env) and not hasattr(env, "observation_space")
    if own:
        env = env()
    view = None if engine is not None else viewed(None if learn else policy, env)
    if view is not None:
        if dataset_id is not None:
            raise Error(
                "dataset_id: these data are of cells, which Minari has no space for; keep them with out=..."
            )
        env = Celled(env, view)
    given = None if complete is None else _given(complete, env, view, until, policy)
    source, spec = _source(env, engine, workers, time_limit, given, policy, own)
    try:
        if learn and engine is None and episode_steps is None and time_limit is None:
            data = recorded(spec, policy, steps or 0)
        else:
            work = _Work(
                spec, source, policy, steps, until, seed, learn, episode_steps, given, workers or 1
            )
            data = work.collect(place, resume, _shown(progress, until))
        if view is not None:
            data = data.replace(about={**data.about, "abstraction": view.said()})
            cell = view.place if cell is None and view.flat else cell
        data = data.replace(about={**data.about, "cells": cells_of(spec, data, cell)})
        return _kept(data, spec, dataset_id, out, place)
    finally:
        source.close()


def _place(dataset_id: str | None, out: str | Path | None) -> Path | None:
    """Where episodes are saved as they end; an error if something is there already."""
    if dataset_id is not None:
        minari_folder(dataset_id)
    if out is not None:
        folder = folder_of(out)
        if (folder / "data.npz").exists():
            raise Error(
                f"out = {str(folder)!r}: a data set is there already; choose another folder"
            )
        return folder / "episodes.log"
    return None if dataset_id is None else unfinished(dataset_id) / "episodes.log"


def _given(complete: Any, env: Any, view: View | None, until: Coverage | None, policy: Any) -> Data:
    """The data to begin with."""
    given = read(complete, env=None if callable(env) or view is not None else env, states=view)
    if view is not None:
        held = given.about.get("abstraction", {}).get("repeat")
        if held != view.repeat:
            raise Error(
                f"complete: these data hold each action for {held or 'an unknown number of'} steps, the agent for {view.repeat}; "
                "fit one with Abstraction(repeat=...) that does the same"
            )
        if until is None or not until.plans(policy):
            raise Error(
                "complete: in a continuous environment only with ide3al.IDE3AL and a promise, until=..."
            )
    return given


def _source(
    env: Any,
    engine: str | None,
    workers: int | None,
    time_limit: float | None,
    given: Data | None,
    policy: Any,
    own: bool,
) -> tuple[Source, Any]:
    """Who gives the episodes, and an environment that says what is observed and done."""
    if engine == "ray":
        from .runners.ray import RaySource

        remote = RaySource(env, None, workers or 2, time_limit)
        _known(remote.states, policy, given, remote.env)
        return remote, remote.env
    if is_vector(env):
        vector = VectorSource(env, states_of(env.single_observation_space), time_limit)
        _known(vector.states, policy, given, env)
        return vector, env
    single = SingleSource(env, None, time_limit, own)
    _known(single.states, policy, given, env)
    return single, env


def _known(states: Index | Found, policy: Any, given: Data | None, env: Any) -> None:
    """States that were met before have numbers already."""
    if given is not None:
        spaces = (
            getattr(env, "single_observation_space", env.observation_space),
            getattr(env, "single_action_space", env.action_space),
        )
        if not states_match(spaces, given.n_states, given.n_actions, given.states):
            raise Error(
                f"complete: {given.n_states} states and {given.n_actions} actions; the environment has {spaces[0]} and {spaces[1]}: "
                "these data are of another environment"
            )
        if isinstance(states, Found):
            states.restart(given.states or ())
    if isinstance(states, Found) and isinstance(env, Celled):
        if given is None:
            states.restart(env.view.known())
    elif (
        isinstance(states, Found)
        and isinstance(policy, Agent)
        and isinstance(policy._observations, Found)
    ):
        if given is not None and policy.num_timesteps:
            raise Error(
                "complete: give an agent that has not learned yet: it would number states in another way"
            )
        if given is None:
            states.restart(policy._observations.keys)


class _Work:
    """One collection."""

    def __init__(
        self,
        env: Any,
        source: Source,
        policy: Any,
        steps: int | None,
        until: Coverage | None,
        seed: int,
        learn: bool,
        episode_steps: int | None,
        given: Data | None,
        workers: int,
    ) -> None:
        self._source, self._seed, self._steps = source, seed, steps
        self._given = [] if given is None else given.episodes()
        limit = getattr(getattr(env, "spec", None), "max_episode_steps", None)
        waits = until is not None or learn
        self._longest = episode_steps or ((limit or LONGEST) if waits else None)
        self._spaces = (
            getattr(env, "single_observation_space", env.observation_space),
            getattr(env, "single_action_space", env.action_space),
        )
        self._planner: Planner
        if learn:
            self._planner = Learning(policy, env, source, steps or 0, workers)
        elif until is not None and until.effective_states is not None and until.plans(policy):
            self._planner = Evened(until, policy, env, source, steps or 100_000)
        elif until is not None and until.plans(policy):
            self._planner = Promised(until, policy, source, steps)
        else:
            self._planner = Fixed(policy, source, until)
        named = type(policy).__name__ if isinstance(policy, Agent) else "policy"
        parameters = (
            {k: v for k, v in policy._parameters.items() if v is not None}
            if isinstance(policy, Agent)
            else {}
        )
        self._about: dict[str, Any] = {
            "environment": environment_name(env),
            "policy": {"name": named, "parameters": parameters},
            "seed": seed,
            "episode_steps": self._longest,
        }
        if given is not None:
            self._about["completes"] = {
                "steps": len(given),
                **{k: given.about[k] for k in ("environment", "policy") if k in given.about},
            }
        self._begun = {
            **self._about,
            "steps": steps,
            "until": None if until is None else until.said(),
            "spaces": [str(space) for space in self._spaces],
            "start": self._planner.digest(),
            "given": len(self._given),
            "environments": getattr(env, "num_envs", 1),
        }
        self._taken = 0
        self._episodes: list[Episode] = []

    def collect(self, place: Path | None, resume: bool, show: Progress) -> Data:
        for episode in self._given:
            self._planner.take(episode)
        store = None if place is None else Store(place, self._begun, resume)
        try:
            for episode in self._all(store):
                if store is not None:
                    store.add(episode)
                self._take(episode)
                show(
                    {
                        "steps": self._taken,
                        "episodes": len(self._episodes),
                        **self._planner.progress(),
                    }
                )
            show(
                {
                    "steps": self._taken,
                    "episodes": len(self._episodes),
                    **self._planner.progress(),
                    "done": True,
                }
            )
        except CollectionError as problem:
            raise CollectionError(
                f"{problem}; {self._saved(store)}", self._data()
            ) from problem.__cause__
        except Exception as problem:
            # the environment's own exceptions come through
            problem.add_note(f"ide3al: {self._saved(store)}")
            with contextlib.suppress(AttributeError):
                problem.data = self._data()  # type: ignore[attr-defined]
            raise
        finally:
            if store is not None:
                store.close()
        promise = self._planner.promise()
        if promise is not None:
            self._about["promise"] = promise
            if promise.get("reason"):
                raise CollectionError(f"{promise['reason']}; {self._saved(store)}", self._data())
        return self._data()

    def _all(self, store: Store | None) -> Iterator[Episode]:
        source, planner = self._source, self._planner
        plan, count, budget = None, None, None
        if store is not None and store.episodes:
            for episode in store.episodes:
                if isinstance(source.states, Found):
                    for key in episode.found:
                        source.states.take(key)
                self._take(episode)
        if store is not None and store.plan is not None:
            # the plan at hand, as far as it was not followed yet
            said = store.said
            plan = planner.resume(store.plan, said)
            budget = said[-1].get("batch")
            if said[-1]["count"] is not None:
                count = said[-1]["count"] - sum(
                    episode.plan == plan.number for episode in store.episodes
                )
                if budget is not None and self._of_plan(plan) >= budget:
                    count = 0
        while not self._over():
            if plan is None or count == 0:
                made = planner.next()
                if made is None:
                    break
                plan, count, about = made
                budget = about.get("batch")
                if store is not None:
                    store.follow(plan, {**about, "count": count})
            before = len(self._episodes)
            for episode in source.episodes(
                plan, self._seed, before, count, self._left, self._longest
            ):
                yield self._cut(episode)
                # episodes that turn out longer than they were bring more than they were planned for
                if self._over() or (budget is not None and self._of_plan(plan) >= budget):
                    break
            if count is None:
                break
            count = 0
        left = self._left()
        for episode in source.rest(0 if plan is None else plan.number):
            if left is None or left > 0:
                yield self._cut(episode)
                left = self._left()

    def _of_plan(self, plan: Plan) -> int:
        """Steps taken with it."""
        steps = 0
        for episode in reversed(self._episodes):
            if episode.plan != plan.number:
                break
            steps += len(episode)
        return steps

    def _cut(self, episode: Episode) -> Episode:
        left = self._left()
        return episode if left is None else episode.cut(left)

    def _take(self, episode: Episode) -> None:
        self._episodes.append(episode)
        self._taken += len(episode)
        self._planner.take(episode)

    def _left(self) -> int | None:
        return None if self._steps is None else self._steps - self._taken

    def _over(self) -> bool:
        return (self._steps is not None and self._taken >= self._steps) or self._planner.over()

    def _data(self) -> Data:
        states = self._source.states
        keys = tuple(states.keys) if isinstance(states, Found) else None
        everything = [*self._given, *self._episodes]
        about = {**self._about, "plans": self._planner.said()}
        return joined(everything, states.size, self._source.actions.size, keys, about, self._spaces)

    def _saved(self, store: Store | None) -> str:
        kept = f"{len(self._episodes)} episodes ({self._taken} steps)"
        if store is None:
            return f"{kept} are in this error's data"
        return f"{kept} are saved in {store.path}; go on with resume=True"


def _kept(
    data: Data, env: Any, dataset_id: str | None, out: str | Path | None, place: Path | None
) -> Data:
    """Written where it was asked for; what was saved on the way is not needed any more."""
    if out is not None:
        folder = folder_of(out)
        folder.mkdir(parents=True, exist_ok=True)
        data.save_card(folder)
        data.save(folder / "data.npz")
    if dataset_id is not None:
        data = data.replace(dataset=data.to_minari(dataset_id, env))
    if place is not None:
        place.unlink(missing_ok=True)
        if out is None and place.parent.is_dir() and not any(place.parent.iterdir()):
            place.parent.rmdir()
    return data


def _shown(progress: bool | Progress, until: Coverage | None) -> Progress:
    if callable(progress):
        return progress
    if not progress:
        return lambda _: None

    def show(now: dict[str, Any]) -> None:
        parts = [f"{now['episodes']} episodes, {now['steps']} steps"]
        if "short" in now:
            parts.append(f"{now['short']} {now['unit']} short")
        if now.get("least") is not None:
            parts.append(f"at least {now['least']:.0f} steps more when last planned")
        sys.stderr.write("\r\x1b[K" + "; ".join(parts) + ("\n" if now.get("done") else ""))
        sys.stderr.flush()

    return show


__all__ = ["collect"]
