"""Data that others collected: read, described by the same card, and completed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .._extras import need
from .._ide3al import Error
from ..agents.base import Agent
from ..collecting.episode import Episode
from ..collecting.partitioned import TERMINAL_KEY, PartitionEncoder
from ..encoding.abstraction import ActionGrid
from ..encoding.adaptive import AdaptivePartition
from ..encoding.discrete import DiscoveredStates, SpaceIndex, state_encoder, to_key
from .card import about_of
from .dataset import Data, joined
from .formats import CARD, RAW, read_card, read_keys, read_npz, read_parquet
from .raw import RawSteps

#: Names under which others keep the same arrays.
_NAMES = {
    "observations": ("observations", "observation", "obs", "states", "state"),
    "actions": ("actions", "action", "acts"),
    "rewards": ("rewards", "reward"),
    "next_observations": ("next_observations", "next_observation", "next_obs", "next_states"),
    "terminations": ("terminations", "terminated", "terminals", "dones", "done"),
    "truncations": ("truncations", "truncated", "timeouts"),
}

Abstraction = Callable[[Any], Hashable]


def read(dataset: Any, *, env: Any = None, states: Abstraction | Agent | None = None) -> Data:
    """A data set as :class:`Data`: that itself, the id of a Minari data set or one that was loaded, a file ending in ``.npz`` or
    ``.parquet``, the folder of a collection, or a dictionary of arrays.

    States are numbered by the spaces of ``env`` or of the data set, or as they are met. ``states`` is the abstraction for
    observations that are not finite: a function from an observation to whatever tells its state, or an agent that was fitted in the
    continuous environment, whose cells and actions it is then (the action nearest to each).
    """
    if isinstance(states, Agent):
        states = PartitionEncoder(_partition_of(states))
    if isinstance(dataset, Data):
        return dataset
    if isinstance(dataset, Mapping):
        return _from_arrays(dict(dataset), "the arrays", env, states)
    if isinstance(dataset, str | os.PathLike):
        name = os.fspath(dataset)
        path = Path(name)
        if path.is_dir():
            path = path / "data.npz"
            if not path.exists():
                raise Error(
                    f"{name}: holds no data.npz: the collection is not finished; go on with resume=True"
                )
            name = str(path)
        if name.endswith(".npz"):
            return _from_arrays(read_npz(name), name, env, states)
        if name.endswith(".parquet"):
            return _from_arrays(read_parquet(name), name, env, states)
        if path.suffix in (".h5", ".hdf5", ".json", ".html", ".csv", ".pkl"):
            raise Error(
                f"{name}: cannot read {path.suffix}; give an .npz or .parquet file, or the id of a Minari data set"
            )
        minari = need("minari", "minari")
        try:
            dataset = minari.load_dataset(name)
        except FileNotFoundError:
            raise Error(
                f"{name!r}: there is no such Minari data set here, and no file of that name ends in .npz or .parquet; "
                "minari.list_local_datasets() lists what there is"
            ) from None
        except Exception as problem:  # whatever a damaged folder makes Minari raise
            raise Error(
                f"{name!r}: Minari cannot load it: {type(problem).__name__}: {problem}"
            ) from None
    if hasattr(dataset, "iterate_episodes"):
        return _from_minari(dataset, env, states)
    raise Error(
        f"{type(dataset).__name__}: give Data, a Minari data set or its id, an .npz or .parquet file, or a dictionary of arrays"
    )


def _partition_of(agent: Agent) -> AdaptivePartition:
    if agent._partition is None:
        raise Error(
            "states: this agent has no cells: it was not fitted in a continuous environment, or is to be loaded with env=..."
        )
    return agent._partition


def audit(
    dataset: Any, *, env: Any = None, states: Abstraction | Agent | None = None, until: Any = None
) -> Data:
    """The card of a data set that anybody collected, as ``audit(...).card``: what it covers, what is missing. ``until`` is a
    promise to hold it to, such as ``ide3al.Coverage(each_pair=50)``: the card then names what falls short and the certified least
    number of further steps, in the model that the data suggest.

    What is returned is the data set itself, read: save its card with ``save("card.html")``, fill its gaps with
    ``ide3al.collect(env, agent, until=..., complete=...)``."""
    data = read(dataset, env=env, states=states)
    if len(data) == 0:
        raise Error("the data set is empty: there is nothing to audit")
    if until is None:
        return data
    from ..collecting.coverage import coverage_report

    return data.replace(about={**data.about, "promise": coverage_report(data, until)})


def _numbered(space: Any, abstraction: Abstraction | None) -> SpaceIndex | DiscoveredStates:
    if abstraction is not None:
        return DiscoveredStates()
    return DiscoveredStates() if space is None else state_encoder(space)


def _spaces(env: Any) -> tuple[Any, Any]:
    if env is None:
        return None, None
    return (
        getattr(env, "single_observation_space", getattr(env, "observation_space", None)),
        getattr(env, "single_action_space", getattr(env, "action_space", None)),
    )


def _numbers(
    observations: Any,
    index: SpaceIndex | DiscoveredStates | ActionGrid,
    abstraction: Abstraction | None,
) -> np.ndarray[Any, Any]:
    """Numbers of a batch of observations, an array or one by one."""
    if abstraction is not None:
        return np.array(
            [index.number(to_key(abstraction(part))) for part in _each(observations)],
            dtype=np.int64,
        )
    if (
        isinstance(observations, np.ndarray)
        and observations.ndim == 1
        and observations.dtype.kind in "iu"
    ):
        values = observations.astype(np.int64)
        distinct, inverse = np.unique(values, return_inverse=True)
        # in the order in which they are met
        first = np.full(distinct.size, values.size, dtype=np.int64)
        np.minimum.at(first, inverse, np.arange(values.size))
        numbers = np.zeros(distinct.size, dtype=np.int64)
        for k in np.argsort(first, kind="stable").tolist():
            numbers[k] = index.number(int(distinct[k]))
        return numbers[inverse]
    return np.array([index.number(part) for part in _each(observations)], dtype=np.int64)


def _each(observations: Any) -> list[Any]:
    """One by one: rows of an array, or parts of a dictionary or tuple taken together."""
    if isinstance(observations, Mapping):
        names = list(observations)
        return [
            dict(zip(names, row, strict=True))
            for row in zip(*map(_each, observations.values()), strict=True)
        ]
    if isinstance(observations, tuple):
        return list(zip(*map(_each, observations), strict=True))
    return list(observations)


def _stored(dataset: Any) -> Iterator[Any]:
    """The episodes of a Minari data set; what a damaged file makes others raise is told as such."""
    try:
        yield from dataset.iterate_episodes()
    except (OSError, KeyError, ValueError, RuntimeError) as problem:
        name = dataset.storage.metadata.get("dataset_id", "the data set")
        raise Error(f"{name!r}: cut or damaged: {type(problem).__name__}: {problem}") from None


def _from_minari(dataset: Any, env: Any, states: Abstraction | None) -> Data:
    spaces = dataset.observation_space, dataset.action_space
    wanted = _spaces(env)
    for kind, theirs, ours in zip(("observation", "action"), spaces, wanted, strict=True):
        if ours is not None and states is None and theirs != ours:
            raise Error(
                f"the data set's {kind} space is {theirs}, the environment's {ours}: these data are of another environment"
            )
    index = _numbered(spaces[0], states)
    actions = states.actions if isinstance(states, PartitionEncoder) else SpaceIndex(spaces[1])
    episodes = []
    for k, episode in enumerate(_stored(dataset)):
        numbers = _numbers(episode.observations, index, states)
        tried = _numbers(episode.actions, actions, None)
        if len(numbers) != len(tried) + 1:
            raise Error(
                f"episode {k}: {len(numbers)} observations and {len(tried)} actions; one observation more is needed"
            )
        terminated = bool(np.asarray(episode.terminations)[-1]) if len(tried) else False
        if (
            terminated
            and isinstance(states, PartitionEncoder)
            and isinstance(index, DiscoveredStates)
        ):
            numbers[-1] = index.take(TERMINAL_KEY)
        rewards = np.asarray(episode.rewards, dtype=np.float64)
        episodes.append(Episode(numbers, tried, rewards, terminated, not terminated))
    metadata = dataset.storage.metadata
    about: dict[str, Any] = {}
    if CARD in metadata:
        about = about_of(read_card(str(metadata[CARD]), str(metadata.get("dataset_id"))))
    else:
        spec = getattr(dataset, "env_spec", None)
        about["environment"] = str(
            getattr(spec, "id", None) or metadata.get("dataset_id", "unknown")
        )
        about["policy"] = {"name": str(metadata.get("algorithm_name", "unknown"))}
    if isinstance(states, PartitionEncoder):
        about["abstraction"] = states.to_dict(repeat=1)
    found = tuple(index.keys) if isinstance(index, DiscoveredStates) else None
    data = joined(
        episodes, index.size, actions.size, found, about, spaces if states is None else None
    )
    return data.replace(dataset=dataset)


def _from_arrays(
    arrays: dict[str, Any], source: str, env: Any, abstraction: Abstraction | None
) -> Data:
    given = {}
    for wanted, names in _NAMES.items():
        for name in names:
            if name in arrays and np.ndim(arrays[name]) > 0:
                given[wanted] = np.asarray(arrays[name])
                break
    for needed in ("observations", "actions", "terminations"):
        if needed not in given:
            raise Error(
                f"{source}: no array of {needed} ({', '.join(_NAMES[needed])}); there are: {', '.join(arrays) or 'none'}"
            )
    n = len(given["observations"])
    given.setdefault("rewards", np.zeros(n))
    given.setdefault("truncations", np.zeros(n, dtype=np.bool_))
    for name, values in given.items():
        if len(values) != n:
            raise Error(f"{source}: {name} has {len(values)} entries, observations {n}")
    if n == 0:
        raise Error(f"{source}: empty: there are no steps")
    ends: dict[str, Any] = {}
    for name in ("terminations", "truncations"):
        values = given[name].reshape(n) if given[name].size == n else given[name]
        if values.ndim != 1 or not np.isin(values, (0, 1)).all():
            raise Error(f"{source}: {name}: expected one truth value per step")
        ends[name] = values.astype(np.bool_)
    try:
        rewards = given["rewards"].reshape(n, -1).astype(np.float64)
        rewards = rewards[:, 0] if rewards.shape[1] == 1 else rewards
    except ValueError as problem:
        raise Error(f"{source}: rewards: expected one number per step: {problem}") from None
    ours = "n_states" in arrays and "card" in arrays
    raw = allowed = None
    spaces = _spaces(env)
    if given["actions"].ndim == 2 and given["actions"].shape[1] == 1:
        given["actions"] = given["actions"][:, 0]
    if ours:
        index: SpaceIndex | DiscoveredStates = DiscoveredStates()
    elif (
        given["observations"].ndim == 2
        and given["observations"].shape[1] == 1
        and spaces[0] is None
    ):
        given["observations"] = given["observations"][:, 0]
        given.update(
            {"next_observations": given["next_observations"][:, 0]}
            if "next_observations" in given
            else {}
        )
        index = _numbered(None, abstraction)
    else:
        index = _numbered(spaces[0], abstraction)
    if (
        not ours
        and given["observations"].dtype.kind == "f"
        and abstraction is None
        and not isinstance(index, SpaceIndex)
    ):
        values = given["observations"]
        if not np.isfinite(values).all() or (values != np.round(values)).any():
            raise Error(
                f"{source}: observations are real numbers, hardly any is met twice; say what tells their states: "
                "states=function, for example the bins of ide3al.wrappers.Discretize"
            )
    observations, following = given["observations"], given.get("next_observations")
    if following is None:
        # within an episode the next observation is that of the next step; the last one is not known
        last = ends["terminations"] | ends["truncations"]
        last[-1] = True
        following = np.roll(observations, -1, axis=0)
        following[last] = observations[last]
    if ours:
        numbers, next_numbers = observations.astype(np.int64), following.astype(np.int64)
        n_states, n_actions = int(arrays["n_states"]), int(arrays["n_actions"])
        keys = (
            read_keys(str(arrays["states"]), source)
            if np.ndim(arrays.get("states", [])) == 0
            else None
        )
        tried = given["actions"].astype(np.int64)
        for name, values, limit in (
            ("observations", numbers, n_states),
            ("next_observations", next_numbers, n_states),
            ("actions", tried, n_actions),
        ):
            if (values < 0).any() or (values >= limit).any():
                raise Error(
                    f"{source}: {name}: some lie outside 0..{limit - 1}: the file is damaged"
                )
        if keys is not None and len(keys) != n_states:
            raise Error(
                f"{source}: states: {len(keys)} listed, {n_states} counted: the file is damaged"
            )
        about = about_of(read_card(str(arrays["card"]), source))
        raw, allowed = _kept_raw(arrays, source, n, spaces), arrays.get("allowed")
        if allowed is not None and (
            allowed.shape != (n_states, n_actions) or allowed.dtype != np.bool_
        ):
            raise Error(f"{source}: allowed: shape {allowed.shape}: the file is damaged")
        known = (
            spaces
            if None not in spaces and states_match(spaces, n_states, n_actions, keys)
            else None
        )
    else:
        both = _numbers(
            np.stack([observations, following], axis=1).reshape(2 * n, *observations.shape[1:]),
            index,
            abstraction,
        )
        numbers, next_numbers = both[0::2], both[1::2]
        if (
            isinstance(abstraction, PartitionEncoder)
            and isinstance(index, DiscoveredStates)
            and ends["terminations"].any()
        ):
            next_numbers[ends["terminations"]] = index.take(TERMINAL_KEY)
        keys = tuple(index.keys) if isinstance(index, DiscoveredStates) else None
        n_states = index.size
        if isinstance(abstraction, PartitionEncoder) or spaces[1] is not None:
            actions = (
                abstraction.actions
                if isinstance(abstraction, PartitionEncoder)
                else SpaceIndex(spaces[1])
            )
            tried, n_actions = _numbers(given["actions"], actions, None), actions.size
        else:
            if (
                given["actions"].ndim != 1
                or given["actions"].dtype.kind not in "iu"
                or (given["actions"] < 0).any()
            ):
                raise Error(
                    f"{source}: actions: expected numbers from 0; for other actions give env=..."
                )
            tried = given["actions"].astype(np.int64)
            n_actions = int(tried.max()) + 1
        about = {"environment": _environment_name(env), "policy": {"name": "unknown"}}
        if isinstance(abstraction, PartitionEncoder):
            about["abstraction"] = abstraction.to_dict(repeat=1)
        known = spaces if None not in spaces and abstraction is None else None
    return Data(
        observations=numbers,
        actions=tried,
        rewards=rewards,
        next_observations=next_numbers,
        terminations=ends["terminations"],
        truncations=ends["truncations"],
        n_states=n_states,
        n_actions=n_actions,
        keys=keys,
        about=about,
        spaces=known,
        raw=raw,
        allowed=allowed,
    )


def _kept_raw(
    arrays: dict[str, Any], source: str, steps: int, spaces: tuple[Any, Any]
) -> RawSteps | None:
    """The steps as the environment took and gave them, where they were kept."""
    if RAW not in arrays:
        return None
    try:
        shape = json.loads(str(arrays[RAW]))
    except ValueError as problem:
        raise Error(f"{source}: raw steps: damaged: {problem}") from None
    raw = RawSteps.from_arrays(arrays, shape, source)
    if len(raw.durations) != steps:
        raise Error(f"{source}: raw steps: {len(raw.durations)} decisions, {steps} steps: damaged")
    return raw if None in spaces else replace(raw, spaces=(spaces[0], spaces[1]))


def states_match(
    spaces: tuple[Any, Any], n_states: int, n_actions: int, keys: tuple[Any, ...] | None
) -> bool:
    """Whether numbers of data fit the spaces of an environment."""
    index, actions = state_encoder(spaces[0]), SpaceIndex(spaces[1])
    return actions.size == n_actions and (
        keys is not None if isinstance(index, DiscoveredStates) else index.size == n_states
    )


def _environment_name(env: Any) -> str:
    spec = getattr(env, "spec", None)
    return str(getattr(spec, "id", None) or ("unknown" if env is None else type(env).__name__))
