"""From observations to actions with what an agent has learned."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from .. import _ide3al
from .._ide3al import Error
from ..encoding.abstraction import ActionGrid
from ..encoding.adaptive import AdaptivePartition
from ..encoding.discrete import DiscoveredStates, GrowingIndex, SpaceIndex
from ..encoding.masks import MaskedStates, MaskReader
from ..encoding.raw import elements, stack
from ..runners.vector import batch_size, decode_batch, encode_batch
from ..types import Floats

#: The action that is held, by number, and for how many steps more.
Held = tuple[int, int]


class Acting(Protocol):
    """The part of an agent that draws its actions."""

    seed: int
    encoder: SpaceIndex | DiscoveredStates | None
    action_encoder: SpaceIndex | None
    partition: AdaptivePartition | None

    @property
    def policy(self) -> Floats:
        """Probabilities, (S, A)."""

    def fitted(self) -> _ide3al.Agent:
        """The compiled agent; an error where nothing was learned yet."""


class Actor:
    """Draws actions for one agent. In a continuous environment it holds each for some calls, and
    begins anew when it is told that an episode began (:meth:`reset`)."""

    def __init__(self, agent: Acting) -> None:
        self._agent = agent
        self._held: list[Held | None] = [None]
        # the learner's own draws know of no masks
        self._rng = np.random.default_rng((agent.seed, 1))

    @property
    def decides(self) -> bool:
        """Whether the next call chooses an action, rather than holding one."""
        return self._held[0] is None or self._held[0][1] <= 0

    def reset(self) -> None:
        """An episode begins, in all environments: what was held is let go."""
        self._held = [None] * len(self._held)

    def act(self, observation: Any, deterministic: bool, action_masks: Any) -> Any:
        """An action, or a batch of them for a batch of observations."""
        agent = self._agent
        inner, partition = agent.fitted(), agent.partition
        if partition is None:
            return self._act_by_number(inner, observation, deterministic, action_masks)
        space = partition.features.space
        many = None if partition.features.features is not None else batch_size(space, observation)
        if many is None:
            if len(self._held) != 1:
                self._held = [None]
            number = self._hold(inner, partition, observation, 0, deterministic, action_masks)
            return partition.actions.element(number)
        if len(self._held) != many:
            self._held = [None] * many
        numbers = [
            self._hold(inner, partition, one, k, deterministic, None)
            for k, one in enumerate(elements(observation))
        ]
        if isinstance(partition.actions, ActionGrid):
            return stack([partition.actions.element(number) for number in numbers])
        return decode_batch(partition.actions, np.array(numbers, dtype=np.int64))

    def _hold(
        self,
        inner: _ide3al.Agent,
        partition: AdaptivePartition,
        observation: Any,
        place: int,
        deterministic: bool,
        action_masks: Any,
    ) -> int:
        held = self._held[place]
        mask = None
        if action_masks is not None:
            mask = MaskReader(None, partition.actions.space, partition.actions.size).numbered(
                action_masks
            )
        if held is None or held[1] <= 0 or (mask is not None and not mask[held[0]]):
            state = partition.find(partition.vector(observation), inner.n_states)
            if mask is not None or deterministic:
                number = _choose(self._rng, self._agent.policy[state], mask, deterministic)
            else:
                number = inner.draw(state)
            held = number, partition.repeat
        self._held[place] = held[0], held[1] - 1
        return held[0]

    def _act_by_number(
        self, inner: _ide3al.Agent, observation: Any, deterministic: bool, action_masks: Any
    ) -> Any:
        agent = self._agent
        states, actions = agent.encoder, agent.action_encoder
        if states is None or actions is None:
            raise Error("give env=... to load, or fit, before predicting")
        many = batch_size(states.space, observation)
        if many is not None:
            return self._act_batch(inner, states, actions, observation, many, deterministic)
        state = find(states, observation)
        known = state is not None and state < inner.n_states
        if action_masks is not None:
            mask = MaskReader(None, actions.space, actions.size).numbered(action_masks)
            row = agent.policy[state] if known else np.full(actions.size, 1.0)
            return actions.element(_choose(self._rng, row, mask, deterministic and known))
        return actions.element(self._number(inner, state if known else None, deterministic))

    def _act_batch(
        self,
        inner: _ide3al.Agent,
        states: SpaceIndex | DiscoveredStates,
        actions: SpaceIndex,
        observations: Any,
        many: int,
        deterministic: bool,
    ) -> Any:
        # nothing is discovered by predicting
        index = states.copy() if isinstance(states, DiscoveredStates) else states
        numbers = encode_batch(index, index.space, observations, many)
        chosen = [
            self._number(inner, s if s < inner.n_states else None, deterministic)
            for s in numbers.tolist()
        ]
        return decode_batch(actions, np.array(chosen, dtype=np.int64))

    def _number(self, inner: _ide3al.Agent, state: int | None, deterministic: bool) -> int:
        if state is None:
            # never met: every action is as good as any other
            return inner.draw_any()
        if deterministic:
            return int(np.argmax(self._agent.policy[state]))
        states, local = self._agent.encoder, inner.draw(state)
        return int(states.legal[state][local]) if isinstance(states, MaskedStates) else local


def find(states: SpaceIndex | DiscoveredStates, observation: Any) -> int | None:
    """The number of an observation, if it has one."""
    if isinstance(states, DiscoveredStates | GrowingIndex):
        return states.find(observation)
    return states.number(observation)


def _choose(rng: np.random.Generator, row: Any, mask: Any, deterministic: bool) -> int:
    """An action among those allowed, in proportion to a row of the policy."""
    weights = np.where(mask, row, 0.0) if mask is not None else np.asarray(row)
    if weights.sum() <= 0:
        weights = np.ones(len(row)) if mask is None else np.asarray(mask, dtype=np.float64)
    if deterministic:
        return int(np.argmax(weights))
    return int(rng.choice(len(weights), p=weights / weights.sum()))
