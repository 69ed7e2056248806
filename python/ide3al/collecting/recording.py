"""The steps that an agent learns from, written down while it learns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._protocol import reset_env, step_env
from ..agents.base import Agent
from ..agents.rollouts.base import train
from ..agents.rollouts.vector import VectorRollout
from ..datasets.dataset import Data, joined
from ..datasets.episode import Episode
from ..datasets.grid_layout import environment_name
from ..encoding.discrete import DiscoveredStates, GrowingIndex, SpaceIndex, state_encoder
from ..encoding.raw import kept
from ..runners.vector import VectorStep, is_vector
from ..types import Integers
from .raw_recording import recorded_raw


def recorded(
    env: Any, agent: Agent, steps: int, callback: Callable[[Agent], Any] | None = None
) -> Data:
    """Fits the agent for ``steps`` steps of the environment and returns them; ``callback`` is
    called after each batch."""
    about = {
        "environment": environment_name(env),
        "policy": {
            "name": type(agent).__name__,
            "parameters": {k: v for k, v in agent.parameters.items() if v is not None},
        },
        "seed": agent.seed,
        "learned": True,
    }
    if agent.is_partitioned(env):
        return recorded_raw(env, agent, steps, about, callback)
    recorder: Any = _VectorRecorder(env) if is_vector(env) else _Recorder(env)
    # the step that leaves a terminal state is one of the model, not of the environment
    while recorder.taken < steps:
        if is_vector(env):
            left = steps - recorder.taken
            rollout = VectorRollout(agent, env, left, watch=recorder)
            train(agent, rollout, left, False, callback)
        else:
            agent.fit(recorder, total_timesteps=steps - recorder.taken, callback=callback)
    episodes: list[Episode] = recorder.episodes()
    kept, left = [], steps
    for episode in episodes:
        if left > 0:
            kept.append(episode.truncate(left))
            left -= len(kept[-1])
    # as the agent numbers them, many environments are seen through its eyes
    states = agent.encoder if is_vector(env) and agent.encoder is not None else recorder.states
    if isinstance(states, GrowingIndex) and states.beyond:
        states = states.as_discovered()
    keys = tuple(states.keys) if isinstance(states, DiscoveredStates) else None
    spaces = recorder.spaces
    return joined(kept, states.size, recorder.actions.size, keys, about, spaces)


class _EpisodeRecorder:
    """One stream of steps, cut into episodes."""

    def __init__(self) -> None:
        self.done: list[Episode] = []
        self._visited: list[int] = []
        self._tried: list[int] = []
        self._rewards: list[Any] = []

    def begin(self, state: int) -> None:
        self.end(False)
        self._visited = [state]

    def step(self, action: int, reward: Any, state: int) -> None:
        self._visited.append(state)
        self._tried.append(action)
        self._rewards.append(reward)

    def end(self, terminated: bool) -> None:
        """Cut here unless it ended by itself."""
        if self._tried:
            states, tried = (
                np.array(self._visited, dtype=np.int64),
                np.array(self._tried, dtype=np.int64),
            )
            self.done.append(
                Episode(
                    states,
                    tried,
                    np.array(self._rewards, dtype=np.float64),
                    terminated,
                    not terminated,
                )
            )
        self._visited, self._tried, self._rewards = [], [], []

    def taken(self) -> list[Episode]:
        """Episodes that ended since the last time."""
        ended, self.done = self.done, []
        return ended


class _Recorder:
    """An environment that remembers its steps."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.observation_space, self.action_space = self.spaces = (
            env.observation_space,
            env.action_space,
        )
        self.states, self.actions = (
            state_encoder(env.observation_space),
            SpaceIndex(env.action_space),
        )
        self.taken = 0
        self._steps = _EpisodeRecorder()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)

    def reset(self, **options: Any) -> Any:
        observation, info = reset_env(self.env, **options)
        self._steps.begin(self.states.number(observation))
        return observation, info

    def step(self, action: Any) -> Any:
        outcome = step_env(self.env, action)
        observation, reward, terminated, truncated, _ = outcome
        self._steps.step(self.actions.number(action), kept(reward), self.states.number(observation))
        self.taken += 1
        if terminated or truncated:
            self._steps.end(bool(terminated))
        return outcome

    def episodes(self) -> list[Episode]:
        self._steps.end(False)
        return self._steps.taken()


class _VectorRecorder:
    """Writes down what many environments do."""

    def __init__(self, env: Any) -> None:
        self.spaces = env.single_observation_space, env.single_action_space
        self.states, self.actions = state_encoder(self.spaces[0]), SpaceIndex(self.spaces[1])
        self.taken = 0
        self._streams = [_EpisodeRecorder() for _ in range(env.num_envs)]
        self._order: list[Episode] = []

    def begin(self, states: Integers) -> None:
        for stream, state in zip(self._streams, states.tolist(), strict=True):
            stream.begin(state)

    def step(self, actions: Integers, moved: VectorStep) -> None:
        for k, stream in enumerate(self._streams):
            if moved.stepped[k]:
                stream.step(int(actions[k]), kept(moved.rewards[k]), int(moved.reached[k]))
                self.taken += 1
                if moved.terminated[k] or moved.truncated[k]:
                    stream.end(bool(moved.terminated[k]))
            self._order += stream.taken()
            if moved.begun[k]:
                stream.begin(int(moved.states[k]))

    def episodes(self) -> list[Episode]:
        for stream in self._streams:
            stream.end(False)
            self._order += stream.taken()
        return self._order
