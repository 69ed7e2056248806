"""Learning in many environments at once: all follow one policy, and their steps count alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import _ide3al
from ..datasets.tally import TransitionTally
from ..runners.vector import Flags, Vector, VectorStep
from ..types import Integers
from .learner import Learner

#: States, actions, next states, how steps ended (0 goes on, 1 in a terminal state, 2 truncated, 3
#: left a terminal state), and the environments that took them.
Columns = tuple[Integers, Integers, Integers, Integers, Integers]


def fit_vector(
    agent: Learner,
    env: Any,
    total_timesteps: int,
    *,
    show: Callable[[int, int, Any], None] | None = None,
    callback: Callable[[Any], Any] | None = None,
    watch: Any = None,
) -> None:
    """``fit`` in many environments; all of them follow one policy, and their steps count alike.
    ``watch`` is told of every step."""
    inner, observations, _ = agent.attach(env)
    vector = Vector(env, observations)
    inner.interrupt_trajectory()
    states = vector.reset(agent.seed if inner.steps == 0 else None)
    if watch is not None:
        watch.begin(states)
    who = np.arange(vector.n)
    _start(inner, states, who)
    for state in states.tolist():
        agent.tally.begin(state)
    terminal = np.zeros(vector.n, dtype=np.bool_)
    going = np.zeros(vector.n, dtype=np.int64)
    done = 0
    while done < total_timesteps:
        steps = min(inner.batch_size(total_timesteps), total_timesteps - done)
        _ide3al.agent_behaviour(inner)
        taken = 0
        while taken < steps:
            actions = vector.legal(_ide3al.agent_draw(inner, states, who))
            moved = vector.step(actions)
            if watch is not None:
                watch.step(actions, moved)
            # the last step of all has one for each environment, whatever is left
            counted = who < total_timesteps - done - taken
            _tally(agent.tally, states, actions, moved, counted)
            if moved.plain:
                taken += _record(inner, (states, actions, moved.reached, going, who), counted)
                states = moved.states
                continue
            # each part is recorded before the next is made
            for columns in _ended(inner, states, actions, moved, terminal, who):
                numbers = columns[-1]
                beyond = np.cumsum(counted[numbers]) > total_timesteps - done - taken
                counted[numbers[beyond]] = False
                taken += _record(inner, columns, counted)
            begun = moved.begun & counted
            _start(inner, moved.states[begun], who[begun])
            terminal = moved.terminated & moved.stepped
            states = moved.states
        done += taken
        _ide3al.agent_learn(inner, done == total_timesteps)
        if show is not None:
            show(done, total_timesteps, agent)
        if callback is not None and callback(agent) is False:
            break


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
