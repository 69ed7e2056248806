"""Agents in environments: what their observations and actions are numbered by."""

from __future__ import annotations

from typing import Any

from .. import _ide3al
from .._check import check_actions, check_environment
from .._ide3al import Error
from ..datasets.grid_layout import map_shape
from ..encoding.abstraction import Abstraction, needs_cells, spaces_of
from ..encoding.adaptive import AdaptivePartition
from ..encoding.discrete import DiscoveredStates, GrowingIndex, SpaceIndex, state_encoder
from ..encoding.masks import MaskedStates, MaskReader
from ..planning.decoder import Decoder
from .estimator import Estimator
from .visit_spec import numbers


class AttachableEstimator(Estimator):
    """An estimator that is made ready for an environment, finite or continuous, and refuses one
    unlike those that it has learned from before."""

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
            self.partition = self._saved_partition.restored(*spaces_of(env))
            self._saved_partition = None
        if self.partition is None:
            if self._agent is not None or (self.abstraction is None and not needs_cells(env)):
                return False
            check_actions(spaces_of(env)[1])
            self.partition = AdaptivePartition(self.abstraction or Abstraction(), *spaces_of(env))
        else:
            self.partition.check(env)
        return True

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
        self._ask(Decoder(None, self.partition.actions, self.partition, 1))
        return self._agent

    def _ask(self, decoder: Decoder) -> None:
        """Say what is asked of the visits, now and whenever there are other states."""
        if self.target is None and not self.limits:
            return
        assert self._agent is not None
        restart = self.parameters.get("restart") or 0.0
        size = decoder.actions.size
        self._agent.ask(numbers(self.target, self.limits, restart, decoder, size))

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
                f"this agent has learned {known[0]} states and {known[1]} actions; the "
                f"environment has {size} states and {actions.size} actions"
            )
        self.encoder, self.action_encoder = observations, actions
        self._ask(Decoder(observations, actions, None, known[0]))
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


def _continues(known: Any, observations: Any) -> bool:
    """Whether numbers given before can be gone on with."""
    if isinstance(known, GrowingIndex) and isinstance(observations, GrowingIndex):
        return known.declared == observations.declared
    return type(known) is type(observations) and isinstance(known, DiscoveredStates)
