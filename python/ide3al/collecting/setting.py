"""How an environment is stepped while data are collected, by what states and actions are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from .. import _ide3al
from .._check import check_actions
from .._extras import need
from .._ide3al import Error
from ..agents.base import Agent
from ..datasets.dataset import Data, joined
from ..encoding.abstraction import Abstraction, ActionGrid, needs_cells, spaces_of
from ..encoding.adaptive import AdaptivePartition
from ..encoding.discrete import DiscoveredStates, SpaceIndex, state_encoder
from ..encoding.masks import MaskedStates
from ..encoding.partitioned import CellSpace, PartitionedEnv, PartitionEncoder
from ..runners.vector import is_vector
from .policies import observation_policy
from .unlabelled import (
    UnlabelledEnv,
    UnlabelledStates,
    action_numbers,
    labelled,
    partition_of,
)


@dataclass
class Setting:
    """One environment as it is stepped."""

    env: Any
    #: The environment's own spaces.
    spaces: tuple[Any, Any]
    states: SpaceIndex | DiscoveredStates
    actions: SpaceIndex | ActionGrid | None
    #: A policy that looks at observations, in place of tables.
    policy: Any = None
    #: Cells, where a table over cells is followed.
    view: PartitionEncoder | None = None
    #: Whether steps are kept as the environment took and gave them.
    raw: bool = False
    #: Cells that states are given afterwards: those of an agent, or still to be laid.
    cells: PartitionEncoder | AdaptivePartition | None = None

    @classmethod
    def of(cls, env: Any, policy: Any, states: Agent | None, learn: bool, until: Any) -> Setting:
        """The setting for a policy, refused where they do not go together."""
        spaces = spaces_of(env)
        check_actions(spaces[1])
        agent = states or (policy if isinstance(policy, Agent) else None)
        abstraction = None if agent is None else agent.abstraction
        if isinstance(agent, Agent) and agent.is_fitted and not learn:
            view = _partition_encoder(agent, env)
        else:
            view = None
        if view is None and not needs_cells(env) and abstraction is None:
            return cls._finite(env, spaces, policy, agent)
        if learn:
            actions = action_numbers(spaces[1], abstraction)
            return cls(env, spaces, UnlabelledStates(), actions, raw=True)
        choice = observation_policy(policy, spaces[1], True)
        if view is not None and choice is None:
            return cls._on_cells(env, spaces, view)
        if until is not None:
            raise Error(
                f"until: {spaces[0]} is not finite, and only an agent that was fitted here has "
                "cells that samples can be promised of; call agent.fit(env, steps) first"
            )
        if choice is None and not isinstance(policy, Agent):
            raise Error(
                f"policy: a table has a row for each state, and {spaces[0]} and {spaces[1]} are "
                "not finite; give states=agent, one that was fitted here and whose cells they are"
            )
        return cls._unlabelled(env, spaces, choice, view, abstraction)

    @classmethod
    def _finite(cls, env: Any, spaces: tuple[Any, Any], policy: Any, agent: Any) -> Setting:
        known = None if agent is None else agent.encoder
        encoder, actions = state_encoder(spaces[0]), SpaceIndex(spaces[1])
        _ide3al.check_pairs(encoder.size, actions.size)
        if isinstance(known, MaskedStates):
            encoder = DiscoveredStates(spaces[0])
        if isinstance(encoder, DiscoveredStates) and isinstance(known, DiscoveredStates):
            encoder.restart(known.keys)
        choice = observation_policy(policy, spaces[1], False)
        return cls(env, spaces, encoder, actions, choice)

    @classmethod
    def _on_cells(cls, env: Any, spaces: tuple[Any, Any], view: PartitionEncoder) -> Setting:
        if not is_vector(env):
            stepped = PartitionedEnv(env, view)
            return cls(
                stepped, spaces, DiscoveredStates(stepped.observation_space), None, view=view
            )
        states = DiscoveredStates(CellSpace(view))
        states.restart(view.known())
        return cls(env, spaces, states, view.actions, view=view, raw=True)

    @classmethod
    def _unlabelled(
        cls,
        env: Any,
        spaces: tuple[Any, Any],
        choice: Any,
        view: PartitionEncoder | None,
        abstraction: Abstraction | None,
    ) -> Setting:
        partition = AdaptivePartition(abstraction or Abstraction(), *spaces)
        actions = action_numbers(spaces[1], abstraction)
        if not is_vector(env):
            env = UnlabelledEnv(env)
        cells = partition if view is None else view
        return cls(env, spaces, UnlabelledStates(), actions, choice, None, True, cells)

    @property
    def looks_at_observations(self) -> bool:
        """Whether many environments have to be stepped one observation at a time."""
        return self.policy is not None or self.raw

    def labelled(self, data: Data) -> tuple[Data, PartitionEncoder | None]:
        """The data with the cells that their states are, and these."""
        if data.raw is None:
            return data, self.view
        raw = replace(data.raw, spaces=self.spaces)
        view = self.view
        if isinstance(self.cells, PartitionEncoder):
            view = self.cells
        elif self.cells is not None:
            view = partition_of(self.cells, list(raw.episodes()))
        assert view is not None
        space = CellSpace(view), need("gymnasium.spaces", "gymnasium").Discrete(data.n_actions)
        if self.cells is None:
            return data.replace(raw=raw, spaces=space), view
        episodes, keys = labelled(data.episodes(), view)
        repeat = 1 if len(raw.durations) == len(raw) else view.repeat
        about = {**data.about, "abstraction": view.to_dict(repeat)}
        new = joined(episodes, len(keys), data.n_actions, keys, about, space)
        return new.replace(raw=raw), view


def _partition_encoder(agent: Agent, env: Any) -> PartitionEncoder | None:
    """The agent's cells, if it has any."""
    if not agent.is_partitioned(env):
        return None
    assert agent.partition is not None
    known, given = agent.partition.actions.space, spaces_of(env)[1]
    if known != given:
        raise Error(f"this agent was fitted with actions {known}; the environment has {given}")
    return PartitionEncoder(agent.partition)
