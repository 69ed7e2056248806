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
    _record(inner, None, states, who)
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
            _tally(agent.tally, states, actions, moved)
            if watch is not None:
                watch.step(actions, moved)
            if moved.plain:
                _record(inner, (states, actions, moved.reached, going, who), left=steps - taken)
                taken += vector.n
                states = moved.states
                continue
            # each part is recorded before the next is made
            for columns in _ended(inner, states, actions, moved, terminal, who):
                _record(inner, columns, left=max(steps - taken, 0))
                taken += len(columns[0])
            _record(inner, None, moved.states[moved.begun], who[moved.begun])
            terminal = moved.terminated & moved.stepped
            states = moved.states
        done += steps
        _ide3al.agent_learn(inner, done == total_timesteps)
        if show is not None:
            show(done, total_timesteps, agent)
        if callback is not None and callback(agent) is False:
            break


_NOTHING = np.zeros(0, dtype=np.int64)


def _record(
    inner: _ide3al.Agent,
    columns: Columns | None,
    starts: Integers = _NOTHING,
    who: Integers = _NOTHING,
    left: int | None = None,
) -> None:
    """Steps, no more than are left, and where episodes began after them."""
    steps = np.zeros((0, 5), np.int64) if columns is None else np.stack(columns, axis=1)[:left]
    _ide3al.agent_record(inner, steps, np.stack([starts, who], axis=1))


def _tally(tally: TransitionTally, states: Integers, actions: Integers, moved: VectorStep) -> None:
    """Records what one step of all environments brought."""
    for k in np.flatnonzero(moved.stepped).tolist():
        reached, over = int(moved.reached[k]), bool(moved.terminated[k])
        tally.record(int(states[k]), int(actions[k]), moved.rewards[k], reached, over)
    for k in np.flatnonzero(moved.begun).tolist():
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
