"""One episode at a time: what it holds, and how it is lived through.

An episode is a function of the policy, the seed and its number, and of nothing else. Whoever lives
it, here or on another machine, for the first time or after a crash, finds the same; so that
episodes can be lost, repeated and handed around without the data changing."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _ide3al
from .._ide3al import Error
from ..datasets.episode import Episode
from ..encoding.discrete import DiscoveredStates, SpaceIndex, state_encoder
from .plan import Plan

#: Actions are drawn from numbers made this many at a time.
_CHUNK = 256
#: Where neither the environment nor the caller ends an episode, and something waits for its end.
DEFAULT_MAX_STEPS = 1000


def seeds(seed: int, number: int) -> tuple[int, np.random.Generator]:
    """The environment's seed and the generator of actions of one episode."""
    sequence = np.random.SeedSequence((seed, number))
    environment, actions = sequence.spawn(2)
    return int(environment.generate_state(1)[0] >> 1), np.random.default_rng(actions)


class EpisodeSampler:
    """Lives episodes in one environment."""

    def __init__(self, env: Any, states: SpaceIndex | DiscoveredStates | None = None) -> None:
        for kind in ("observation_space", "action_space"):
            if not hasattr(env, kind):
                raise Error(f"{env!r} is no Gymnasium environment: it has no {kind}")
        self.env = env
        self.states = state_encoder(env.observation_space) if states is None else states
        self.actions = SpaceIndex(env.action_space)
        #: Steps taken, for whoever watches over a step that never ends.
        self.taken = 0

    def sample(self, plan: Plan, seed: int, number: int, max_steps: int | None) -> Episode:
        """Episode ``number``, cut after ``max_steps`` steps."""
        states, actions, env = self.states, self.actions, self.env
        before = states.size
        first, rng = seeds(seed, number)
        timed, n_actions = plan.length is not None, actions.size
        sums, max_steps = plan.sums, plan.max_steps(max_steps)
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
            left = state
            observation, reward, terminated, truncated, _ = env.step(actions.element(action))
            self.taken += 1
            state = states.number(observation)
            if explorer is not None:
                explorer.step(0, left, action, state, 1 if terminated else 0)
                if plan.until_sampled and explorer.wanting() == 0 and not terminated:
                    truncated = True
            visited.append(state)
            tried.append(action)
            rewards.append(float(reward))
            if max_steps is not None and len(tried) >= max_steps and not terminated:
                truncated = True
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
        )
