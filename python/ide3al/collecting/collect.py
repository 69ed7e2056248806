"""Collecting data sets: a plan is followed for some episodes, every episode is saved as it ends, and the next plan is made."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._ide3al import Error
from ..agents.base import Agent
from ..agents.training import needs_cells
from ..datasets.coverage import Coverage
from ..datasets.dataset import Data
from ..datasets.formats.minari import minari_folder, unfinished
from ..datasets.grid_layout import grid_cells
from ..datasets.numbering import states_match
from ..datasets.reading import read
from ..encoding.discrete import DiscoveredStates, SpaceIndex, state_encoder
from ..encoding.partitioned import PartitionedEnv, PartitionEncoder
from ..planning.accuracy import Accuracy
from ..runners.base import EpisodeRunner
from ..runners.single import SingleRunner
from ..runners.vector import VectorRunner, is_vector
from .journal import collection_folder
from .recording import recorded
from .session import CollectionSession, Progress
from .strategies.coverage import plans_for


def collect(
    env: Any,
    policy: Agent | Any,
    steps: int | None = None,
    *,
    until: Coverage | Accuracy | None = None,
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

    ``until`` is a promise, such as ``ide3al.Coverage(each_pair=50)``, to go on for, with ``steps`` as the most, or
    ``ide3al.Accuracy(0.05)``: data for which every reward can be planned for that well, gathered where the error is largest,
    whatever the policy. IDE3AL plans for what is
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
    journal_path = _journal_path(dataset_id, out)
    own = engine is None and callable(env) and not hasattr(env, "observation_space")
    if own:
        env = env()
    view = None if engine is not None else _partition_encoder(None if learn else policy, env)
    if view is not None:
        if dataset_id is not None:
            raise Error(
                "dataset_id: these data are of cells, which Minari has no space for; keep them with out=..."
            )
        env = PartitionedEnv(env, view)
    initial = None if complete is None else _initial(complete, env, view, until, policy)
    runner, spec = _runner(env, engine, workers, time_limit, initial, policy, own)
    try:
        if learn and engine is None and episode_steps is None and time_limit is None:
            data = recorded(spec, policy, steps or 0)
        else:
            collection = CollectionSession(
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
            data = collection.run(journal_path, resume, _shown(progress, until))
        if view is not None:
            data = data.replace(about={**data.about, "abstraction": view.to_dict()})
            cell = view.grid_position if cell is None and view.flat else cell
        data = data.replace(about={**data.about, "cells": grid_cells(spec, data, cell)})
        return _kept(data, spec, dataset_id, out, journal_path)
    finally:
        runner.close()


def _journal_path(dataset_id: str | None, out: str | Path | None) -> Path | None:
    """Where episodes are saved as they end; an error if something is there already."""
    if dataset_id is not None:
        minari_folder(dataset_id)
    if out is not None:
        folder = collection_folder(out)
        if (folder / "data.npz").exists():
            raise Error(
                f"out = {str(folder)!r}: a data set is there already; choose another folder"
            )
        return folder / "episodes.log"
    return None if dataset_id is None else unfinished(dataset_id) / "episodes.log"


def _initial(
    complete: Any,
    env: Any,
    view: PartitionEncoder | None,
    until: Coverage | Accuracy | None,
    policy: Any,
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
        if not plans_for(until, policy):
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
) -> tuple[EpisodeRunner, Any]:
    """Who gives the episodes, and an environment that says what is observed and done."""
    if engine == "ray":
        from ..runners.ray import RayRunner

        remote = RayRunner(env, None, workers or 2, time_limit)
        _known(remote.states, policy, initial, remote.env)
        return remote, remote.env
    if is_vector(env):
        vector = VectorRunner(env, state_encoder(env.single_observation_space), time_limit)
        _known(vector.states, policy, initial, env)
        return vector, env
    single = SingleRunner(env, None, time_limit, own)
    _known(single.states, policy, initial, env)
    return single, env


def _known(
    states: SpaceIndex | DiscoveredStates, policy: Any, initial: Data | None, env: Any
) -> None:
    """States that were met before have numbers already."""
    if initial is not None:
        spaces = (
            getattr(env, "single_observation_space", env.observation_space),
            getattr(env, "single_action_space", env.action_space),
        )
        if not states_match(spaces, initial.n_states, initial.n_actions, initial.states):
            raise Error(
                f"complete: {initial.n_states} states and {initial.n_actions} actions; the environment has {spaces[0]} and {spaces[1]}: "
                "these data are of another environment"
            )
        if isinstance(states, DiscoveredStates):
            states.restart(initial.states or ())
    if isinstance(states, DiscoveredStates) and isinstance(env, PartitionedEnv):
        if initial is None:
            states.restart(env.view.known())
    elif (
        isinstance(states, DiscoveredStates)
        and isinstance(policy, Agent)
        and isinstance(policy.encoder, DiscoveredStates)
    ):
        if initial is not None and policy.num_timesteps:
            raise Error(
                "complete: give an agent that has not learned yet: it would number states in another way"
            )
        if initial is None:
            states.restart(policy.encoder.keys)


def _partition_encoder(policy: Any, env: Any) -> PartitionEncoder | None:
    """The agent's cells, if it has any; an error where they would be needed and are not there."""
    if is_vector(env):
        return None
    if isinstance(policy, Agent) and policy.is_fitted and policy.is_partitioned(env):
        assert policy.partition is not None
        known = policy.partition.actions.space
        if known != env.action_space:
            raise Error(
                f"this agent was fitted with actions {known}; the environment has {env.action_space}"
            )
        return PartitionEncoder(policy.partition)
    if hasattr(env, "observation_space") and needs_cells(env):
        raise Error(
            f"{env.observation_space} and {env.action_space} are not finite: give an agent that was fitted here, whose cells and "
            "actions are then those of the data, or sort observations into bins with ide3al.wrappers.Discretize"
        )
    return None


def _kept(
    data: Data, env: Any, dataset_id: str | None, out: str | Path | None, journal_path: Path | None
) -> Data:
    """Written where it was asked for; what was saved on the way is not needed any more."""
    if out is not None:
        folder = collection_folder(out)
        folder.mkdir(parents=True, exist_ok=True)
        data.save_card(folder)
        data.save(folder / "data.npz")
    if dataset_id is not None:
        data = data.replace(dataset=data.to_minari(dataset_id, env))
    if journal_path is not None:
        journal_path.unlink(missing_ok=True)
        if out is None and journal_path.parent.is_dir() and not any(journal_path.parent.iterdir()):
            journal_path.parent.rmdir()
    return data


def _shown(progress: bool | Progress, until: Coverage | Accuracy | None) -> Progress:
    if callable(progress):
        return progress
    if not progress:
        return lambda _: None

    def show(now: dict[str, Any]) -> None:
        parts = [f"{now['episodes']} episodes, {now['steps']} steps"]
        if "error" in now:
            parts.append(f"error {now['error']:.3g} of {now['wanted']:g}")
        if "short" in now:
            parts.append(f"{now['short']} {now['unit']} short")
        if now.get("least") is not None:
            parts.append(f"at least {now['least']:.0f} steps more when last planned")
        sys.stderr.write("\r\x1b[K" + "; ".join(parts) + ("\n" if now.get("done") else ""))
        sys.stderr.flush()

    return show


__all__ = ["collect"]
