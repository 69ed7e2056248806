"""Data sets from arrays by name, as files hold them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt

from .._ide3al import Error
from ..encoding.discrete import DiscoveredStates, SpaceIndex, read_literal
from ..encoding.partitioned import TERMINAL_KEY, PartitionEncoder
from ..encoding.raw import RAW, RawSteps
from .card import about_of, read_card
from .dataset import Data
from .numbering import StateFunction, index_of, numbers_in, spaces_of, states_match

#: Names under which others keep the same arrays.
_NAMES = {
    "observations": ("observations", "observation", "obs", "states", "state"),
    "actions": ("actions", "action", "acts"),
    "rewards": ("rewards", "reward"),
    "next_observations": ("next_observations", "next_observation", "next_obs", "next_states"),
    "terminations": ("terminations", "terminated", "terminals", "dones", "done"),
    "truncations": ("truncations", "truncated", "timeouts"),
}


def data_from_arrays(
    arrays: dict[str, Any], source: str, env: Any, states: StateFunction | None
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
    spaces = spaces_of(env)
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
        index = index_of(None, states)
    else:
        index = index_of(spaces[0], states)
    if (
        not ours
        and given["observations"].dtype.kind == "f"
        and states is None
        and not isinstance(index, SpaceIndex)
    ):
        values = given["observations"]
        if not np.isfinite(values).all() or (values != np.round(values)).any():
            raise Error(
                f"{source}: observations are real numbers, hardly any is met twice; say what tells their states: "
                "states=function, for example the bins of ide3al.wrappers.Discretize"
            )
    observations, following = given["observations"], given.get("next_observations")
    unknown = np.zeros(n, dtype=np.bool_)
    if following is None:
        # within an episode the next observation is that of the next step; the last one is not known
        unknown = ends["terminations"] | ends["truncations"]
        unknown[-1] = True
        following = np.roll(observations, -1, axis=0)
        following[unknown] = observations[unknown]
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
        raw, allowed = _raw_steps(arrays, source, n, spaces), arrays.get("allowed")
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
        both = numbers_in(
            np.stack([observations, following], axis=1).reshape(2 * n, *observations.shape[1:]),
            index,
            states,
        )
        numbers, next_numbers = both[0::2], both[1::2]
        if (
            isinstance(states, PartitionEncoder)
            and isinstance(index, DiscoveredStates)
            and ends["terminations"].any()
        ):
            next_numbers[ends["terminations"]] = index.take(TERMINAL_KEY)
        over = unknown & ends["terminations"]
        if isinstance(index, DiscoveredStates) and over.any():
            # all that is known of these states is that nothing follows
            next_numbers[over] = index.take(TERMINAL_KEY)
            unknown &= ~over
        keys = tuple(index.keys) if isinstance(index, DiscoveredStates) else None
        n_states = index.size
        if isinstance(states, PartitionEncoder) or spaces[1] is not None:
            actions = (
                states.actions if isinstance(states, PartitionEncoder) else SpaceIndex(spaces[1])
            )
            tried, n_actions = numbers_in(given["actions"], actions, None), actions.size
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
        if isinstance(states, PartitionEncoder):
            about["abstraction"] = states.to_dict(repeat=1)
        known = spaces if None not in spaces and states is None else None
    data = Data(
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
    return _without(data, unknown, source) if unknown.any() and not ours else data


def _without(data: Data, unknown: npt.NDArray[np.bool_], source: str) -> Data:
    """The data without the steps of which nobody knows where they led: any state in its place would
    be a transition that never was, and certificates would rest on it."""
    kept = ~unknown
    if not kept.any():
        raise Error(
            f"{source}: next_observations are missing, and no episode has a second step to tell them from"
        )
    ended = data.terminations | data.truncations
    cut = np.flatnonzero(unknown[1:] & ~ended[:-1] & kept[:-1])
    truncations = data.truncations.copy()
    truncations[cut] = True
    return data.replace(
        observations=data.observations[kept],
        actions=data.actions[kept],
        rewards=data.rewards[kept],
        next_observations=data.next_observations[kept],
        terminations=data.terminations[kept],
        truncations=truncations[kept],
        about={**data.about, "steps_left_out": int(unknown.sum())},
    )


def _raw_steps(
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
    return raw if None in spaces else raw.replace(spaces=(spaces[0], spaces[1]))


def read_keys(text: str, source: str) -> tuple[Any, ...]:
    """What was met, as :func:`literal` wrote it."""
    try:
        return tuple(read_literal(text))
    except (ValueError, SyntaxError) as problem:
        raise Error(f"{source}: states: damaged: {problem}") from None


def _environment_name(env: Any) -> str:
    spec = getattr(env, "spec", None)
    return str(getattr(spec, "id", None) or ("unknown" if env is None else type(env).__name__))
