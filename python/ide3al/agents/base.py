"""What learning to explore an unknown environment has in common, whatever the algorithm."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from .. import _ide3al
from .._ide3al import Error
from ..encoding.abstraction import Abstraction
from ..encoding.adaptive import AdaptivePartition
from ..encoding.discrete import DiscoveredStates, SpaceIndex, state_encoder
from ..encoding.features import Extractor
from ..evaluation.account import Account, account
from ..models.mdp import MDP
from ..runners.vector import (
    batch_size,
    decode_batch,
    encode_batch,
    is_vector,
)
from ..types import Engine, Floats, Integers
from .episodic import fit_on_ray
from .persistence import SavedAgent, SavedPartition, damaged
from .training import explore, needs_cells, restore
from .vectorized import fit_vector

Callback = Callable[["Agent"], Any]


class Agent:
    """What all exploration algorithms have in common.

    :meth:`fit` alternates batches of steps in the environment with learning from everything seen so
    far. A terminal state belongs to the model: the reset that leaves it counts as a step. A
    truncated episode ends without a transition; all agents but the paper's (``paper=True``) plan
    for the restarts that follow.

    Finite observation spaces of up to a million elements are enumerated. Any other observation that
    can be distinguished from others (numbers, strings, arrays, tuples and dictionaries of them,
    whatever is hashable) gets a number when it is first met: ``visits``, ``policy`` and ``model``
    then hold the states met so far, and ``states`` lists them.

    Observations or actions that are real numbers are cut into cells and a few actions, each held
    for some steps, as ``abstraction`` says (:class:`ide3al.Abstraction`); states are the cells met
    then, and counts are those of decisions.

    Parameters
    ----------
    batch_size : int, optional
        Steps between two updates of the policy; a tenth of the steps so far unless given.
    seed : int, default 0
        Seed of the environment and of all draws; equal seeds give equal results.
    abstraction : Abstraction, optional
        How a continuous environment is cut into cells and a few actions.
    **parameters
        Parameters of the algorithm.
    """

    _algorithm: str

    def __init__(
        self,
        *,
        batch_size: int | None = None,
        seed: int = 0,
        abstraction: Abstraction | None = None,
        **parameters: Any,
    ) -> None:
        if batch_size is not None and batch_size < 1:
            raise Error(f"batch_size = {batch_size}: at least 1 is needed")
        if seed < 0:
            raise Error(f"seed = {seed}: must not be negative")
        self.seed = int(seed)
        self.parameters = {**parameters, "batch_size": batch_size}
        self._agent: _ide3al.Agent | None = None
        self.encoder: SpaceIndex | DiscoveredStates | None = None
        self._actions: SpaceIndex | None = None
        self.abstraction = abstraction
        self.partition: AdaptivePartition | None = None
        #: What a file said of the cells, until an environment is there to cut.
        self._saved_partition: SavedPartition | None = None
        self._held: tuple[Any, int] | None = None

    def fit(
        self,
        env: Any,
        total_timesteps: int,
        progress_bar: bool = False,
        callback: Callback | None = None,
        *,
        engine: Engine | None = "local",
        workers: int | None = None,
    ) -> Self:
        """Explore an environment and learn from it.

        Fitting again goes on from what was learned, with a new episode.

        Parameters
        ----------
        env : gymnasium.Env, gymnasium.vector.VectorEnv or callable
            An environment, or many at once (``gymnasium.make_vec``), which share one policy and
            learn the same for a seed and a number of environments. With ``engine="ray"`` a function
            that makes one.
        total_timesteps : int
            Number of steps to take.
        progress_bar : bool, default False
            Whether to show a line of progress.
        callback : callable, optional
            Function that is called with the agent after each batch; returning False ends the fit.
        engine : {"local", "ray"}, default "local"
            Where steps are taken: in this process, or in whole episodes by runners on a Ray
            cluster. One that dies is replaced, and nothing changes.
        workers : int, optional
            Number of runners on the cluster; 2 unless given.

        Returns
        -------
        Agent
            The agent itself.

        Raises
        ------
        Error
            If the environment is unlike those learned from before, or an argument is out of range.
        """
        if total_timesteps < 1:
            raise Error(f"total_timesteps = {total_timesteps}: at least 1 is needed")
        if engine not in (None, "local") or workers is not None or is_vector(env):
            return self._fit_elsewhere(
                env, total_timesteps, progress_bar, callback, engine, workers
            )
        if self.is_partitioned(env):
            return self._fit_partitioned(env, total_timesteps, progress_bar, callback)
        agent, observations, actions = self.attach(env)
        agent.interrupt_trajectory()
        # the environment is seeded once: the first reset of the first fit
        first_seed: list[int] = [self.seed] if agent.steps == 0 else []

        def reset() -> int:
            observation, _ = env.reset(seed=first_seed.pop()) if first_seed else env.reset()
            return observations.number(observation)

        def step(action: int) -> tuple[int, int]:
            observation, _, terminated, truncated, _ = env.step(actions.element(action))
            return observations.number(observation), 1 if terminated else 2 if truncated else 0

        done = 0
        while done < total_timesteps:
            steps = min(agent.batch_size(total_timesteps), total_timesteps - done)
            last = done + steps == total_timesteps
            agent.iterate(reset, step, steps, last)
            done += steps
            if progress_bar:
                _show_progress(done, total_timesteps, self)
            if callback is not None and callback(self) is False:
                break
        if progress_bar:
            sys.stderr.write("\n")
        return self

    def _fit_elsewhere(
        self,
        env: Any,
        total: int,
        progress_bar: bool,
        callback: Callback | None,
        engine: str | None,
        workers: int | None,
    ) -> Self:
        """In many environments at once, or on a cluster."""
        show = _show_progress if progress_bar else None
        if engine in (None, "local"):
            if workers is not None:
                raise Error(
                    'workers: only with engine="ray"; for many environments here give gymnasium.make_vec(...)'
                )
            fit_vector(self, env, total, show=show, callback=callback)
        elif engine == "ray":
            fit_on_ray(
                self, env, total, 2 if workers is None else workers, show=show, callback=callback
            )
        else:
            raise Error(f"engine = {engine!r}: 'local' and 'ray' are known")
        if progress_bar:
            sys.stderr.write("\n")
        return self

    def is_partitioned(self, env: Any) -> bool:
        """Tell whether an environment is explored in cells, and make ready to cut them.

        Parameters
        ----------
        env : gymnasium.Env
            The environment.

        Returns
        -------
        bool
            Whether it is.

        Raises
        ------
        Error
            If the cells of the agent are of another environment.
        """
        _check_environment(env)
        if self._saved_partition is not None:
            saved = self._saved_partition
            self.partition = restore(saved.document, saved.history, env, saved.features)
            self._saved_partition = None
        if self.partition is None:
            if self._agent is not None or (self.abstraction is None and not needs_cells(env)):
                return False
            self.partition = AdaptivePartition(
                self.abstraction or Abstraction(), env.observation_space, env.action_space
            )
        else:
            self.partition.check(env)
        return True

    def _fit_partitioned(
        self, env: Any, total_timesteps: int, progress_bar: bool, callback: Callback | None
    ) -> Self:
        cut = self.partition
        assert cut is not None
        self._held = None

        def make() -> _ide3al.Agent:
            self._agent = _ide3al.Agent(
                self._algorithm, 1, cut.actions.size, self.seed, self.parameters, True
            )
            return self._agent

        def after(done: int, _: _ide3al.Agent) -> bool:
            if progress_bar:
                _show_progress(done, total_timesteps, self)
            return callback is None or callback(self) is not False

        explore(make, self._agent, cut, env, total_timesteps, self.seed, after)
        if progress_bar:
            sys.stderr.write("\n")
        return self

    def _predict_partitioned(
        self, cut: AdaptivePartition, observation: Any, deterministic: bool
    ) -> Any:
        agent = self._fitted()
        vector = cut.vector(observation)
        if self._held is not None and self._held[1] > 0:
            action, left = self._held
        else:
            state = cut.find(vector, agent.n_states)
            best = int(np.argmax(self.policy[state])) if deterministic else agent.draw(state)
            action, left = cut.actions.element(best), cut.repeat
        self._held = action, left - 1
        return action.copy() if isinstance(action, np.ndarray) else action

    def predict(self, observation: Any, deterministic: bool = False) -> Any:
        """Choose an action for an observation.

        In a continuous environment an action is held for ``agent.repeat`` calls before another is
        drawn.

        Parameters
        ----------
        observation : object
            An observation, or a batch of them, as vector environments return them.
        deterministic : bool, default False
            Whether to take the likeliest action instead of drawing one from the policy.

        Returns
        -------
        object
            An action, or a batch of actions.

        Raises
        ------
        Error
            If the agent has not seen anything yet.
        """
        agent = self._fitted()
        if self.partition is not None:
            return self._predict_partitioned(self.partition, observation, deterministic)
        if self.encoder is None or self._actions is None:
            raise Error("give env=... to load, or fit, before predicting")
        many = batch_size(self.encoder.space, observation)
        if many is not None:
            return self._predict_batch(observation, many, deterministic)
        if isinstance(self.encoder, SpaceIndex):
            state = self.encoder.number(observation)
        else:
            found = self.encoder.find(observation)
            if found is None or found >= agent.n_states:
                # never met: every action is as good as any other
                return self._actions.element(agent.draw_any())
            state = found
        if deterministic:
            return self._actions.element(int(np.argmax(self.policy[state])))
        return self._actions.element(agent.draw(state))

    def _predict_batch(self, observations: Any, many: int, deterministic: bool) -> Any:
        agent, index, actions = self._fitted(), self.encoder, self._actions
        assert index is not None and actions is not None
        states = encode_batch(
            index.copy() if isinstance(index, DiscoveredStates) else index,
            index.space,
            observations,
            many,
        )
        known = states < agent.n_states
        chosen = np.zeros(many, dtype=np.int64)
        if deterministic:
            chosen[known] = np.argmax(self.policy, axis=1)[states[known]]
        for k in range(many):
            if not known[k]:
                chosen[k] = agent.draw_any()
            elif not deterministic:
                chosen[k] = agent.draw(int(states[k]))
        return decode_batch(actions, chosen)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Give the arguments that the agent was made with, as scikit-learn's estimators do.

        Parameters
        ----------
        deep : bool, default True
            Without effect: no argument is an estimator.

        Returns
        -------
        dict
            Every argument by name.
        """
        names = inspect.signature(type(self)).parameters
        return {name: getattr(self, name, self.parameters.get(name)) for name in names}

    def clone(self) -> Self:
        """Make an agent with the same arguments that has not learned anything.

        Returns
        -------
        Agent
            The new agent.
        """
        return type(self)(**self.get_params())

    @property
    def policy(self) -> Floats:
        """The policy learned, (S, A). For MaxEnt, whose result is a mixture of policies, the
        one policy with the same state-action visits in the estimated model."""
        agent = self._fitted()
        return agent.policy().reshape(agent.n_states, agent.n_actions)

    @property
    def metrics(self) -> dict[str, Any]:
        """Entropies in nats, least visited probability, spectral gap and stationary
        distribution of what was learned, in the model estimated so far."""
        return self._fitted().judge()[1]

    @property
    def model(self) -> MDP:
        """The model estimated so far."""
        return MDP.from_native(self._fitted().estimate())

    @property
    def visits(self) -> Integers:
        """How often each action was tried in each state, (S, A)."""
        agent = self._fitted()
        return agent.visits().reshape(agent.n_states, agent.n_actions)

    @property
    def coverage(self) -> float:
        """Share of state-action pairs tried at least once, of those declared or met."""
        return float((self.visits > 0).mean())

    @property
    def states(self) -> list[Any]:
        """The states by number: what was met, or the numbers themselves where spaces are finite."""
        agent = self._fitted()
        cells = self.partition or self._saved_partition
        if cells is not None:
            return list(cells.states)
        if isinstance(self.encoder, DiscoveredStates):
            return list(self.encoder.keys)
        return list(range(agent.n_states))

    @property
    def repeat(self) -> int:
        """Steps that an action is held for: 1 but in continuous environments."""
        cells = self.partition or self._saved_partition
        return 1 if cells is None else cells.repeat

    @property
    def notes(self) -> list[str]:
        """What should be known of what was learned: states that look absorbing, parts that cannot
        be reached."""
        return self._fitted().notes()

    @property
    def is_fitted(self) -> bool:
        """Whether the agent has learned from any steps."""
        return self._agent is not None

    @property
    def num_timesteps(self) -> int:
        """Steps taken so far."""
        cells = self.partition or self._saved_partition
        if cells is not None:
            return cells.steps
        return 0 if self._agent is None else self._agent.steps

    def account(self, env: Any, steps: int = 10_000, seed: int = 0) -> Account:
        """Follow what was learned in a continuous environment, and compare with what was predicted.

        Parameters
        ----------
        env : gymnasium.Env
            The environment.
        steps : int, default 10000
            Number of steps to take.
        seed : int, default 0
            Seed of the environment.

        Returns
        -------
        Account
            The shares of time in every cell, predicted and realised.

        Raises
        ------
        Error
            If the agent's environment is finite, or ``steps`` are fewer than 10.
        """
        if self.partition is None:
            raise Error(
                "account: this agent's environment is finite; there are no cells to account for"
            )
        if steps < 10:
            raise Error(f"steps = {steps}: at least 10 are needed")
        self._held = None
        predicted = np.asarray(self.metrics["stationary"], dtype=np.float64)
        partition, learner = self.partition, self._fitted()

        def choose(vector: Floats) -> int:
            return learner.draw(partition.find(vector, learner.n_states))

        return account(partition, predicted, choose, env, steps, seed)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything needed to go on to a file, whole or not at all.

        Parameters
        ----------
        path : path-like
            Name of the file.

        Raises
        ------
        Error
            If the agent has not seen anything yet, or the file cannot be written.
        """
        text, learner = self._fitted().save()
        cells = self._saved_partition
        if self.partition is not None:
            cells = SavedPartition(self.partition.save(), self.partition.save_history())
        saved = SavedAgent(
            kind=type(self).__name__,
            seed=self.seed,
            parameters=self.parameters,
            text=text,
            learner=learner,
            states=self.encoder if isinstance(self.encoder, DiscoveredStates) else None,
            partition=cells,
        )
        _ide3al.write_file(path, saved.to_bytes())

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], env: Any = None, features: Extractor | None = None
    ) -> Self:
        """Read an agent from a file.

        Parameters
        ----------
        path : path-like
            Name of the file.
        env : gymnasium.Env, optional
            The environment, to predict before fitting again.
        features : callable, optional
            The ``features`` of the agent's abstraction, if it had any, since no file holds a
            function.

        Returns
        -------
        Agent
            The agent.

        Raises
        ------
        Error
            If the file cannot be read, holds no agent, or one of another class.
        """
        name = os.fspath(path)
        saved = SavedAgent.read(name, features)
        agent = cls.__new__(cls)
        try:
            Agent.__init__(agent, seed=saved.seed, **saved.parameters)
        except (TypeError, ValueError) as problem:
            raise damaged(name, problem) from None
        if saved.kind != cls.__name__:
            raise Error(f"{name}: holds a {saved.kind}; load it with ide3al.{saved.kind}.load")
        learner = agent._agent = _ide3al.Agent.load(saved.text, saved.learner)
        if learner.open and saved.partition is None:
            if saved.states is None or saved.states.size < learner.n_states:
                raise damaged(name, "observations.txt")
        agent.encoder, agent._saved_partition = saved.states, saved.partition
        if env is not None and not agent.is_partitioned(env):
            agent.attach(env)
        return agent

    def attach(
        self, env: Any, encoder: SpaceIndex | DiscoveredStates | None = None
    ) -> tuple[_ide3al.Agent, SpaceIndex | DiscoveredStates, SpaceIndex]:
        """Make ready to learn in an environment.

        Parameters
        ----------
        env : gymnasium.Env or gymnasium.vector.VectorEnv
            The environment.
        encoder : SpaceIndex or DiscoveredStates, optional
            How observations are numbered; as their space says unless given.

        Returns
        -------
        tuple
            The compiled agent, and the encoders of observations and of actions.

        Raises
        ------
        Error
            If the environment is unlike those learned from before.
        """
        _check_environment(env)
        single = "single_" if is_vector(env) else ""
        space = getattr(env, f"{single}observation_space")
        observations = state_encoder(space) if encoder is None else encoder
        actions = SpaceIndex(getattr(env, f"{single}action_space"))
        found = isinstance(observations, DiscoveredStates)
        if self._agent is None:
            states = 1 if found else observations.size
            self._agent = _ide3al.Agent(
                self._algorithm, states, actions.size, self.seed, self.parameters, found
            )
        elif found and isinstance(self.encoder, DiscoveredStates) and encoder is None:
            # goes on with what was met before
            observations = self.encoder
        known = self._agent.n_states, self._agent.n_actions
        same = found == self._agent.open and (found or observations.size == known[0])
        if not same or actions.size != known[1]:
            size = "any number of" if found else observations.size
            raise Error(
                f"this agent has learned {known[0]} states and {known[1]} actions; the environment has "
                f"{size} and {actions.size}"
            )
        self.encoder, self._actions = observations, actions
        return self._agent, observations, actions

    def _fitted(self) -> _ide3al.Agent:
        if self._agent is None:
            raise Error(f"this {type(self).__name__} has not seen anything yet; call fit first")
        return self._agent

    def __repr__(self) -> str:
        given = {k: v for k, v in self.parameters.items() if v is not None}
        listed = "".join(f"{name}={value!r}, " for name, value in given.items())
        return f"<{type(self).__name__}({listed}seed={self.seed}): {self.num_timesteps} steps>"


def _check_environment(env: Any) -> None:
    for kind in ("observation_space", "action_space"):
        if not hasattr(env, kind):
            raise Error(f"{env!r} is no Gymnasium environment: it has no {kind}")


def _show_progress(done: int, total: int, agent: Agent) -> None:
    filled = 30 * done // total
    sys.stderr.write(
        f"\r[{'#' * filled}{'.' * (30 - filled)}] {done}/{total} steps, "
        f"{100 * agent.coverage:.1f} % of pairs tried"
    )
    sys.stderr.flush()
