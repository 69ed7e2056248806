"""One episode at a time: what it holds, and how it is lived through.

An episode is a function of the policy, the seed and its number, and of nothing else. Whoever lives it, here or on another
machine, for the first time or after a crash, finds the same; so that episodes can be lost, repeated and handed around without
the data changing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import _check as check
from .._ide3al import Error
from ..datasets.raw import RawEpisode, RawRecorder, kept
from ..encoding.abstraction import ActionGrid
from ..encoding.discrete import DiscoveredStates, SpaceIndex, state_encoder
from ..encoding.masks import Mask, MaskReader
from ..types import Floats, Integers

#: Actions are drawn from numbers made this many at a time.
_CHUNK = 256
#: Where neither the environment nor the caller ends an episode, and something waits for its end.
DEFAULT_MAX_STEPS = 1000


@dataclass(frozen=True)
class Episode:
    """States and actions by number; one state more than actions."""

    states: Integers
    actions: Integers
    rewards: Floats
    #: Whether it ended in a terminal state, and whether it was truncated.
    terminated: bool
    truncated: bool
    #: Number of the plan it followed.
    plan: int = 0
    # : What was met for the first time in this episode, where states are numbered as they are met,
    # in order.
    found: tuple[Hashable, ...] = ()
    #: What the environment really gave and was given, where states are cells.
    raw: RawEpisode | None = None
    #: Which actions were allowed in each of the states, where the environment masks any.
    allowed: Mask | None = None

    def __len__(self) -> int:
        return int(self.actions.size)

    def truncate(self, steps: int) -> Episode:
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
            None if self.raw is None else self.raw.truncate(steps),
            None if self.allowed is None else self.allowed[: steps + 1],
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
    # : Samples that an episode is for, per pair (S, A) or per state (S, 1): it is cut when it has
    # brought all of them, or none for : ``patience`` steps after the first.
    sample_quota: Integers | None = None
    patience: int = 0
    sums: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sums", np.cumsum(self.table, axis=-1))

    @property
    def length(self) -> int | None:
        """Steps after which it is at its end."""
        return int(self.table.shape[0]) if self.table.ndim == 3 else None

    def max_steps(self, allowed: int | None) -> int | None:
        """Steps after which an episode is cut."""
        length = self.length
        return allowed if length is None else length if allowed is None else min(allowed, length)


class ScheduledPlan(NamedTuple):
    """A plan, the number of episodes that follow it (None: until the end), and what is recorded
    about it."""

    plan: Plan
    episodes: int | None
    info: dict[str, Any]


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


class EpisodeSampler:
    """Lives episodes in one environment."""

    def __init__(
        self,
        env: Any,
        states: SpaceIndex | DiscoveredStates | None = None,
        policy: Any = None,
        actions: SpaceIndex | ActionGrid | None = None,
    ) -> None:
        check.environment(env)
        check.actions_can_be_numbered(env.action_space)
        self.env = env
        self.states = state_encoder(env.observation_space) if states is None else states
        self.actions = SpaceIndex(env.action_space) if actions is None else actions
        #: A policy that looks at observations, in place of the plan's table.
        self.policy = policy
        self._reader = MaskReader(env, env.action_space, self.actions.size)
        #: Steps taken, for whoever watches over a step that never ends.
        self.taken = 0

    def sample(self, plan: Plan, seed: int, number: int, max_steps: int | None) -> Episode:
        """Episode ``number``, cut after ``max_steps`` steps."""
        states, env = self.states, self.env
        before = states.size
        first, rng = seeds(seed, number)
        max_steps = plan.max_steps(max_steps)
        draw = _Draw(plan, self.actions.size, rng)
        if self.policy is not None:
            self.policy.begin(rng)
        visited: list[int] = []
        tried: list[int] = []
        rewards: list[Any] = []
        allowed: list[Mask] = []
        terminated = truncated = False
        observation, info = env.reset(seed=first)
        self.taken += 1
        state = states.number(observation)
        visited.append(state)
        mask = self._mask(observation, info, allowed)
        quota = (
            None if plan.sample_quota is None else _SampleQuota(plan.sample_quota, plan.patience)
        )
        while not (terminated or truncated):
            if self.policy is None:
                action = draw.action(state, len(tried), mask)
                element = self.actions.element(action)
            else:
                element = self._chosen(observation, mask)
                action = self.actions.number(element)
            observation, reward, terminated, truncated, info = env.step(element)
            self.taken += 1
            if quota is not None and quota.done(state, action) and not terminated:
                truncated = True
            state = states.number(observation)
            visited.append(state)
            tried.append(action)
            rewards.append(kept(reward))
            mask = self._mask(observation, info, allowed)
            if max_steps is not None and len(tried) >= max_steps and not terminated:
                truncated = True
        recorder = getattr(env, "recorder", None)
        return Episode(
            states=np.array(visited, dtype=np.int64),
            actions=np.array(tried, dtype=np.int64),
            rewards=np.array(rewards, dtype=np.float64),
            terminated=bool(terminated),
            truncated=bool(truncated and not terminated),
            plan=plan.number,
            found=tuple(states.keys[before:])
            if isinstance(states, DiscoveredStates) and states.size > before
            else (),
            raw=recorder.episode() if isinstance(recorder, RawRecorder) else None,
            allowed=np.array(allowed) if allowed else None,
        )

    def _mask(self, observation: Any, info: Any, allowed: list[Mask]) -> Mask | None:
        if isinstance(self.actions, ActionGrid):
            return None
        mask = self._reader.read(observation, info)
        if mask is not None or allowed:
            allowed.append(np.ones(self.actions.size, dtype=np.bool_) if mask is None else mask)
        return mask

    def _chosen(self, observation: Any, mask: Mask | None) -> Any:
        """What the policy chose, as the environment takes it."""
        element = element_of(
            self.policy.choose(observation, mask), self.env.action_space, self.actions
        )
        if mask is not None and not mask[self.actions.number(element)]:
            raise Error(
                f"policy: chose {element!r}, which is not allowed here; give a function that takes "
                "action_masks, too"
            )
        return element


def element_of(choice: Any, space: Any, actions: SpaceIndex | ActionGrid) -> Any:
    """What a policy chose, as the environment takes it."""
    if isinstance(actions, ActionGrid):
        chosen = np.asarray(choice, dtype=space.dtype)
        if chosen.shape != space.shape or not np.isfinite(chosen).all():
            raise Error(f"policy: chose {choice!r}, which is no element of {space}")
        return chosen
    if isinstance(choice, np.ndarray) and type(space).__name__ == "Discrete":
        if choice.size != 1:
            raise Error(f"policy: chose {choice!r}; {space} takes one number")
        choice = choice.reshape(())[()]
    actions.number(choice)
    return choice


def drawn(plan: Plan, state: int, rng: np.random.Generator, n_actions: int) -> int:
    """An action from a plan's table; uniform where it knows nothing."""
    if state >= len(plan.sums):
        return int(rng.integers(n_actions))
    row = plan.sums[state]
    return min(int(row.searchsorted(rng.random() * row[-1], "right")), n_actions - 1)


class _Draw:
    """Actions drawn from a plan's table; states that it does not know of are played uniformly."""

    def __init__(self, plan: Plan, n_actions: int, rng: np.random.Generator) -> None:
        self._sums, self._timed = plan.sums, plan.length is not None
        self._n_actions, self._rng = n_actions, rng
        self._draws: list[float] = []

    def action(self, state: int, step: int, mask: Mask | None) -> int:
        """An action among those allowed."""
        if not self._draws:
            self._draws = self._rng.random(_CHUNK).tolist()
        x = self._draws.pop()
        here = self._sums[step] if self._timed else self._sums
        known = state < len(here)
        if mask is not None:
            shares = np.diff(here[state], prepend=0.0) * mask if known else mask
            # a plan that knows of nothing that is allowed is no help
            row = np.cumsum(shares if np.sum(shares) > 0 else mask, dtype=np.float64)
        elif known:
            row = here[state]
        else:
            return int(x * self._n_actions)
        return min(int(row.searchsorted(x * row[-1], "right")), self._n_actions - 1)


class _SampleQuota:
    """What an episode is for, less what it has brought."""

    def __init__(self, wanted: Integers, patience: int) -> None:
        self._wanted, self._patience = wanted.copy(), patience
        self._left, self._waited = int(wanted.sum()), -1

    def done(self, state: int, action: int) -> bool:
        """Whether to stop after this step."""
        column = action if self._wanted.shape[1] > 1 else 0
        if state < len(self._wanted) and self._wanted[state, column] > 0:
            self._wanted[state, column] -= 1
            self._left -= 1
            self._waited = 0
        elif self._waited >= 0:
            self._waited += 1
        return self._left == 0 or self._waited > self._patience


class TransitionFlattener:
    """Episodes as an agent remembers them: rows of state, action, next state and how the step ended (0 goes on, 1 in a
    terminal state, 2 cut short, 3 left a terminal state for a start), and where episodes began.

    Leaving a terminal state is a step of the model, whatever the action: the actions take turns."""

    def __init__(self, n_actions: int) -> None:
        self._n_actions = n_actions
        self._turn = 0
        self._terminal_state: int | None = None

    def flatten(self, episodes: Iterable[Episode]) -> tuple[Integers, Integers]:
        rows, starts = [np.zeros((0, 4), dtype=np.int64)], []
        for episode in episodes:
            start = int(episode.states[0])
            starts.append(start)
            if self._terminal_state is not None:
                rows.append(
                    np.array(
                        [[self._terminal_state, self._turn % self._n_actions, start, 3]],
                        dtype=np.int64,
                    )
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
            self._terminal_state = int(episode.states[-1]) if episode.terminated else None
        return np.concatenate(rows), np.array(starts, dtype=np.int64)
