"""Many environments at once: Gymnasium's vector environments, stepped together, with one batched
draw of actions."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import _ide3al
from .._extras import need
from .._ide3al import Error
from ..datasets.episode import Episode
from ..encoding.discrete import DiscoveredStates, SpaceIndex, state_encoder
from ..encoding.masks import Mask, VectorMaskReader, entry_of, nearest_legal
from ..types import Floats, Integers
from .base import Budget, CollectionError
from .plan import Plan
from .sampler import seeds

Flags = npt.NDArray[np.bool_]


def is_vector(env: Any) -> bool:
    """Whether it is many environments."""
    return hasattr(env, "num_envs") and hasattr(env, "single_observation_space")


class VectorStep(NamedTuple):
    """What one step of all environments brought."""

    #: The states reached; where an episode ended, its last one.
    reached: Integers
    rewards: Floats
    terminated: Flags
    truncated: Flags
    #: Where a step was taken at all: elsewhere the environment only started over.
    stepped: Flags
    #: Where an episode began, and the states to go on from.
    begun: Flags
    states: Integers
    #: Whether nothing began or ended anywhere, as in most steps.
    plain: bool


class Vector:
    """A vector environment by numbers, whatever way it starts episodes over."""

    def __init__(
        self,
        env: Any,
        states: SpaceIndex | DiscoveredStates | None = None,
        time_limit: float | None = None,
    ) -> None:
        self.env, self.n = env, int(env.num_envs)
        self.states = state_encoder(env.single_observation_space) if states is None else states
        self.actions = SpaceIndex(env.single_action_space)
        if time_limit is not None and not hasattr(env, "step_async"):
            raise Error(
                "step_time_limit: a step of these environments cannot be given up on; make them with "
                'gymnasium.make_vec(..., vectorization_mode="async"), or give one'
            )
        self._time_limit = time_limit
        mode = getattr(env, "metadata", {}).get("autoreset_mode", "NextStep")
        self._mode = str(getattr(mode, "value", mode))
        self._reader = VectorMaskReader(env, self.actions.space, self.actions.size)
        #: The actions allowed now in each environment, where it masks any.
        self.masks: list[Mask | None] = [None] * self.n
        self._over = self._none = np.zeros(self.n, dtype=np.bool_)
        self._all = ~self._none

    def reset(self, seed: int | None) -> Integers:
        observations, info = self.env.reset() if seed is None else self.env.reset(seed=seed)
        self.masks = self._reader.read(observations, info)
        self._over = self._none
        return self.numbers(observations)

    def legal(self, actions: Integers) -> Integers:
        """The same actions, but for those that are not allowed: others take their place."""
        if all(mask is None for mask in self.masks):
            return actions
        chosen = zip(actions.tolist(), self.masks, strict=True)
        return np.array([nearest_legal(a, mask) for a, mask in chosen], dtype=np.int64)

    def masked(self) -> Iterator[tuple[int, Mask]]:
        """The masks of the environments that the next step does not start over."""
        for k, mask in enumerate(self.masks):
            if mask is not None and not self._over[k]:
                yield k, mask

    def numbers(self, observations: Any) -> Integers:
        """The states of a batch of observations."""
        return encode_batch(self.states, self.env.single_observation_space, observations, self.n)

    def step(self, actions: Integers) -> VectorStep:
        observations, rewards, terminated, truncated, info = self._step(
            decode_batch(self.actions, actions)
        )
        self.masks = self._reader.read(observations, info)
        states = self.numbers(observations)
        over = np.asarray(terminated) | np.asarray(truncated)
        if not np.count_nonzero(over) and self._over is self._none:
            return VectorStep(states, rewards, over, over, self._all, self._none, states, True)
        if self._mode == "NextStep":
            stepped = ~self._over
            self._over = over & stepped
            if not self._over.any():
                self._over = self._none
            return VectorStep(
                states,
                rewards,
                terminated & stepped,
                truncated & stepped,
                stepped,
                ~stepped,
                states,
                False,
            )
        reached = states.copy()
        if self._mode == "SameStep":
            last = entry_of(info, "final_obs", "final_observation")
            for k in np.flatnonzero(over).tolist():
                reached[k] = self.states.number(_part(last, k))
        else:
            observations, info = self.env.reset(options={"reset_mask": over})
            again = self._reader.read(observations, info)
            for k in np.flatnonzero(over).tolist():
                self.masks[k] = again[k]
            states = np.where(over, self.numbers(observations), states)
        return VectorStep(reached, rewards, terminated, truncated, self._all, over, states, False)

    def _step(self, actions: Any) -> Any:
        if self._time_limit is None:
            return self.env.step(actions)
        self.env.step_async(actions)
        try:
            return self.env.step_wait(timeout=self._time_limit)
        except Exception as problem:
            # multiprocessing's own, under a wrapper or not
            if type(problem).__name__ != "TimeoutError":
                raise
            raise CollectionError(
                f"a step took longer than step_time_limit = {self._time_limit} s"
            ) from problem


def encode_batch(
    states: SpaceIndex | DiscoveredStates, space: Any, observations: Any, n: int
) -> Integers:
    """The numbers of a batch of observations."""
    if isinstance(states, SpaceIndex) and type(space).__name__ == "Discrete":
        numbers = np.array(observations, dtype=np.int64)
        if space.start:
            numbers -= int(space.start)
        # what is negative is huge without a sign
        if numbers.shape != (n,) or np.count_nonzero(numbers.view(np.uint64) < states.size) != n:
            raise Error(f"observations {observations!r} are not {n} elements of {space}")
        return numbers
    if type(observations) is tuple and type(space).__name__ != "Tuple":
        # a space that nobody can batch: one observation after the other
        parts = iter(observations)
    else:
        utils = need("gymnasium.vector.utils", "gymnasium")
        parts = iter(utils.iterate(utils.batch_space(space, n), observations))
    return np.fromiter((states.number(part) for part in parts), dtype=np.int64, count=n)


def decode_batch(actions: SpaceIndex, numbers: Integers) -> Any:
    """The batch of actions with these numbers."""
    space = actions.space
    if type(space).__name__ == "Discrete":
        return numbers + int(space.start) if space.start else numbers
    utils = need("gymnasium.vector.utils", "gymnasium")
    empty = utils.create_empty_array(space, n=len(numbers))
    return utils.concatenate(space, [actions.element(int(k)) for k in numbers], empty)


def batch_size(space: Any, observation: Any) -> int | None:
    """How many observations this is; nothing if it is a single one, or cannot be told."""
    parts = getattr(space, "spaces", None)
    if isinstance(parts, Mapping):
        if not isinstance(observation, Mapping) or set(observation) != set(parts):
            return None
        sizes = {batch_size(inner, observation[name]) for name, inner in parts.items()}
        return sizes.pop() if len(sizes) == 1 else None
    if parts is not None:
        if not isinstance(observation, tuple) or len(observation) != len(parts):
            return None
        sizes = {batch_size(inner, part) for inner, part in zip(parts, observation, strict=True)}
        return sizes.pop() if len(sizes) == 1 else None
    shape = getattr(space, "shape", None)
    if (
        shape is None
        or not isinstance(observation, np.ndarray)
        or observation.ndim != len(shape) + 1
    ):
        return None
    return int(observation.shape[0])


def _part(batch: Any, k: int) -> Any:
    """One of many, where they come as an array of objects, or in parts."""
    if isinstance(batch, Mapping):
        return {name: _part(inner, k) for name, inner in batch.items()}
    if isinstance(batch, tuple):
        return tuple(_part(inner, k) for inner in batch)
    return batch[k]


class VectorRunner:
    """Episodes of many environments, in the order in which they end.

    All environments follow the plan at hand; an episode in progress goes on under the next plan.
    The same for the same seed and number of environments."""

    def __init__(
        self,
        env: Any,
        states: SpaceIndex | DiscoveredStates,
        time_limit: float | None,
        own: bool = False,
    ) -> None:
        self._own = own
        self._vector = Vector(env, states, time_limit)
        self.states, self.actions = self._vector.states, self._vector.actions
        self._at: Integers | None = None
        self._rng = np.random.default_rng(0)
        self._open: list[tuple[list[int], list[int], list[float], list[Mask | None]]] = []
        #: Episodes that ended and were not taken yet.
        self._ready: deque[Episode] = deque()
        #: What was met since the last episode ended.
        self._kept = self.states.size
        #: What chooses the actions of all environments, where the plan is an explorer.
        self._explorer: _ide3al.Explorer | None = None

    def episodes(
        self,
        plan: Plan,
        seed: int,
        first: int,
        count: int | None,
        left: Budget,
        max_steps: int | None,
    ) -> Iterator[Episode]:
        vector = self._vector
        if plan.length is not None:
            raise Error(
                "policy: one that depends on the step begins anew with every episode, and vector environments start over by "
                "themselves only; give one environment, or a policy (S, A)"
            )
        if self._at is None:
            reset, self._rng = seeds(seed, first)
            self._at = vector.reset(reset)
            self._open = [([int(s)], [], [], []) for s in self._at]
            self._explorer = None
        if plan.explorer is not None and self._explorer is None:
            # from then on it learns of every step itself
            self._explorer = _ide3al.Explorer(self.actions.size, plan.explorer)
            self._explorer.seed(int(self._rng.integers(2**63)), 0)
            for k, state in enumerate(self._at.tolist()):
                self._explorer.start(k, state)
        given = 0
        in_progress = sum(len(tried) for _, tried, *_ in self._open)
        while count is None or given < count:
            # whoever stops here finds the others the next time
            if self._ready:
                given += 1
                yield self._ready.popleft()
                continue
            wanted = left()
            if wanted is not None and in_progress >= wanted:
                return
            masks = vector.masks
            actions = vector.legal(self._draw(plan, self._at))
            moved = vector.step(actions)
            full = []
            steps = zip(
                moved.stepped.tolist(),
                moved.reached.tolist(),
                actions.tolist(),
                np.asarray(moved.rewards).tolist(),
                strict=True,
            )
            for k, (stepped, reached, action, reward) in enumerate(steps):
                if stepped:
                    visited, tried, rewards, allowed = self._open[k]
                    visited.append(reached)
                    tried.append(action)
                    rewards.append(reward)
                    allowed.append(masks[k])
                    in_progress += 1
                    if self._explorer is not None:
                        end = 1 if moved.terminated[k] else 2 if moved.truncated[k] else 0
                        self._explorer.step(k, visited[-2], action, reached, end)
                    if len(tried) == max_steps:
                        full.append(k)
            self._at = moved.states
            over = (
                []
                if moved.plain
                else np.flatnonzero((moved.terminated | moved.truncated) & moved.stepped).tolist()
            )
            # vector environments start over by themselves only: what is too long is cut, and goes
            # on as another
            for k in (*over, *(k for k in full if k not in over)):
                in_progress -= len(self._open[k][1])
                self._ready.append(self._ended(k, bool(moved.terminated[k]), plan.number))
            if not moved.plain:
                for k in np.flatnonzero(moved.begun).tolist():
                    self._open[k] = ([int(moved.states[k])], [], [], [])
                    if self._explorer is not None:
                        self._explorer.start(k, int(moved.states[k]))
            if (
                plan.until_sampled
                and self._explorer is not None
                and not self._explorer.n_undersampled()
            ):
                # nothing is missing any more: what is in progress ends here
                for k in range(vector.n):
                    if self._open[k][1]:
                        in_progress -= len(self._open[k][1])
                        self._ready.append(self._ended(k, False, plan.number))

    def _draw(self, plan: Plan, at: Integers) -> Integers:
        """One action for each environment; uniform where the plan knows nothing."""
        if self._explorer is not None:
            for k, mask in self._vector.masked():
                self._explorer.restrict(int(at[k]), mask)
            return self._explorer.act_all(at)
        if int(at.max()) < len(plan.sums):
            sums = plan.sums[at]
        else:
            known = at < len(plan.sums)
            sums = np.repeat(np.arange(1.0, self.actions.size + 1)[None], len(at), axis=0)
            sums[known] = plan.sums[at[known]]
        draws = self._rng.random(len(at)) * sums[:, -1]
        # a rounded sum may lie below the draw
        actions: Integers = np.minimum((sums <= draws[:, None]).sum(axis=1), self.actions.size - 1)
        return actions

    def drain(self, plan: int) -> Iterator[Episode]:
        """Episodes that nobody took, and those in progress, cut here."""
        while self._ready:
            yield self._ready.popleft()
        for k in range(self._vector.n):
            if self._open and self._open[k][1]:
                yield self._ended(k, False, plan)
        self._at = None

    def close(self) -> None:
        """Closes the environments, unless they are the caller's."""
        if self._own:
            self._vector.env.close()

    def _ended(self, k: int, terminated: bool, plan: int) -> Episode:
        visited, tried, rewards, allowed = self._open[k]
        self._open[k] = ([visited[-1]], [], [], [])
        found: tuple[Any, ...] = ()
        if isinstance(self.states, DiscoveredStates) and self.states.size > self._kept:
            found, self._kept = tuple(self.states.keys[self._kept :]), self.states.size
        return Episode(
            np.array(visited, dtype=np.int64),
            np.array(tried, dtype=np.int64),
            np.array(rewards, dtype=np.float64),
            terminated,
            not terminated,
            plan,
            found,
            allowed=self._rows(allowed),
        )

    def _rows(self, masks: list[Mask | None]) -> Mask | None:
        """The masks of an episode's states. Of the last one, where nothing was done, nothing is
        said to be allowed: the mask at hand may be that of an episode that began at once."""
        if all(mask is None for mask in masks):
            return None
        rows = np.ones((len(masks) + 1, self.actions.size), dtype=np.bool_)
        rows[-1] = False
        for row, mask in zip(rows, masks, strict=False):
            if mask is not None:
                row[:] = mask
        return rows
