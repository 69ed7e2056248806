"""An agent as an estimator: the parameters it was made with, and what was learned with them."""

from __future__ import annotations

import inspect
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from .. import _ide3al
from .._check import seed_of, whole_number
from .._display import html_table
from .._ide3al import Error
from ..datasets.tally import TransitionTally
from ..encoding.abstraction import Abstraction
from ..encoding.adaptive import AdaptivePartition
from ..encoding.changes import NOTE as CHANGES
from ..encoding.changes import EpisodeChanges
from ..encoding.discrete import DiscoveredStates, SpaceIndex, from_key
from ..encoding.masks import MaskedStates, spread
from ..models.mdp import MDP
from ..types import Floats, Integers
from .acting import Actor, find
from .parameters import checked
from .persistence import SavedPartition


class Estimator:
    """Parameters, and once the agent was fitted its policy, counts and estimated model.

    The parameters are those of :class:`ide3al.agents.base.Agent`.
    """

    _algorithm: str
    #: What is asked of the visits in terms of observations, where the algorithm takes it.
    target: Any = None
    limits: tuple[tuple[Any, float], ...] = ()

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
        #: Whether layouts change from episode to episode.
        self.changes = EpisodeChanges()
        self._noted: dict[str, str] = {}
        #: Rows and columns of the environment's map, where states are numbered row by row.
        self.map_shape: tuple[int, int] | None = None
        #: Keys of observations beyond their space, from a file.
        self._beyond: tuple[Any, ...] = ()
        #: What was tried and earned, for :meth:`plan`; in cells the partition's history says it.
        self.tally = TransitionTally()

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
        return self.fitted().evaluate()[1]

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
        if self.changes.found:
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
