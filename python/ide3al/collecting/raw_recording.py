"""The steps that an agent learns from in a continuous environment, written down as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._extras import need
from .._protocol import reset_env, step_env
from ..agents.base import Agent
from ..agents.rollouts.base import train
from ..agents.rollouts.vector_partitioned import PartitionVectorRollout
from ..datasets.dataset import Data, joined
from ..datasets.episode import Episode
from ..encoding.abstraction import spaces_of
from ..encoding.partitioned import CellSpace, PartitionEncoder
from ..encoding.raw import RawRecorder
from ..runners.vector import is_vector
from ..types import Integers
from .unlabelled import labelled


class _Stream:
    """One environment's steps, episode by episode."""

    def __init__(self) -> None:
        self.recorder = RawRecorder()
        self.done: list[Episode] = []
        self._terminated = False

    def begin(self, observation: Any) -> None:
        self.end()
        self.recorder.begin(observation)

    def step(self, action: Any, reward: Any, observation: Any, terminated: bool) -> None:
        self.recorder.step(action, reward, observation)
        self._terminated = terminated

    def end(self) -> None:
        """What was recorded is an episode, cut here unless it ended by itself."""
        steps = len(self.recorder)
        if steps:
            none: Integers = np.zeros(steps, dtype=np.int64)
            raw = self.recorder.episode()
            self.done.append(
                Episode(
                    np.zeros(steps + 1, dtype=np.int64),
                    none,
                    raw.rewards,
                    self._terminated,
                    not self._terminated,
                    raw=raw,
                )
            )
        self.recorder, self._terminated = RawRecorder(), False


class _RecordedEnv:
    """An environment that remembers its steps."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.observation_space, self.action_space = env.observation_space, env.action_space
        self.stream = _Stream()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)

    def reset(self, **options: Any) -> Any:
        observation, info = reset_env(self.env, **options)
        self.stream.begin(observation)
        return observation, info

    def step(self, action: Any) -> Any:
        outcome = step_env(self.env, action)
        observation, reward, terminated, _, _ = outcome
        self.stream.step(action, reward, observation, bool(terminated))
        return outcome


class VectorWatch:
    """Writes down what many environments do."""

    def __init__(self, n: int) -> None:
        self.streams = [_Stream() for _ in range(n)]
        self.order: list[Episode] = []

    def begin(self, k: int, observation: Any) -> None:
        """An episode begins in environment ``k``."""
        self.streams[k].begin(observation)
        self._taken(k)

    def step(self, k: int, action: Any, reward: Any, observation: Any, terminated: bool) -> None:
        """A step was taken in environment ``k``."""
        self.streams[k].step(action, reward, observation, terminated)

    def _taken(self, k: int) -> None:
        self.order += self.streams[k].done
        self.streams[k].done = []

    def episodes(self) -> list[Episode]:
        """All of them, in the order in which they ended."""
        for k, stream in enumerate(self.streams):
            stream.end()
            self._taken(k)
        return self.order


def recorded_raw(
    env: Any,
    agent: Agent,
    steps: int,
    about: dict[str, Any],
    callback: Callable[[Agent], Any] | None = None,
) -> Data:
    """Fits the agent for ``steps`` steps of the environment and returns them, in its cells."""
    spaces = spaces_of(env)
    if is_vector(env):
        watch = VectorWatch(env.num_envs)
        agent.is_partitioned(env)
        train(agent, PartitionVectorRollout(agent, env, steps, watch), steps, False, callback)
        episodes = watch.episodes()
    else:
        stepped = _RecordedEnv(env)
        agent.fit(stepped, total_timesteps=steps, callback=callback)
        stepped.stream.end()
        episodes = stepped.stream.done
    assert agent.partition is not None
    view = PartitionEncoder(agent.partition)
    for k, episode in enumerate(episodes):
        assert episode.raw is not None
        for step, action in enumerate(episode.raw.actions):
            episodes[k].actions[step] = view.actions.number(action)
    numbered, keys = labelled(episodes, view)
    n_actions = view.actions.size
    space = CellSpace(view), need("gymnasium.spaces", "gymnasium").Discrete(n_actions)
    about = {**about, "abstraction": view.to_dict(1)}
    data = joined(numbered, len(keys), n_actions, keys, about, space)
    assert data.raw is not None
    return data.replace(raw=data.raw.replace(spaces=spaces))
