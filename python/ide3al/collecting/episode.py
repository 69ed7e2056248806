"""One episode at a time: what it holds, and how it is lived through.

An episode is a function of the policy, the seed and its number, and of nothing else. Whoever lives it, here or on another
machine, for the first time or after a crash, finds the same; so that episodes can be lost, repeated and handed around without
the data changing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _ide3al
from .._ide3al import Error
from ..encoding.discrete import Found, Index, states_of
from ..types import Floats, Integers

#: Actions are drawn from numbers made this many at a time.
_CHUNK = 256
#: Where neither the environment nor the caller ends an episode, and something waits for its end.
LONGEST = 1000


@dataclass(frozen=True)
class Episode:
    """States and actions by number; one state more than actions."""

    states: Integers
    actions: Integers
    rewards: Floats
    #: Whether it ended in a terminal state, and whether it was cut short.
    terminated: bool
    truncated: bool
    #: Number of the plan it followed.
    plan: int = 0
    # : What was met for the first time in this episode, where states are numbered as they are met,
    # in order.
    found: tuple[Hashable, ...] = ()

    def __len__(self) -> int:
        return int(self.actions.size)

    def cut(self, steps: int) -> Episode:
        """The first steps of it."""
        if steps >= len(self):
            return self
        return Episode(
            self.states[: steps + 1],
            self.actions[:steps],
            self.rewards[:steps],
            False,
            True,
            self.plan,
            self.found,
        )


class CollectionError(Error):
    """Something went wrong on the way; :attr:`data` is what was collected until then, whole episodes only."""

    def __init__(self, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.data = data

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self),)


@dataclass(frozen=True)
class Plan:
    """A policy to follow for some episodes, (S, A), or (T, S, A) for episodes of T steps; states beyond its rows are played
    uniformly."""

    number: int
    table: Floats
    #: An explorer that chooses each action instead, as its own bytes.
    explorer: bytes | None = None
    #: Whether an episode is cut when the explorer has all samples that it wants.
    until_sampled: bool = False
    sums: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sums", np.cumsum(self.table, axis=-1))

    @property
    def length(self) -> int | None:
        """Steps after which it is at its end."""
        return int(self.table.shape[0]) if self.table.ndim == 3 else None

    def longest(self, allowed: int | None) -> int | None:
        """Steps after which an episode is cut."""
        length = self.length
        return allowed if length is None else length if allowed is None else min(allowed, length)


def checked_table(policy: npt.ArrayLike, n_states: int | None, n_actions: int) -> Floats:
    """A policy (S, A), or (T, S, A), whose rows are distributions."""
    table = np.asarray(policy, dtype=np.float64)
    size = n_states if n_states is not None or table.ndim not in (2, 3) else table.shape[-2]
    if table.shape[-2:] != (size, n_actions) or table.ndim > 3 or 0 in table.shape[:-2]:
        raise Error(
            f"policy: expected shape ({size}, {n_actions}), or that behind a number of steps, found {table.shape}"
        )
    if not (table >= 0).all() or not np.allclose(table.sum(axis=-1), 1, atol=1e-6):
        raise Error("policy: every row must be a distribution over actions")
    return table


def seeds(seed: int, number: int) -> tuple[int, np.random.Generator]:
    """The environment's seed and the generator of actions of one episode."""
    sequence = np.random.SeedSequence((seed, number))
    environment, actions = sequence.spawn(2)
    return int(environment.generate_state(1)[0] >> 1), np.random.default_rng(actions)


class Runner:
    """Lives episodes in one environment."""

    def __init__(self, env: Any, states: Index | Found | None = None) -> None:
        for kind in ("observation_space", "action_space"):
            if not hasattr(env, kind):
                raise Error(f"{env!r} is no Gymnasium environment: it has no {kind}")
        self.env = env
        self.states = states_of(env.observation_space) if states is None else states
        self.actions = Index(env.action_space)
        #: Steps taken, for whoever watches over a step that never ends.
        self.taken = 0

    def run(self, plan: Plan, seed: int, number: int, longest: int | None) -> Episode:
        """Episode ``number``, cut after ``longest`` steps."""
        states, actions, env = self.states, self.actions, self.env
        before = states.size
        first, rng = seeds(seed, number)
        timed, n_actions = plan.length is not None, actions.size
        sums, longest = plan.sums, plan.longest(longest)
        visited: list[int] = []
        tried: list[int] = []
        rewards: list[float] = []
        terminated = truncated = False
        observation, _ = env.reset(seed=first)
        self.taken += 1
        state = states.number(observation)
        visited.append(state)
        draws: list[float] = []
        explorer = None
        if plan.explorer is not None:
            explorer = _ide3al.Explorer(n_actions, plan.explorer)
            explorer.seed(int(rng.integers(2**63)), 0)
            explorer.start(0, state)
        while not (terminated or truncated):
            if explorer is not None:
                action = explorer.act(0, state)
            else:
                if not draws:
                    draws = rng.random(_CHUNK).tolist()
                x = draws.pop()
                here = sums[len(tried)] if timed else sums
                if state < len(here):
                    row = here[state]
                    action = min(int(row.searchsorted(x * row[-1], "right")), n_actions - 1)
                else:
                    action = int(x * n_actions)
            before_step = state
            observation, reward, terminated, truncated, _ = env.step(actions.element(action))
            self.taken += 1
            state = states.number(observation)
            if explorer is not None:
                explorer.step(0, before_step, action, state, 1 if terminated else 0)
                if plan.until_sampled and explorer.wanting() == 0 and not terminated:
                    truncated = True
            visited.append(state)
            tried.append(action)
            rewards.append(float(reward))
            if longest is not None and len(tried) >= longest and not terminated:
                truncated = True
        return Episode(
            states=np.array(visited, dtype=np.int64),
            actions=np.array(tried, dtype=np.int64),
            rewards=np.array(rewards, dtype=np.float64),
            terminated=bool(terminated),
            truncated=bool(truncated and not terminated),
            plan=plan.number,
            found=tuple(states.keys[before:])
            if isinstance(states, Found) and states.size > before
            else (),
        )


class Lessons:
    """Episodes as an agent remembers them: rows of state, action, next state and how the step ended (0 goes on, 1 in a
    terminal state, 2 cut short, 3 left a terminal state for a start), and where episodes began.

    Leaving a terminal state is a step of the model, whatever the action: the actions take turns."""

    def __init__(self, n_actions: int) -> None:
        self._n_actions = n_actions
        self._turn = 0
        self._over: int | None = None

    def of(self, episodes: Iterable[Episode]) -> tuple[Integers, Integers]:
        rows, starts = [np.zeros((0, 4), dtype=np.int64)], []
        for episode in episodes:
            start = int(episode.states[0])
            starts.append(start)
            if self._over is not None:
                rows.append(
                    np.array([[self._over, self._turn % self._n_actions, start, 3]], dtype=np.int64)
                )
                self._turn += 1
            steps = np.zeros((len(episode), 4), dtype=np.int64)
            steps[:, 0], steps[:, 1], steps[:, 2] = (
                episode.states[:-1],
                episode.actions,
                episode.states[1:],
            )
            steps[-1:, 3] = 1 if episode.terminated else 2
            rows.append(steps)
            self._over = int(episode.states[-1]) if episode.terminated else None
        return np.concatenate(rows), np.array(starts, dtype=np.int64)
