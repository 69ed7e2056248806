"""What learning to explore an unknown environment has in common, whatever the algorithm."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from .. import _check as check
from .. import _ide3al
from .._display import Progress
from .._ide3al import Error
from ..collecting.runners.vector import fit_vector, is_vector
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
from ..types import Floats, Integers
from .acting import Actor, find
from .persistence import checked, from_bytes, read_bounded, restored, snapshot, to_bytes
from .stepping import FiniteSteps
from .training import explore, needs_cells, restore, spaces_of
from .vector_training import fit_vector_partitioned

Callback = Callable[["Agent"], Any]


class Agent:
    """What all exploration algorithms have in common.

    ``fit`` alternates batches of steps in the environment with learning from everything seen
    so far; batches grow with the steps so far (a tenth of them) unless ``batch_size`` is given. A terminal state belongs to the
    model: the reset that leaves it counts as a step. A truncated episode is cut without a transition; all agents but the
    paper's (``paper=True``) plan for the restarts that follow.

    Finite observation spaces of up to a million elements are numbered by place. Any other observation that can be told from
    others (numbers, strings, arrays, tuples and dictionaries of them, whatever is hashable) is numbered when it is first met:
    ``visits``, ``policy`` and ``model`` then hold the states met so far, and ``states`` lists them.

    Observations or actions that are real numbers are cut into cells and a few actions, each held for some steps, as
    ``abstraction`` says (:class:`ide3al.Abstraction`); states are the cells met then, and counts are those of decisions.
    """

    _algorithm: ClassVar[str]

    def __init__(
        self,
        *,
        batch_size: int | None = None,
        seed: int | None = 0,
        abstraction: Abstraction | None = None,
        **parameters: Any,
    ) -> None:
        self.seed = check.seed_of(seed)
        if batch_size is not None:
            batch_size = check.whole("batch_size", batch_size)
        if abstraction is not None and not isinstance(abstraction, Abstraction):
            raise Error(
                f"abstraction = {abstraction!r}: an ide3al.Abstraction(...) is needed, or nothing"
            )
        self._parameters = {**checked(self._algorithm, parameters), "batch_size": batch_size}
        self._agent: _ide3al.Agent | None = None
        self._observations: SpaceIndex | DiscoveredStates | None = None
        self._actions: SpaceIndex | None = None
        self.abstraction = abstraction
        self._partition: AdaptivePartition | None = None
        #: What a file said of the cells, until an environment is there to cut.
        self._saved_partition: tuple[dict[str, Any], bytes, Extractor | None] | None = None
        self._actor = Actor(self)
        self._changes = EpisodeChanges()
        self._noted: dict[str, str] = {}
        #: Keys of observations beyond their space, from a file.
        self._beyond: tuple[Any, ...] = ()

    def fit(
        self,
        env: Any,
        total_timesteps: int,
        progress_bar: bool = False,
        callback: Callback | None = None,
        *,
        engine: str | None = None,
        workers: int | None = None,
    ) -> Self:
        """Explores ``env`` for ``total_timesteps`` steps. ``callback(agent)`` is called after
        each batch; returning False ends the fit. Fitting again goes on from what was learned,
        with a new episode.

        ``env`` may be many environments (``gymnasium.make_vec``): they share one policy and one batched draw, and learn the same for a
        seed and a number of environments. With ``engine="ray"`` it is a function that makes an environment, and
        ``workers`` runners on a Ray cluster live whole episodes of it; one that dies is replaced, and nothing changes."""
        total_timesteps = check.whole("total_timesteps", total_timesteps)
        check.callback(callback)
        if engine is not None or workers is not None or is_vector(env):
            return self._fit_elsewhere(
                env, total_timesteps, progress_bar, callback, engine, workers
            )
        if self._is_partitioned(env):
            return self._fit_partitioned(env, total_timesteps, progress_bar, callback)
        check.actions_can_be_numbered(env.action_space)
        # the environment is seeded once: the first reset of the first fit
        fresh = self._agent is None or self._agent.steps == 0
        first = env.reset(seed=self.seed) if fresh else env.reset()
        agent, observations, actions = self._attach(env, first=first)
        agent.interrupt_trajectory()
        loop = FiniteSteps(agent, env, observations, actions, self._changes, first)
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
        if engine not in (None, "ray"):
            raise Error(
                f"engine = {engine!r}: known is 'ray'; leave it out to learn in this process"
            )
        if engine is None and workers is not None:
            raise Error(
                'workers: only with engine="ray"; for many environments here give '
                "gymnasium.make_vec(...)"
            )
        with Progress(total, progress_bar) as show:
            if engine == "ray":
                from ..collecting.strategies import fit_on_ray

                workers = 2 if workers is None else check.whole("workers", workers)
                fit_on_ray(self, env, total, workers, show=show, callback=callback)
            elif self._is_partitioned(env):
                assert self._partition is not None
                fit_vector_partitioned(
                    self, self._partition, env, total, show=show, callback=callback
                )
            else:
                fit_vector(self, env, total, show=show, callback=callback)
        return self

    def _is_partitioned(self, env: Any) -> bool:
        """Whether the environment is explored in cells; makes ready to cut them."""
        check.environment(env)
        if self._saved_partition is not None:
            self._partition = restore(*self._saved_partition[:2], env, self._saved_partition[2])
            self._saved_partition = None
        if self._partition is None:
            if self._agent is not None or (self.abstraction is None and not needs_cells(env)):
                return False
            check.actions_can_be_numbered(spaces_of(env)[1])
            self._partition = AdaptivePartition(self.abstraction or Abstraction(), *spaces_of(env))
        else:
            self._partition.check(env)
        return True

    def _fit_partitioned(
        self, env: Any, total_timesteps: int, progress_bar: bool, callback: Callback | None
    ) -> Self:
        cut = self._partition
        assert cut is not None
        self.reset()
        with Progress(total_timesteps, progress_bar) as show:

            def after(done: int, _: _ide3al.Agent) -> bool:
                show(done, total_timesteps, self)
                return callback is None or callback(self) is not False

            explore(self._learner_of_cells, self._agent, cut, env, total_timesteps, self.seed, after)
        return self

    def _learner_of_cells(self) -> _ide3al.Agent:
        assert self._partition is not None
        self._agent = _ide3al.Agent(
            self._algorithm, 1, self._partition.actions.size, self.seed, self._parameters, True
        )
        return self._agent

    def predict(
        self, observation: Any, deterministic: bool = False, *, action_masks: Any = None
    ) -> Any:
        """An action for an observation, drawn from the policy learned, or its likeliest; for a
        batch of observations, as vector environments return them, a batch of actions. In a
        continuous environment an action is held for ``agent.repeat`` calls before another is
        drawn; :meth:`reset` says that an episode begins. ``action_masks`` says which actions are
        allowed, one truth value each; without it those are taken that were allowed when the state
        was met."""
        return self._actor.act(observation, deterministic, action_masks)

    def reset(self) -> None:
        """Says that an episode begins: an action that is held is let go.

        :class:`ide3al.wrappers.Follow` says so whenever its environment is reset."""
        self._actor.reset()

    def state_of(self, observation: Any) -> int | None:
        """The number of an observation's state: its row in ``policy`` and ``visits``; None if it
        was never met."""
        agent = self._fitted()
        if self._partition is not None:
            return self._partition.find(self._partition.vector(observation), agent.n_states)
        if self._observations is None:
            raise Error("give env=... to load, or fit, to number observations")
        state = find(self._observations, observation)
        return None if state is None or state >= agent.n_states else state

    @property
    def actions(self) -> list[Any]:
        """The actions by number, as the environment takes them: the columns of ``policy``."""
        known = self._actions if self._partition is None else self._partition.actions
        if known is None:
            raise Error("give env=... to load, or fit, to know the actions")
        return [known.element(k) for k in range(known.size)]

    @property
    def policy(self) -> Floats:
        """The policy learned, (S, A). For MaxEnt, whose result is a mixture of policies, the
        one policy with the same state-action visits in the estimated model."""
        agent = self._fitted()
        return self._table(agent.policy(), agent)

    @property
    def metrics(self) -> dict[str, Any]:
        """Entropies in nats, least visited probability, spectral gap and stationary
        distribution of what was learned, in the model estimated so far."""
        return self._fitted().judge()[1]

    @property
    def model(self) -> MDP:
        """The model estimated so far."""
        return MDP._of(self._fitted().estimate())

    @property
    def visits(self) -> Integers:
        """How often each action was tried in each state, (S, A)."""
        agent = self._fitted()
        return self._table(agent.visits(), agent)

    @property
    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Which actions are allowed in each state, (S, A): all of them where the environment
        masks none."""
        agent = self._fitted()
        if isinstance(self._observations, MaskedStates):
            return self._observations.masks(agent.n_states)
        return np.ones((agent.n_states, agent.n_actions), dtype=np.bool_)

    def _table(self, of_pairs: Any, agent: _ide3al.Agent) -> Any:
        """One value per pair as (S, A)."""
        if isinstance(self._observations, MaskedStates):
            return spread(of_pairs, self._observations.masks(agent.n_states))
        return of_pairs.reshape(agent.n_states, agent.n_actions)

    @property
    def coverage(self) -> float:
        """Share of state-action pairs tried at least once, of those declared or met and allowed."""
        return float((self._fitted().visits() > 0).mean())

    @property
    def states(self) -> list[Any]:
        """The observations met, by number, as the environment gave them; the middles of the cells
        in a continuous environment; the numbers themselves where the space is finite."""
        agent = self._fitted()
        if self._partition is not None:
            return list(self._partition.states)
        if isinstance(self._observations, DiscoveredStates):
            space = self._observations.space
            keys = self._observations.keys[: agent.n_states]
            return [from_key(space, key) for key in keys]
        return list(range(agent.n_states))

    @property
    def repeat(self) -> int:
        """Steps that an action is held for: 1 but in continuous environments."""
        return 1 if self._partition is None else self._partition.repeat

    @property
    def notes(self) -> list[str]:
        """What should be known of what was learned: states that look absorbing, parts that cannot
        be reached, layouts that change with every episode, what cells and actions leave out."""
        notes = self._fitted().notes()
        if self._changes.found:
            self._noted.setdefault("changes", CHANGES)
        if self._partition is not None:
            notes = notes + self._partition.notes
        return notes + list(self._noted.values())

    @property
    def num_timesteps(self) -> int:
        """Steps taken so far."""
        if self._partition is not None:
            return self._partition.steps
        return 0 if self._agent is None else self._agent.steps

    def account(self, env: Any, steps: int = 10_000, seed: int = 0) -> Account:
        """In a continuous environment: follows what was learned for some steps and compares where that leads with what the
        estimate predicted, cell by cell; see :class:`ide3al.Account`."""
        return account(self, env, steps, seed)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes everything needed to go on, whole or not at all."""
        self._fitted()
        _ide3al.write_file(path, to_bytes(self))

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], env: Any = None, features: Extractor | None = None
    ) -> Self:
        """Reads what :meth:`save` wrote. Give ``env`` to predict before fitting again, and the ``features`` of its abstraction,
        if it had any, since no file holds a function."""
        name = os.fspath(path)
        try:
            content = read_bounded(name)
        except OSError as problem:
            raise Error(f"{name}: cannot read: {problem}") from None
        agent = from_bytes(cls, content, name, features)
        if env is not None and not agent._is_partitioned(env):
            agent._attach(env)
        return agent

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (type(self), *snapshot(self))

    def _attach(
        self,
        env: Any,
        numbered: SpaceIndex | DiscoveredStates | None = None,
        first: tuple[Any, Any] | None = None,
    ) -> tuple[_ide3al.Agent, SpaceIndex | DiscoveredStates, SpaceIndex]:
        """Makes ready to learn in an environment; ``first`` is what its first reset returned."""
        check.environment(env)
        space, action_space = spaces_of(env)
        actions = SpaceIndex(action_space)
        mask = None
        if first is not None:
            mask = MaskReader(env, action_space, actions.size).read(*first)
        observations = state_encoder(space) if numbered is None else numbered
        if mask is not None or isinstance(self._observations, MaskedStates):
            observations = MaskedStates(space, actions.size)
        found = isinstance(observations, DiscoveredStates)
        if self._agent is None:
            states = 1 if found else observations.size
            widths = None if mask is None else [int(mask.sum())]
            self._agent = _ide3al.Agent(
                self._algorithm, states, actions.size, self.seed, self._parameters, found, widths
            )
        elif numbered is None and _continues(self._observations, observations):
            # goes on with what was met before
            assert self._observations is not None
            observations, self._observations.space = self._observations, space
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
        self._observations, self._actions = observations, actions
        return self._agent, observations, actions

    def _admit(self, observation: Any) -> None:
        """An observation lies beyond its declared space: from now on such are states, too."""
        self._fitted().admit_states()
        assert self._observations is not None
        self._noted["beyond"] = (
            f"observations lie beyond their declared space {self._observations.space}, first "
            f"{observation!r}; they are numbered after the declared ones, as they are met. Correct "
            "the environment's observation_space"
        )

    def _fitted(self) -> _ide3al.Agent:
        if self._agent is None:
            raise Error(f"this {type(self).__name__} has not seen anything yet; call fit first")
        return self._agent

    def __repr__(self) -> str:
        given = {k: v for k, v in self._parameters.items() if v is not None}
        listed = "".join(f"{name}={value!r}, " for name, value in given.items())
        return f"<{type(self).__name__}({listed}seed={self.seed}): {self.num_timesteps} steps>"


def _continues(known: Any, observations: Any) -> bool:
    """Whether numbers given before can be gone on with."""
    if isinstance(known, GrowingIndex) and isinstance(observations, GrowingIndex):
        return known.declared == observations.declared
    return type(known) is type(observations) and isinstance(known, DiscoveredStates)
