"""The model of an environment that has none to show, found by stepping copies of it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from .. import _ide3al
from .._ide3al import Error
from ..encoding.discrete import SpaceIndex, to_key
from ..encoding.masks import Mask, MaskReader
from ..types import Floats

Key = Callable[[Any, Any], Hashable]


def enumerate_states(
    env: Any,
    key: Key | None,
    on_terminal: str,
    seeds: Sequence[int],
    max_states: int,
    samples: int | None,
) -> tuple[_ide3al.Model, list[Hashable]]:
    if on_terminal not in ("reset", "absorb"):
        raise Error(f"on_terminal = {on_terminal!r}: must be 'reset' or 'absorb'")
    if not seeds:
        raise Error("seeds: give at least one, to know where the environment starts")
    if samples is not None and samples < 2:
        raise Error(f"samples = {samples}: at least 2 tries per state and action are needed")
    base = getattr(env, "unwrapped", env)
    actions = SpaceIndex(env.action_space)
    same = key or _default_key
    number: dict[Hashable, int] = {}
    # one copy of the environment per state whose steps are still to be made
    waiting: list[Any] = []

    masks: list[Mask | None] = []

    def visit(at: Any, observation: Any, info: Any) -> int:
        name = same(at, observation)
        if name not in number:
            if len(number) >= max_states:
                raise Error(
                    f"more than {max_states} states: raise max_states, or give a coarser key"
                )
            number[name] = len(number)
            waiting.append(at)
            # the copy's own: what it allows depends on where it stands
            reader = MaskReader(at, env.action_space, actions.size)
            masks.append(reader.read(observation, info))
        return number[name]

    starts = []
    for seed in seeds:
        observation, info = base.reset(seed=int(seed))
        starts.append(visit(_copy(base), observation, info))
    # next states of each pair with the number of tries that led there
    following: list[dict[int, int]] = []
    # sum of rewards on the way to each
    earned: list[dict[int, float]] = []
    terminal: set[int] = set()
    state = 0
    while state < len(waiting):
        at, waiting[state] = waiting[state], None
        mask = masks[state]
        for a in range(actions.size):
            counts: dict[int, int] = {}
            sums: dict[int, float] = {}
            if mask is not None and (not mask[a] or state in terminal):
                following.append(counts)
                earned.append(sums)
                continue
            # two tries show randomness somewhere in a large environment; a small one needs more
            tries = samples or (8 if len(following) < 100 else 2)
            for k in range(tries):
                reached = _step(at, actions.element(a), (state, a, k))
                t = visit(*reached[:3])
                counts[t] = counts.get(t, 0) + 1
                sums[t] = sums.get(t, 0.0) + reached[4]
                if reached[3]:
                    terminal.add(t)
            if samples is None and len(counts) > 1:
                raise Error(
                    f"state {state}, action {a}: two tries led to different states: the "
                    "environment is random; estimate its probabilities with samples=..., or "
                    "learn it with ide3al.IDE3AL(...).fit(env)"
                )
            following.append(counts)
            earned.append(sums)
        state += 1
    n = len(number)
    start = np.bincount(starts, minlength=n) / len(starts)
    if any(mask is not None for mask in masks):
        model = _masked(following, terminal, masks, start, on_terminal, actions.size)
        rewards = _masked_rewards(following, earned, terminal, masks, actions.size)
        return _ide3al.model_with_rewards(model, rewards, sorted(terminal)), list(number)
    # a terminal state is marked on the way in, as in Gymnasium's tables
    table = [
        [
            [
                (count / sum(counts.values()), t, sums[t] / count, t in terminal)
                for counts, sums in [
                    (following[s * actions.size + a], earned[s * actions.size + a])
                ]
                for t, count in counts.items()
            ]
            for a in range(actions.size)
        ]
        for s in range(n)
    ]
    model = _ide3al.Model.from_table(table, n, actions.size, start, on_terminal == "reset")
    return model, list(number)


def _masked(
    following: list[dict[int, int]],
    terminal: set[int],
    masks: list[Mask | None],
    start: Floats,
    on_terminal: str,
    n_actions: int,
) -> _ide3al.Model:
    """The model without the pairs that are masked."""
    states, actions, rows = [], [], []
    begin = {int(s): float(start[s]) for s in np.flatnonzero(start)}
    for state, mask in enumerate(masks):
        for a in range(n_actions):
            counts = following[state * n_actions + a]
            if state in terminal:
                row = begin if on_terminal == "reset" else {state: 1.0}
            elif mask is not None and not mask[a]:
                continue
            else:
                row = {t: count / sum(counts.values()) for t, count in counts.items()}
            states.append(state)
            actions.append(a)
            rows.append(dict(sorted(row.items())))
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    indices = np.array([t for row in rows for t in row], dtype=np.int64)
    values = np.array([p for row in rows for p in row.values()])
    pairs = np.array(states, dtype=np.int64), np.array(actions, dtype=np.int64)
    return _ide3al.Model.from_pairs(len(masks), *pairs, (offsets, indices, values), start)


def _masked_rewards(
    following: list[dict[int, int]],
    earned: list[dict[int, float]],
    terminal: set[int],
    masks: list[Mask | None],
    n_actions: int,
) -> Floats:
    """The mean reward of each pair of that model."""
    rewards = []
    for state, mask in enumerate(masks):
        for a in range(n_actions):
            pair = state * n_actions + a
            if state in terminal:
                rewards.append(0.0)
            elif mask is None or mask[a]:
                tries = max(sum(following[pair].values()), 1)
                rewards.append(sum(earned[pair].values()) / tries)
    return np.array(rewards)


def _copy(env: Any) -> Any:
    try:
        return copy.deepcopy(env)
    except Exception as problem:  # whatever the environment holds: a window, a socket, ...
        raise Error(f"{type(env).__name__} cannot be copied: {problem}") from problem


def _step(env: Any, action: Any, stream: tuple[int, int, int]) -> tuple[Any, Any, Any, bool, float]:
    after = _copy(env)
    # a stream of its own for each try, so that randomness shows; the same in every call
    after.np_random = np.random.default_rng(stream)
    observation, reward, terminated, _, info = after.step(action)
    # rewards of several numbers are none that could be planned for
    earned = float(reward) if np.ndim(reward) == 0 else 0.0
    return after, observation, info, bool(terminated), earned


def _default_key(env: Any, observation: Any) -> Hashable:
    encode, at = (
        getattr(getattr(env, "grid", None), "encode", None),
        getattr(env, "agent_pos", None),
    )
    if at is not None and callable(encode):
        # MiniGrid's own hash() tells a place that was reset to from one that was walked to, and
        # forgets what is carried
        carried = getattr(env, "carrying", None)
        thing = None if carried is None else (str(carried.type), str(carried.color))
        place = tuple(int(x) for x in at), int(env.agent_dir)
        return to_key(encode()), place, thing, str(getattr(env, "mission", ""))
    return to_key(observation)
