"""One episode at a time: what it holds, and how it is taken.

An episode is a function of the policy, the seed and its number, and of nothing else. Whoever takes
it, here or on another machine, for the first time or after a crash, finds the same; so that
episodes can be lost, repeated and handed around without the data changing."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._check import check_actions, check_environment
from .._ide3al import Error
from .._protocol import reset_env, step_env
from ..datasets.episode import Episode
from ..encoding.abstraction import ActionGrid
from ..encoding.discrete import DiscoveredStates, SpaceIndex, state_encoder
from ..encoding.masks import Mask, MaskReader
from ..encoding.raw import RawRecorder, kept
from .drawing import drawing, element_of
from .plan import Plan

#: Where neither the environment nor the caller ends an episode, and something waits for its end.
DEFAULT_MAX_STEPS = 1000


def seeds(seed: int, number: int) -> tuple[int, np.random.Generator]:
    """The environment's seed and the generator of actions of one episode."""
    sequence = np.random.SeedSequence((seed, number))
    environment, actions = sequence.spawn(2)
    return int(environment.generate_state(1)[0] >> 1), np.random.default_rng(actions)


class EpisodeSampler:
    """Takes episodes in one environment."""

    def __init__(
        self,
        env: Any,
        states: SpaceIndex | DiscoveredStates | None = None,
        policy: Any = None,
        actions: SpaceIndex | ActionGrid | None = None,
    ) -> None:
        check_environment(env)
        check_actions(env.action_space)
        self.env = env
        self.states = state_encoder(env.observation_space) if states is None else states
        self.actions = SpaceIndex(env.action_space) if actions is None else actions
        #: A policy that looks at observations, in place of the plan's table.
        self.policy = policy
        self._reader = MaskReader(env, env.action_space, self.actions.size)
        #: Steps taken, read by the watch for steps that never end.
        self.taken = 0
        #: Whether nobody waits for the episode any more: its thread ends with the step at hand.
        self.is_abandoned = False

    def sample(self, plan: Plan, seed: int, number: int, max_steps: int | None) -> Episode:
        """Episode ``number``, cut after ``max_steps`` steps."""
        states, env = self.states, self.env
        before = states.size
        first, rng = seeds(seed, number)
        max_steps = plan.max_steps(max_steps)
        draw = drawing(plan, self.actions.size, rng)
        if self.policy is not None:
            self.policy.begin(rng)
        visited: list[int] = []
        tried: list[int] = []
        rewards: list[Any] = []
        allowed: list[Mask] = []
        terminated = truncated = False
        observation, info = reset_env(env, seed=first)
        self.taken += 1
        state = states.number(observation)
        visited.append(state)
        mask = self._mask(observation, info, allowed)
        draw.begin(state)
        while not (terminated or truncated):
            if self.policy is None:
                action = draw.action(state, len(tried), mask)
                element = self.actions.element(action)
            else:
                element = self._chosen(observation, mask)
                action = self.actions.number(element)
            observation, reward, terminated, truncated, info = step_env(env, element)
            if self.is_abandoned:
                raise Error(f"episode {number} was given up")
            self.taken += 1
            state, left = states.number(observation), state
            if draw.is_done_after(left, action, state, bool(terminated)) and not terminated:
                truncated = True
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
