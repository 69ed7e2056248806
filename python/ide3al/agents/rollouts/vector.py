"""Steps of many environments at once: all follow one policy, and their steps count alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ... import _ide3al
from ...datasets.tally import TransitionTally
from ...runners.vector import Flags, Vector, VectorStep
from ...types import Integers
from ..learner import Learner
from .base import Rollout

#: States, actions, next states, how steps ended (0 goes on, 1 in a terminal state, 2 truncated, 3
#: left a terminal state), and the environments that took them.
Columns = tuple[Integers, Integers, Integers, Integers, Integers]


class VectorRollout(Rollout):
    """Many environments, stepped together. ``watch`` is told of every step."""

    def __init__(self, agent: Learner, env: Any, total: int, watch: Any = None) -> None:
        self._inner, observations, _ = agent.attach(env)
        self._tally, self._watch = agent.tally, watch
        self.left = self._total = total
        self._vector = Vector(env, observations)
        self._inner.interrupt_trajectory()
        self._states = self._vector.reset(agent.seed if self._inner.steps == 0 else None)
        if watch is not None:
            watch.begin(self._states)
        self._who = np.arange(self._vector.n)
        _start(self._inner, self._states, self._who)
        for state in self._states.tolist():
            self._tally.begin(state)
        self._terminal = np.zeros(self._vector.n, dtype=np.bool_)
        self._going = np.zeros(self._vector.n, dtype=np.int64)

    def collect(self) -> None:
        steps = min(self._inner.batch_size(self._total), self.left)
        _ide3al.agent_behaviour(self._inner)
        least = self.left - steps
        while self.left > least:
            self._step()

    def _step(self) -> None:
        """One step everywhere."""
        inner, vector, states, who = self._inner, self._vector, self._states, self._who
        actions = vector.legal(_ide3al.agent_draw(inner, states, who))
        moved = vector.step(actions)
        self._states = moved.states
        if self._watch is not None:
            self._watch.step(actions, moved)
        # the last step of all has one for each environment, whatever is left
        counted = who < self.left
        _tally(self._tally, states, actions, moved, counted)
        if moved.plain:
            self.left -= _record(inner, (states, actions, moved.reached, self._going, who), counted)
            return
        # each part is recorded before the next is made
        for columns in _ended(inner, states, actions, moved, self._terminal, who):
            numbers = columns[-1]
            beyond = np.cumsum(counted[numbers]) > self.left
            counted[numbers[beyond]] = False
            self.left -= _record(inner, columns, counted)
        begun = moved.begun & counted
        _start(inner, moved.states[begun], who[begun])
        self._terminal = moved.terminated & moved.stepped


def _record(inner: _ide3al.Agent, columns: Columns, counted: Flags) -> int:
    """Steps of the environments whose steps still count; how many these are."""
    rows = np.stack(columns, axis=1)[counted[columns[-1]]]
    _ide3al.agent_record(inner, rows, np.zeros((0, 2), np.int64))
    return len(rows)


def _start(inner: _ide3al.Agent, states: Integers, who: Integers) -> None:
    """Where episodes began."""
    _ide3al.agent_record(inner, np.zeros((0, 5), np.int64), np.stack([states, who], axis=1))


def _tally(
    tally: TransitionTally, states: Integers, actions: Integers, moved: VectorStep, counted: Flags
) -> None:
    """Records what one step brought to the environments whose steps still count."""
    for k in np.flatnonzero(moved.stepped & counted).tolist():
        reached, over = int(moved.reached[k]), bool(moved.terminated[k])
        tally.record(int(states[k]), int(actions[k]), moved.rewards[k], reached, over)
    for k in np.flatnonzero(moved.begun & counted).tolist():
        tally.begin(int(moved.states[k]))


def _ended(
    inner: _ide3al.Agent,
    states: Integers,
    actions: Integers,
    moved: VectorStep,
    terminal: Flags,
    who: Integers,
) -> Iterator[Columns]:
    """What is learned from a step in which episodes ended or began; ``terminal``: where the last
    one ended in a terminal state."""
    ends = np.where(moved.terminated, 1, np.where(moved.truncated, 2, 0))
    # a start that follows a terminal state is a step of the model, one that follows a cut is not
    left = terminal & ~moved.stepped
    ends[left] = 3
    kept = moved.stepped | left
    yield states[kept], actions[kept], moved.reached[kept], ends[kept], who[kept]
    if moved.stepped.all() and moved.begun.any():
        # started over within the step
        over = moved.terminated & moved.begun
        again = _ide3al.agent_draw(inner, moved.reached[over], who[over])
        yield moved.reached[over], again, moved.states[over], np.full_like(again, 3), who[over]
