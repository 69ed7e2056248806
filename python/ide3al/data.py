"""Data gathered with a policy."""

from __future__ import annotations

import dataclasses
import itertools
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._extras import need
from ._ide3al import Error
from ._table import html_table, nats, text_table
from .agents import Agent
from .mdp import Floats, Integers
from .spaces import Found, Index, states_of


@dataclass(frozen=True, repr=False)
class Data:
    """Transitions as arrays, one entry per step; states and actions by number."""

    observations: Integers
    actions: Integers
    rewards: Floats
    next_observations: Integers
    terminations: np.typing.NDArray[np.bool_]
    truncations: np.typing.NDArray[np.bool_]
    n_states: int
    n_actions: int
    #: The Minari data set, where one was asked for.
    dataset: Any = None

    def __len__(self) -> int:
        return int(self.observations.size)

    @property
    def counts(self) -> Integers:
        """How often each action was taken in each state, (S, A)."""
        pairs = self.observations * self.n_actions + self.actions
        counts = np.bincount(pairs, minlength=self.n_states * self.n_actions)
        return counts.reshape(self.n_states, self.n_actions).astype(np.int64)

    @property
    def coverage(self) -> float:
        """Share of state-action pairs seen at least once."""
        return float((self.counts > 0).mean())

    @property
    def entropy(self) -> float:
        """Entropy of the state-action frequencies, in nats."""
        shares = self.counts.ravel() / max(len(self), 1)
        shares = shares[shares > 0]
        return float(-(shares * np.log(shares)).sum())

    def _rows(self) -> list[tuple[str, str]]:
        seen, pairs = int((self.counts > 0).sum()), self.n_states * self.n_actions
        most = np.log(pairs) if pairs > 1 else 1.0
        ends = int(self.terminations.sum()), int(self.truncations.sum())
        return [
            ("steps", str(len(self))),
            ("episodes ended", f"{ends[0]} by a terminal state, {ends[1]} cut short"),
            ("pairs seen", f"{seen} of {pairs}, {100 * self.coverage:.1f} %"),
            ("state-action entropy", nats(self.entropy, self.entropy / most)),
        ]

    def __repr__(self) -> str:
        return text_table("Data", self._rows())

    def _repr_html_(self) -> str:
        return html_table("Data", self._rows())


def collect(
    env: Any,
    policy: Agent | Any,
    steps: int,
    *,
    seed: int = 0,
    learn: bool = False,
    dataset_id: str | None = None,
) -> Data:
    """Takes ``steps`` steps in ``env`` with an agent or a policy (S, A), resetting after each
    episode; unlike in learning, resets are no steps here.

    A policy (T, S, A) depends on the step: it begins anew after each reset, and its episodes are
    cut after T steps.

    With ``learn`` the agent is fitted meanwhile, and the data are the steps that it learns
    from (its own seed counts then); without, it follows what it has learned before.

    ``dataset_id`` ("frozen-lake/ide3al-v0") also writes a Minari data set of that name; the
    last episode is cut where the steps end.
    """
    name = type(policy).__name__ if isinstance(policy, Agent) else "policy"
    if steps < 1:
        raise Error(f"steps = {steps}: at least 1 is needed")
    if learn and not isinstance(policy, Agent):
        raise Error("learn: only an agent can; give one, such as ide3al.IDE3AL()")
    if dataset_id is None:
        return _gather(env, policy, steps, seed, learn)
    minari = need("minari", "minari")
    if dataset_id in minari.list_local_datasets():
        raise Error(
            f"dataset_id = {dataset_id!r}: exists already; choose another name or version, or "
            "delete it with minari.delete_dataset"
        )
    data = _gather(env, policy, steps, seed, learn)
    with warnings.catch_warnings():
        # asks for the author's address and the like, which are not ours to know
        warnings.simplefilter("ignore")
        dataset = minari.create_dataset_from_buffers(
            dataset_id,
            _episodes(data, env, minari.data_collector.EpisodeBuffer),
            env=env,
            algorithm_name=name,
            description=f"{steps} steps; {100 * data.coverage:.1f} % of state-action pairs seen",
            requirements=["ide3al"],
        )
    return dataclasses.replace(data, dataset=dataset)


def _episodes(data: Data, env: Any, buffer: Any) -> list[Any]:
    """One Minari buffer per episode."""
    # states that were found one by one have no element to write
    states, actions = Index(env.observation_space), Index(env.action_space)
    ended = np.flatnonzero(data.terminations | data.truncations) + 1
    bounds = np.unique(np.concatenate([[0], ended, [len(data)]]))
    episodes = []
    for k, (first, after) in enumerate(itertools.pairwise(bounds.tolist())):
        steps = slice(first, after)
        seen = [*data.observations[steps].tolist(), int(data.next_observations[after - 1])]
        truncations = data.truncations[steps].copy()
        truncations[-1] |= not data.terminations[after - 1]
        episodes.append(
            buffer(
                id=k,
                observations=_stack([states.element(s) for s in seen]),
                actions=_stack([actions.element(a) for a in data.actions[steps].tolist()]),
                rewards=data.rewards[steps].tolist(),
                terminations=data.terminations[steps].tolist(),
                truncations=truncations.tolist(),
            )
        )
    return episodes


def _stack(elements: list[Any]) -> Any:
    """One array of many elements, part by part for tuples and dictionaries."""
    first = elements[0]
    if isinstance(first, dict):
        return {name: _stack([element[name] for element in elements]) for name in first}
    if isinstance(first, tuple):
        return tuple(_stack(list(part)) for part in zip(*elements, strict=True))
    return np.stack(elements)


def _gather(env: Any, policy: Agent | Any, steps: int, seed: int, learn: bool) -> Data:
    if not learn:
        return _collect(env, policy, steps, seed)
    recorder = _Recorder(env)
    # the step that leaves a terminal state is one of the model, not of the environment
    while len(recorder.steps) < steps:
        policy.fit(recorder, total_timesteps=steps - len(recorder.steps))
    return recorder.data()


class _Recorder:
    """An environment that remembers its steps."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.observation_space = env.observation_space
        self.action_space = env.action_space
        self.states, self.actions = states_of(env.observation_space), Index(env.action_space)
        self.steps: list[tuple[int, int, int, float, bool, bool]] = []
        self._at = 0

    def reset(self, **options: Any) -> Any:
        if self.steps and not (self.steps[-1][4] or self.steps[-1][5]):
            # cut here
            self.steps[-1] = (*self.steps[-1][:5], True)
        observation, info = self.env.reset(**options)
        self._at = self.states.number(observation)
        return observation, info

    def step(self, action: Any) -> Any:
        outcome = self.env.step(action)
        observation, reward, terminated, truncated, _ = outcome
        following, tried = self.states.number(observation), self.actions.number(action)
        ends = bool(terminated), bool(truncated)
        self.steps.append((self._at, tried, following, float(reward), *ends))
        self._at = following
        return outcome

    def data(self) -> Data:
        states, actions, following, rewards, terminated, truncated = zip(*self.steps, strict=True)
        return Data(
            observations=np.array(states, dtype=np.int64),
            actions=np.array(actions, dtype=np.int64),
            rewards=np.array(rewards, dtype=np.float64),
            next_observations=np.array(following, dtype=np.int64),
            terminations=np.array(terminated, dtype=np.bool_),
            truncations=np.array(truncated, dtype=np.bool_),
            n_states=self.states.size,
            n_actions=self.actions.size,
        )


def _collect(env: Any, policy: Agent | Any, steps: int, seed: int) -> Data:
    states, actions = states_of(env.observation_space), Index(env.action_space)
    rng = np.random.default_rng(seed)
    if isinstance(policy, Agent):
        if isinstance(states, Found) and isinstance(policy._observations, Found):
            states = policy._observations.copy()
        policy = policy.policy
    table = np.asarray(policy, dtype=np.float64)
    size = table.shape[-2] if isinstance(states, Found) and table.ndim in (2, 3) else states.size
    if table.ndim not in (2, 3) or table.shape[-2:] != (size, actions.size) or not table.size:
        raise Error(
            f"policy: expected shape ({size}, {actions.size}), or that behind a number of steps, "
            f"found {table.shape}"
        )
    if not (table >= 0).all() or not np.allclose(table.sum(axis=-1), 1, atol=1e-6):
        raise Error("policy: every row must be a distribution over actions")
    # one table for all steps, or one for each step of an episode
    length = table.shape[0] if table.ndim == 3 else None
    sums = np.cumsum(table, axis=-1).reshape(-1, size, actions.size)
    even = np.arange(1.0, actions.size + 1)
    columns = np.zeros((3, steps), dtype=np.int64)
    rewards = np.zeros(steps)
    ends = np.zeros((2, steps), dtype=np.bool_)
    observation, _ = env.reset(seed=seed)
    state = states.number(observation)
    age = 0
    for k in range(steps):
        here = sums[age if length is not None else 0]
        row = here[state] if state < size else even
        draw = rng.random() * row[-1]
        action = min(int(np.searchsorted(row, draw, side="right")), actions.size - 1)
        observation, reward, terminated, truncated, _ = env.step(actions.element(action))
        following = states.number(observation)
        columns[:, k] = state, action, following
        rewards[k], ends[:, k] = float(reward), (terminated, truncated)
        age += 1
        if age == length and not terminated:
            ends[1, k] = True
        if ends[:, k].any():
            observation, _ = env.reset()
            following = states.number(observation)
            age = 0
        state = following
    return Data(
        observations=columns[0],
        actions=columns[1],
        rewards=rewards,
        next_observations=columns[2],
        terminations=ends[0],
        truncations=ends[1],
        n_states=states.size,
        n_actions=actions.size,
    )
