"""What learning to explore an unknown environment has in common, whatever the algorithm."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from .. import _ide3al
from .._check import check_actions, check_callback, check_environment, seed_of, whole_number
from .._display import Progress, html_table
from .._ide3al import Error
from ..datasets.grid_layout import map_shape
from ..datasets.tally import TransitionTally
from ..encoding.abstraction import Abstraction
from ..encoding.adaptive import AdaptivePartition
from ..encoding.changes import NOTE as CHANGES
from ..encoding.changes import EpisodeChanges
from ..encoding.discrete import (
    DiscoveredStates,
    GrowingIndex,
    SpaceIndex,
    from_key,
    state_encoder,
)
from ..encoding.features import Extractor
from ..encoding.masks import MaskedStates, MaskReader, spread
from ..evaluation.account import Account, account
from ..models.mdp import MDP
from ..planning.decoder import Decoder
from ..planning.learned import LearnedPlan, Untried, plan_learned
from ..runners.vector import is_vector
from ..types import Engine, Floats, Integers
from .acting import Actor, find
from .episodic import fit_on_ray
from .parameters import checked
from .persistence import SavedAgent, SavedPartition, damaged
from .stepping import FiniteSteps
from .training import explore, needs_cells, restore, spaces_of
from .vector_training import fit_vector_partitioned
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
        seed: int | None = 0,
        abstraction: Abstraction | None = None,
        **parameters: Any,
    ) -> None:
        self.seed = seed_of(seed)
        if batch_size is not None:
            batch_size = whole_number("batch_size", batch_size)
        if abstraction is not None and not isinstance(abstraction, Abstraction):
            raise Error(
                f"abstraction = {abstraction!r}: an ide3al.Abstraction(...) is needed, or nothing"
            )
        self.parameters = {**checked(self._algorithm, parameters), "batch_size": batch_size}
        self._agent: _ide3al.Agent | None = None
        self.encoder: SpaceIndex | DiscoveredStates | None = None
        self.action_encoder: SpaceIndex | None = None
        self.abstraction = abstraction
        self.partition: AdaptivePartition | None = None
        #: What a file said of the cells, until an environment is there to cut.
        self._saved_partition: SavedPartition | None = None
        self._actor = Actor(self)
        self._changes = EpisodeChanges()
        self._noted: dict[str, str] = {}
        #: Rows and columns of the environment's map, where states are numbered row by row.
        self.map_shape: tuple[int, int] | None = None
        #: Keys of observations beyond their space, from a file.
        self._beyond: tuple[Any, ...] = ()
        #: What was tried and earned, for :meth:`plan`; in cells the partition's history says it.
        self.tally = TransitionTally()

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
        total_timesteps = whole_number("total_timesteps", total_timesteps)
        check_callback(callback)
        if engine not in (None, "local") or workers is not None or is_vector(env):
            return self._fit_elsewhere(
                env, total_timesteps, progress_bar, callback, engine, workers
            )
        if self.is_partitioned(env):
            return self._fit_partitioned(env, total_timesteps, progress_bar, callback)
        check_actions(env.action_space)
        # the environment is seeded once: the first reset of the first fit
        fresh = self._agent is None or self._agent.steps == 0
        first = env.reset(seed=self.seed) if fresh else env.reset()
        agent, observations, actions = self.attach(env, first=first)
        agent.interrupt_trajectory()
        loop = FiniteSteps(agent, env, observations, actions, self._changes, first, self.tally)
        with Progress(total_timesteps, progress_bar) as show:
            done = 0
            while done < total_timesteps:
                steps = min(agent.batch_size(total_timesteps), total_timesteps - done)
                agent.iterate(loop.reset, loop.step, steps, done + steps == total_timesteps)
                done += steps
                show(done, total_timesteps, self)
                if callback is not None and callback(self) is False:
                    break
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
        if engine not in (None, "local", "ray"):
            raise Error(f"engine = {engine!r}: 'local' and 'ray' are known")
        if engine != "ray" and workers is not None:
            raise Error(
                'workers: only with engine="ray"; for many environments here give '
                "gymnasium.make_vec(...)"
            )
        with Progress(total, progress_bar) as show:
            if engine == "ray":
                workers = 2 if workers is None else whole_number("workers", workers)
                fit_on_ray(self, env, total, workers, show=show, callback=callback)
            elif self.is_partitioned(env):
                assert self.partition is not None
                fit_vector_partitioned(
                    self, self.partition, env, total, show=show, callback=callback
                )
            else:
                fit_vector(self, env, total, show=show, callback=callback)
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
        check_environment(env)
        if self._saved_partition is not None:
            saved = self._saved_partition
            self.partition = restore(saved.document, saved.history, env, saved.features)
            self._saved_partition = None
        if self.partition is None:
            if self._agent is not None or (self.abstraction is None and not needs_cells(env)):
                return False
            check_actions(spaces_of(env)[1])
            self.partition = AdaptivePartition(self.abstraction or Abstraction(), *spaces_of(env))
        else:
            self.partition.check(env)
        return True

    def _fit_partitioned(
        self, env: Any, total_timesteps: int, progress_bar: bool, callback: Callback | None
    ) -> Self:
        cut = self.partition
        assert cut is not None
        self.reset()
        with Progress(total_timesteps, progress_bar) as show:

            def after(done: int, _: _ide3al.Agent) -> bool:
                show(done, total_timesteps, self)
                return callback is None or callback(self) is not False

            explore(self.learner_of_cells, self._agent, cut, env, total_timesteps, self.seed, after)
        return self

    def learner_of_cells(self) -> _ide3al.Agent:
        """Make a compiled agent that knows no cells yet, in place of the one there was.

        Returns
        -------
        ide3al._ide3al.Agent
            The compiled agent.
        """
        assert self.partition is not None
        self._agent = _ide3al.Agent(
            self._algorithm, 1, self.partition.actions.size, self.seed, self.parameters, True
        )
        return self._agent

    def predict(
        self, observation: Any, deterministic: bool = False, *, action_masks: Any = None
    ) -> Any:
        """Choose an action for an observation.

        In a continuous environment an action is held for ``agent.repeat`` calls before another is
        drawn; :meth:`reset` says that an episode begins.

        Parameters
        ----------
        observation : object
            An observation, or a batch of them, as vector environments return them.
        deterministic : bool, default False
            Whether to take the likeliest action instead of drawing one from the policy.
        action_masks : array_like of bool, optional
            Which actions are allowed; those that were when the state was met unless given.

        Returns
        -------
        object
            An action, or a batch of actions.

        Raises
        ------
        Error
            If the agent has not seen anything yet.
        """
        return self._actor.act(observation, deterministic, action_masks)

    def reset(self) -> None:
        """Say that an episode begins: an action that is held is let go.

        :class:`ide3al.wrappers.Follow` says so whenever its environment is reset.
        """
        self._actor.reset()

    def state_of(self, observation: Any) -> int | None:
        """Find the state of an observation.

        Parameters
        ----------
        observation : object
            An observation.

        Returns
        -------
        int or None
            Its row in ``policy`` and ``visits``; None if it was never met.

        Raises
        ------
        Error
            If the agent has not seen anything yet, or no element of the space is given.
        """
        agent = self.fitted()
        if self.partition is not None:
            return self.partition.find(self.partition.vector(observation), agent.n_states)
        if self.encoder is None:
            raise Error("give env=... to load, or fit, to number observations")
        state = find(self.encoder, observation)
        return None if state is None or state >= agent.n_states else state

    @property
    def actions(self) -> list[Any]:
        """The actions by number, as the environment takes them: the columns of ``policy``."""
        known = self.action_encoder if self.partition is None else self.partition.actions
        if known is None:
            raise Error("give env=... to load, or fit, to know the actions")
        return [known.element(k) for k in range(known.size)]

    def plan(
        self,
        reward: Any = None,
        goal: Any = None,
        *,
        avoid: Any = None,
        discount: float | None = None,
        average: bool = False,
        within: int | None = None,
        untried: Untried = "worthless",
        confidence: float = 0.95,
        reward_range: tuple[float, float] | None = None,
        tolerance: float = 1e-9,
        time_limit: float | None = None,
    ) -> LearnedPlan:
        """Plan for a reward or a goal from what was explored.

        Parameters
        ----------
        reward : array_like or callable, optional
            The environment's own rewards when left out. An array (S,) is earned by every step taken
            in a state, (S, A) by its actions, (S, A, S) by transitions; a function of the
            observation reached, or of observation, action and next observation.
        goal, avoid : optional
            Instead of a reward: an observation, a list of them, or a predicate of observations. The
            goal is worth one when it is reached, and ends the episode; so does what is to be
            avoided, for nothing.
        discount : float, optional
            Worth of a reward one step later; 0.99 when nothing else is maximised.
        average, within : optional
            Maximise the long-run average, or what the first so many steps earn.
        untried : {"worthless", "optimistic"}
            Actions that were never tried are not taken, or are worth the largest reward for ever.
        confidence : float
            Probability with which :attr:`LearnedPlan.interval` holds.
        reward_range : (float, float), optional
            Least and largest reward that there may be; of those seen when left out.
        tolerance, time_limit : float
            Wanted width of the bounds of the values in the estimated model, and most seconds.

        Returns
        -------
        LearnedPlan
            The policy with its value, an interval for the value in the true environment,
            ``predict``, ``evaluate`` and ``save``.

        Raises
        ------
        Error
            If the agent was not fitted, rewards are not finite or of the wrong shape, or a goal was
            never met.
        """
        agent = self.fitted()
        tally = self.tally if self.partition is None else _partition_tally(self.partition)
        if self.partition is None and self.action_encoder is None:
            raise Error("give env=... to load, or fit, before planning")
        actions = self.action_encoder if self.partition is None else self.partition.actions
        assert actions is not None
        decoder = Decoder(self.encoder, actions, self.partition, agent.n_states)
        return plan_learned(
            tally, decoder, actions.size, reward, goal, avoid=avoid, discount=discount,
            average=average, within=within, untried=untried, confidence=confidence,
            reward_range=reward_range, tolerance=tolerance, time_limit=time_limit, seed=self.seed,
        )  # fmt: skip

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
        agent = self.fitted()
        table: Floats = self._table(agent.policy(), agent)
        return table

    @property
    def metrics(self) -> dict[str, Any]:
        """Entropies in nats, least visited probability, spectral gap and stationary
        distribution of what was learned, in the model estimated so far."""
        return self.fitted().judge()[1]

    @property
    def model(self) -> MDP:
        """The model estimated so far."""
        return MDP.from_native(self.fitted().estimate())

    @property
    def visits(self) -> Integers:
        """How often each action was tried in each state, (S, A)."""
        agent = self.fitted()
        table: Integers = self._table(agent.visits(), agent)
        return table

    @property
    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Which actions are allowed in each state, (S, A): all of them where the environment
        masks none."""
        agent = self.fitted()
        if isinstance(self.encoder, MaskedStates):
            return self.encoder.masks(agent.n_states)
        return np.ones((agent.n_states, agent.n_actions), dtype=np.bool_)

    def _table(self, of_pairs: Any, agent: _ide3al.Agent) -> Any:
        """One value per pair as (S, A)."""
        if isinstance(self.encoder, MaskedStates):
            return spread(of_pairs, self.encoder.masks(agent.n_states))
        return of_pairs.reshape(agent.n_states, agent.n_actions)

    @property
    def coverage(self) -> float:
        """Share of state-action pairs tried at least once, of those declared or met and allowed."""
        return float((self.fitted().visits() > 0).mean())

    @property
    def states(self) -> list[Any]:
        """The observations met, by number, as the environment gave them; the middles of the cells
        in a continuous environment; the numbers themselves where the space is finite."""
        agent = self.fitted()
        cells = self.partition or self._saved_partition
        if cells is not None:
            return list(cells.states)
        if isinstance(self.encoder, DiscoveredStates):
            space = self.encoder.space
            keys = self.encoder.keys[: agent.n_states]
            return [from_key(space, key) for key in keys]
        return list(range(agent.n_states))

    @property
    def repeat(self) -> int:
        """Steps that an action is held for: 1 but in continuous environments."""
        cells = self.partition or self._saved_partition
        return 1 if cells is None else cells.repeat

    @property
    def is_fitted(self) -> bool:
        """Whether the agent has learned from any steps."""
        return self._agent is not None

    @property
    def notes(self) -> list[str]:
        """What should be known of what was learned: states that look absorbing, parts that cannot
        be reached, layouts that change with every episode, what cells and actions leave out."""
        notes = self.fitted().notes()
        if self._changes.found:
            self._noted.setdefault("changes", CHANGES)
        if self.partition is not None:
            notes = notes + self.partition.notes
        return notes + list(self._noted.values())

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
        self.reset()
        predicted = np.asarray(self.metrics["stationary"], dtype=np.float64)
        partition, learner = self.partition, self.fitted()

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
        _ide3al.write_file(path, self._saved().to_bytes())

    def _saved(self) -> SavedAgent:
        text, learner = self.fitted().save()
        cells, encoder = self._saved_partition, self.encoder
        if self.partition is not None:
            cells = SavedPartition(self.partition.save(), self.partition.save_history())
        # some notes are only found when they are asked for
        self.notes  # noqa: B018
        return SavedAgent(
            kind=type(self).__name__,
            seed=self.seed,
            parameters=self.parameters,
            text=text,
            learner=learner,
            states=encoder if isinstance(encoder, DiscoveredStates) else None,
            partition=cells,
            tally=self.tally,
            notes=dict(self._noted),
            beyond=tuple(encoder.beyond) if isinstance(encoder, GrowingIndex) else self._beyond,
        )

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
        agent = cls._of(SavedAgent.read(name, features), name)
        if env is not None and not agent.is_partitioned(env):
            agent.attach(env)
        return agent

    @classmethod
    def _of(cls, saved: SavedAgent, name: str) -> Self:
        agent = cls.__new__(cls)
        try:
            Agent.__init__(agent, seed=saved.seed, **saved.parameters)
        except (TypeError, ValueError) as problem:
            raise damaged(name, problem) from None
        if saved.kind != cls.__name__:
            raise Error(f"{name}: holds a {saved.kind}; load it with ide3al.{saved.kind}.load")
        learner = agent._agent = _ide3al.Agent.load(saved.text, saved.learner)
        if learner.open and saved.partition is None and not saved.beyond:
            if saved.states is None or saved.states.size < learner.n_states:
                raise damaged(name, "observations.txt")
        agent.encoder, agent._saved_partition = saved.states, saved.partition
        agent._noted, agent._beyond = dict(saved.notes), saved.beyond
        agent.tally = saved.tally
        return agent

    def __getstate__(self) -> dict[str, Any]:
        """Settings, what was learned, and the spaces it was learned in."""
        spaces = None
        if self.partition is not None:
            spaces = self.partition.features.space, self.partition.actions.space
        elif self.encoder is not None and self.action_encoder is not None:
            spaces = self.encoder.space, self.action_encoder.space
        return {
            "seed": self.seed,
            "parameters": self.parameters,
            "abstraction": self.abstraction,
            "content": self._saved().to_bytes() if self.is_fitted else None,
            "spaces": spaces,
            "map_shape": self.map_shape,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        abstraction, content, spaces = state["abstraction"], state["content"], state["spaces"]
        if content is None:
            Agent.__init__(self, seed=state["seed"], **state["parameters"])
        else:
            features = None if abstraction is None else abstraction.features
            copy = self._of(SavedAgent.from_bytes(content, "the copy", features), "the copy")
            self.__dict__.update(copy.__dict__)
            self._actor = Actor(self)
        self.abstraction = abstraction
        if spaces is not None:
            env = SimpleNamespace(
                observation_space=spaces[0], action_space=spaces[1], reset=None, step=None
            )
            if not self.is_partitioned(env):
                self.attach(env)
        self.map_shape = state["map_shape"]

    def attach(
        self,
        env: Any,
        encoder: SpaceIndex | DiscoveredStates | None = None,
        first: tuple[Any, Any] | None = None,
    ) -> tuple[_ide3al.Agent, SpaceIndex | DiscoveredStates, SpaceIndex]:
        """Make ready to learn in an environment.

        Parameters
        ----------
        env : gymnasium.Env or gymnasium.vector.VectorEnv
            The environment.
        encoder : SpaceIndex or DiscoveredStates, optional
            How observations are numbered; as their space says unless given.
        first : tuple, optional
            What the first reset returned, which says whether actions are masked.

        Returns
        -------
        tuple
            The compiled agent, and the encoders of observations and of actions.

        Raises
        ------
        Error
            If the environment is unlike those learned from before.
        """
        check_environment(env)
        space, action_space = spaces_of(env)
        actions = SpaceIndex(action_space)
        mask = None
        if first is not None:
            mask = MaskReader(env, action_space, actions.size).read(*first)
        observations = state_encoder(space) if encoder is None else encoder
        if mask is not None or isinstance(self.encoder, MaskedStates):
            observations = MaskedStates(space, actions.size)
        found = isinstance(observations, DiscoveredStates)
        if self._agent is None:
            states = 1 if found else observations.size
            widths = None if mask is None else [int(mask.sum())]
            self._agent = _ide3al.Agent(
                self._algorithm, states, actions.size, self.seed, self.parameters, found, widths
            )
        elif encoder is None and _continues(self.encoder, observations):
            # goes on with what was met before
            assert self.encoder is not None
            observations, self.encoder.space = self.encoder, space
        known = self._agent.n_states, self._agent.n_actions
        if isinstance(observations, GrowingIndex):
            if self._beyond and not observations.beyond:
                observations.admit(self._beyond)
            observations.on_beyond = self._admit
            same = observations.declared <= known[0] <= observations.size
        else:
            same = found == self._agent.open and (found or observations.size == known[0])
        if not same or actions.size != known[1]:
            size = "any number of" if found else observations.size
            raise Error(
                f"this agent has learned {known[0]} states and {known[1]} actions; the environment has "
                f"{size} and {actions.size}"
            )
        self.encoder, self.action_encoder = observations, actions
        self.map_shape = map_shape(env, self._agent.n_states) if not found else None
        return self._agent, observations, actions

    def _admit(self, observation: Any) -> None:
        """An observation lies beyond its declared space: from now on such are states, too."""
        self.fitted().admit_states()
        assert self.encoder is not None
        self._noted["beyond"] = (
            f"observations lie beyond their declared space {self.encoder.space}, first "
            f"{observation!r}; they are numbered after the declared ones, as they are met. Correct "
            "the environment's observation_space"
        )

    @property
    def compiled(self) -> _ide3al.Agent | None:
        """The compiled agent, where anything was learned."""
        return self._agent

    def fitted(self) -> _ide3al.Agent:
        """Give the compiled agent.

        Returns
        -------
        ide3al._ide3al.Agent
            The compiled agent.

        Raises
        ------
        Error
            If the agent has not seen anything yet.
        """
        if self._agent is None:
            raise Error(f"this {type(self).__name__} has not seen anything yet; call fit first")
        return self._agent

    def _repr_html_(self) -> str:
        rows = [("steps", f"{self.num_timesteps:,}"), ("seed", str(self.seed))]
        if self.is_fitted:
            tried = f"{100 * self.coverage:.1f} % of those met"
            rows += [("states", f"{len(self.states):,}"), ("pairs tried", tried)]
            rows += [("note", note) for note in self.notes]
        return html_table(type(self).__name__, rows)

    def __repr__(self) -> str:
        given = {k: v for k, v in self.parameters.items() if v is not None}
        listed = "".join(f"{name}={value!r}, " for name, value in given.items())
        return f"<{type(self).__name__}({listed}seed={self.seed}): {self.num_timesteps} steps>"


def _partition_tally(partition: AdaptivePartition) -> TransitionTally:
    """What was tried and earned in a continuous environment, between the cells at hand."""
    tally = TransitionTally()
    rows, earned, starts = partition.decisions()
    if np.isnan(earned).any():
        raise Error("this agent was saved by a version that kept no rewards; fit it again to plan")
    for state in starts.tolist():
        tally.begin(state)
    for (state, action, reached, ended), reward in zip(rows.tolist(), earned.tolist(), strict=True):
        tally.record(state, action, reward, reached, bool(ended))
    return tally


def _continues(known: Any, observations: Any) -> bool:
    """Whether numbers given before can be gone on with."""
    if isinstance(known, GrowingIndex) and isinstance(observations, GrowingIndex):
        return known.declared == observations.declared
    return type(known) is type(observations) and isinstance(known, DiscoveredStates)
