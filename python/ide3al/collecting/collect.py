"""Collecting data sets: a plan is followed for some episodes, every episode is saved as it ends,
and the next plan is made."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._arguments import checked_names
from .._check import (
    check_cell,
    check_environment,
    check_flag,
    real_number,
    seed_of,
    whole_number,
)
from .._display import bar
from .._ide3al import Error
from ..agents.base import Agent
from ..datasets.coverage import Coverage
from ..datasets.dataset import Data
from ..datasets.formats.minari import (
    minari_can_hold,
    minari_can_hold_rewards,
    minari_folder,
    unfinished,
)
from ..datasets.grid_layout import grid_cells
from ..datasets.numbering import states_match
from ..datasets.reading import read
from ..encoding.discrete import DiscoveredStates, GrowingIndex, SpaceIndex
from ..encoding.partitioned import CellSpace, PartitionedEnv, PartitionEncoder
from ..planning.accuracy import Accuracy
from ..runners.base import EpisodeRunner
from ..runners.raw_vector_runner import RawVectorRunner
from ..runners.single import SingleRunner
from ..runners.vector import VectorRunner, is_vector
from ..types import Engine
from .combinations import check_combination
from .journal import collection_folder
from .recording import recorded
from .session import CollectionSession, Progress
from .setting import Setting
from .strategies.coverage import plans_for
from .unlabelled import UnlabelledStates


@checked_names(
    steps="total_timesteps",
    complete="initial_data",
    time_limit="step_time_limit",
    progress="progress_bar",
)
def collect(
    env: Any,
    policy: Agent | Any,
    total_timesteps: int | None = None,
    *,
    until: Coverage | Accuracy | None = None,
    seed: int | None = 0,
    learn: bool = False,
    states: Agent | None = None,
    dataset_id: str | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    initial_data: Any = None,
    engine: Engine | None = "local",
    workers: int | None = None,
    episode_steps: int | None = None,
    step_time_limit: float | None = None,
    cell: Callable[[Any], tuple[int, int] | None] | None = None,
    progress_bar: bool | Progress = False,
) -> Data:
    """Collect transitions by following an agent or a policy in an environment.

    The environment is reset after each episode; unlike in learning, resets are no steps here. What
    is written is written whole or not at all. Until then every episode is saved as it ends, so that
    after a crash the same call with ``resume=True`` goes on.

    Parameters
    ----------
    env : gymnasium.Env, gymnasium.vector.VectorEnv or callable
        An environment, many at once (``gymnasium.make_vec``), or a function that makes one.
    policy : Agent, array_like, callable or str
        An agent; probabilities of shape (S, A), or of shape (T, S, A) for a policy that depends on
        the step, which begins anew after each reset and whose episodes are truncated after T steps;
        a function from an observation to an action, or a model of Stable-Baselines3; ``"random"``.
        In a continuous environment the states of the data are cells: those of an agent that was
        fitted there, named by their centres, where a step is one of its decisions, held for
        ``agent.repeat`` steps of the environment whose rewards are summed; for any other policy
        they are laid where it went, and every step is a decision. What the environment gave and was
        given is kept beside, in ``data.raw``.
    total_timesteps : int, optional
        Number of steps to take; with ``until`` the largest number. The last episode is truncated
        there.
    until : Coverage or Accuracy, optional
        A promise about the data, kept as soon as it holds. :class:`IDE3AL` plans for the samples
        that Coverage still lacks, others are followed as they are; Accuracy replaces the policy.
    seed : int, default 0
        Seed of the environment and of the actions drawn. Equal seeds give equal data.
    learn : bool, default False
        Whether the agent is fitted meanwhile. The data are then the steps that it learns from, and
        its own seed counts.
    states : Agent, optional
        An agent whose states the data are to have, and the rows of a table are for.
    dataset_id : str, optional
        Name of a Minari data set to write, such as ``"frozen-lake/ide3al-v0"``.
    out : path-like, optional
        Folder to write ``data.npz``, ``card.json`` and ``card.html`` to.
    resume : bool, default False
        Whether to go on with a collection that was interrupted.
    overwrite : bool, default False
        Whether to replace a data set that exists.
    initial_data : Data, str or path-like, optional
        Data to begin with: anything that :func:`audit` reads.
    engine : {"local", "ray"}, default "local"
        Where episodes are taken: in this process, or by runners on a Ray cluster, for the same
        data.
    workers : int, optional
        Number of runners on the cluster; 2 unless given.
    episode_steps : int, optional
        Number of steps after which an episode is truncated.
    step_time_limit : float, optional
        Seconds after which a step that does not end is given up.
    cell : callable, optional
        Function from an observation to its (row, column) on the map of the card, or to None.
    progress_bar : bool or callable, default False
        Whether to show a line of progress, or a function that is called with a dictionary after
        every episode.

    Returns
    -------
    Data
        The transitions; their :attr:`Data.card` says what they cover.

    Raises
    ------
    Error
        If an argument is out of range or contradicts another.
    CollectionError
        If the environment fails on the way; it holds the episodes taken until then.

    Examples
    --------
    >>> import gymnasium, ide3al
    >>> env = gymnasium.make("FrozenLake-v1")
    >>> data = ide3al.collect(env, ide3al.Random(), 500, seed=1)
    >>> len(data)
    500"""
    steps, complete, time_limit = total_timesteps, initial_data, step_time_limit
    remote = engine == "ray"
    if steps is None and until is None:
        raise Error(
            "total_timesteps: say how many, or give a promise with until=ide3al.Coverage(...)"
        )
    if steps is not None:
        steps = whole_number("total_timesteps", steps)
    if episode_steps is not None:
        episode_steps = whole_number("episode_steps", episode_steps)
    if workers is not None:
        workers = whole_number("workers", workers)
    if time_limit is not None and not real_number("step_time_limit", time_limit) > 0:
        raise Error(f"step_time_limit = {time_limit}: seconds above 0 are needed")
    if until is not None and not isinstance(until, Coverage | Accuracy):
        raise Error(
            f"until = {until!r}: a promise is needed, such as ide3al.Coverage(each_pair=50)"
        )
    if states is not None and not isinstance(states, Agent):
        raise Error(f"states = {states!r}: the agent is needed whose states the data are to have")
    check_flag("learn", learn)
    check_cell(cell)
    seed = seed_of(seed)
    check_combination(
        policy, learn, resume, overwrite, until, complete, out, dataset_id, engine, workers
    )
    journal_path = _journal_path(dataset_id, out, overwrite, resume)
    own = not remote and callable(env) and not hasattr(env, "observation_space")
    if own:
        env = env()
    if not remote:
        check_environment(env)
    setting = None if remote else Setting.of(env, policy, states, learn, until)
    if dataset_id is not None and setting is not None:
        minari_can_hold(*setting.spaces, dataset_id)
        rewards = getattr(getattr(env, "unwrapped", env), "reward_space", None)
        minari_can_hold_rewards(math.prod(getattr(rewards, "shape", ())), dataset_id)
    if setting is not None:
        env = setting.env
    view = None if setting is None else setting.view
    initial = None if complete is None else _initial(complete, env, view, until, policy)
    runner, spec = _runner(env, remote, workers, time_limit, initial, policy, own, setting)
    try:
        if learn and not remote and episode_steps is None and time_limit is None:
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
            data = collection.run(journal_path, resume, _shown(progress_bar, until, steps))
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
    complete: Any, env: Any, view: PartitionEncoder | None, until: Any, policy: Any
) -> Data:
    """The data to begin with."""
    initial = read(complete, env=None if callable(env) or view is not None else env, states=view)
    if view is not None:
        held = initial.about.get("abstraction", {}).get("repeat")
        if held != view.repeat:
            raise Error(
                f"initial_data: these data hold each action for {held or 'an unknown number of'} steps, the agent for {view.repeat}; "
                "fit one with Abstraction(repeat=...) that does the same"
            )
        if not plans_for(until, policy):
            raise Error(
                "initial_data: in a continuous environment only with ide3al.IDE3AL and a promise, until=..."
            )
    return initial


def _runner(
    env: Any,
    on_ray: bool,
    workers: int | None,
    time_limit: float | None,
    initial: Data | None,
    policy: Any,
    own: bool,
    setting: Setting | None,
) -> tuple[EpisodeRunner, Any]:
    """Who gives the episodes, and an environment that says what is observed and done."""
    if on_ray:
        from ..runners.ray import RayRunner

        remote = RayRunner(env, None, workers or 2, time_limit)
        _known(remote.states, policy, initial, remote.env)
        return remote, remote.env
    assert setting is not None
    if is_vector(env) and setting.looks_at_observations:
        assert setting.actions is not None
        if time_limit is not None:
            raise Error("time_limit: not for many environments that are looked at one by one")
        many = RawVectorRunner(
            env, setting.states, setting.actions, setting.policy, setting.view, setting.raw
        )
        _known(many.states, policy, initial, env)
        return many, env
    if is_vector(env):
        vector = VectorRunner(env, setting.states, time_limit, own)
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
        if isinstance(policy.encoder, GrowingIndex):
            states.admit(policy.encoder.beyond)
    if initial is not None:
        spaces = (
            getattr(env, "single_observation_space", env.observation_space),
            getattr(env, "single_action_space", env.action_space),
        )
        if not states_match(spaces, initial.n_states, initial.n_actions, initial.keys):
            raise Error(
                f"initial_data: {initial.n_states} states and {initial.n_actions} actions; the environment has {spaces[0]} and {spaces[1]}: "
                "these data are of another environment"
            )
        if isinstance(states, DiscoveredStates):
            states.restart(initial.keys or ())
    if isinstance(states, UnlabelledStates) or isinstance(states.space, CellSpace):
        # without cells there is nothing to number yet; cells are numbered as the agent's
        known = env.view.known() if isinstance(env, PartitionedEnv) else None
        if initial is None and known is not None and isinstance(states, DiscoveredStates):
            states.restart(known)
        return
    if (
        isinstance(states, DiscoveredStates)
        and isinstance(policy, Agent)
        and isinstance(policy.encoder, DiscoveredStates)
    ):
        if initial is not None and policy.num_timesteps:
            raise Error(
                "initial_data: give an agent that has not learned yet: it would number states in another way"
            )
        if initial is None:
            states.restart(policy.encoder.keys)


def _kept(
    data: Data,
    env: Any,
    dataset_id: str | None,
    out: str | Path | None,
    journal_path: Path | None,
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


def _shown(progress: bool | Progress, until: Any, steps: int | None) -> Progress | None:
    if callable(progress):
        return progress
    if not progress:
        return None

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
