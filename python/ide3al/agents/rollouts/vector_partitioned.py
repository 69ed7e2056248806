"""Steps of many continuous environments at once: they share cells and policy, and each holds its
own action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import _ide3al
from ...datasets.tally import as_number
from ...encoding.history import JointHistory, TransitionHistory
from ...encoding.holding import REPEATS
from ...encoding.masks import is_allowed, nearest_legal
from ...runners.raw_vector import RawVector
from ...types import Floats
from ..learner import Learner
from .base import Rollout
from .partitioned import batch_of_decisions, survey_steps

#: How a row of experience ends: it goes on, in a terminal state, truncated, left a terminal state.
GOES_ON, TERMINATED, CUT, RESTARTED = range(4)


@dataclass
class _Stream:
    """One of the environments."""

    history: TransitionHistory
    vector: Floats
    #: Where the current decision was made, and the terminal state that is still to be left.
    begun: Floats
    terminal: bool = False
    action: int = 0
    left: int = 0


#: State, action, next state, how the step ended, and the environment that took it.
Row = tuple[int, int, int, int, int]
#: A state that an episode began in, and the environment.
Start = tuple[int, int]


class PartitionVectorRollout(Rollout):
    """Steps of all environments, as rows of experience. ``watch`` is told of every step."""

    def __init__(self, agent: Learner, env: Any, total: int, watch: Any = None) -> None:
        assert agent.partition is not None
        self._agent, self._watch = agent, watch
        self._cut = cut = agent.partition
        self.left = self._total = total
        before = cut.history if isinstance(cut.history, TransitionHistory) else None
        self._vector = RawVector(env, cut.actions)
        observations = self._vector.reset(agent.seed if cut.steps == 0 else None)
        for k, observation in enumerate(observations if watch is not None else ()):
            watch.begin(k, observation)
        first = [cut.vector(observation) for observation in observations]
        limit = max(2, cut.abstraction.memory // (self._vector.n + 1))
        self._streams = []
        for vector in first:
            history = TransitionHistory(len(vector), limit)
            history.begin(vector)
            self._streams.append(_Stream(history, vector, vector))
        histories = [stream.history for stream in self._streams]
        if before is not None:
            before.truncate()
            histories.insert(0, before)
        cut.history = JointHistory(histories, cut.abstraction.memory)
        self._turn = 0
        if agent.compiled is not None:
            agent.compiled.interrupt_trajectory()

    def collect(self) -> None:
        cut, inner = self._cut, self._agent.compiled
        if inner is None:
            self._survey()
            inner = self._agent.learner_of_cells()
            cut.repartition(inner, episode_open=False)
        elif cut.due:
            cut.repartition(inner, episode_open=False)
        _ide3al.agent_behaviour(inner)
        wanted = batch_of_decisions(inner, cut, self._total, self.left)
        taken = 0
        while taken < wanted and self.left > 0:
            waiting = self._deciding()
            states = np.array([cut.number(s.vector) for s in waiting.values()], dtype=np.int64)
            drawn = _ide3al.agent_draw(inner, states, np.array(list(waiting), dtype=np.int64))
            for stream, action in zip(waiting.values(), drawn.tolist(), strict=True):
                stream.action, stream.left = action, cut.repeat
            rows: list[Row] = []
            starts: list[Start] = []
            self._step(rows, starts, True)
            taken += len(rows)
            table = np.array(rows, dtype=np.int64).reshape(-1, 5)
            _ide3al.agent_record(inner, table, np.array(starts, dtype=np.int64).reshape(-1, 2))

    def close(self) -> None:
        """Makes one history of all that was recorded."""
        cut = self._cut
        assert isinstance(cut.history, JointHistory)
        cut.history = cut.history.merged()

    def _step(self, rows: list[Row], starts: list[Start], learn: bool) -> None:
        """One step everywhere; decisions that came to their end are appended to ``rows``."""
        cut = self._cut
        for stream, mask in zip(self._streams, self._vector.masks, strict=True):
            stream.action = nearest_legal(stream.action, mask)
        moved = self._vector.step([cut.actions.element(s.action) for s in self._streams])
        for k, stream in enumerate(self._streams):
            if moved.stepped[k]:
                if self.left <= 0:
                    # beyond the last step that counts, and so is what begins after it
                    continue
                self._taken(stream, moved, k, rows, learn)
            if moved.begun[k]:
                if self._watch is not None:
                    self._watch.begin(k, moved.observations[k])
                self._begun(stream, k, cut.vector(moved.observations[k]), rows, starts, learn)

    def _taken(self, stream: _Stream, moved: Any, k: int, rows: list[Any], learn: bool) -> None:
        cut = self._cut
        vector = cut.vector(moved.reached[k])
        terminated = bool(moved.terminated[k])
        if self._watch is not None:
            element = cut.actions.element(stream.action)
            self._watch.step(k, element, moved.rewards[k], moved.reached[k], terminated)
        over = terminated or bool(moved.truncated[k])
        end = TERMINATED if terminated else CUT if over else GOES_ON
        stream.history.step(stream.action, vector, end, as_number(moved.rewards[k]))
        cut.steps += 1
        self.left -= 1
        stream.left -= 1
        stream.vector = vector
        if over or stream.left <= 0 or not is_allowed(stream.action, self._vector.masks[k]):
            stream.left = 0
            if learn:
                following = cut.number(vector, terminated)
                rows.append((cut.number(stream.begun), stream.action, following, end, k))
            stream.terminal = terminated

    def _begun(
        self,
        stream: _Stream,
        k: int,
        vector: Floats,
        rows: list[Row],
        starts: list[Start],
        learn: bool,
    ) -> None:
        cut = self._cut
        stream.history.begin(vector)
        if learn:
            start = cut.number(vector)
            starts.append((start, k))
            if stream.terminal:
                # leaving a terminal state is a step of the model, whatever the action
                action = self._turn % cut.actions.size
                self._turn += 1
                rows.append((cut.number(stream.vector, True), action, start, RESTARTED, k))
        stream.terminal, stream.left, stream.vector = False, 0, vector

    def _deciding(self) -> dict[int, _Stream]:
        """Environments whose next action is to be chosen, by number."""
        waiting = {k: stream for k, stream in enumerate(self._streams) if stream.left <= 0}
        for stream in waiting.values():
            stream.begun = stream.vector
        return waiting

    def _survey(self) -> None:
        """Random actions, held for random times: what cells and repeats are first chosen from."""
        rng = np.random.default_rng(self._agent.seed)
        until = max(self.left - survey_steps(self._total), 0)
        while self.left > until:
            for stream in self._deciding().values():
                stream.action = int(rng.integers(self._cut.actions.size))
                stream.left = int(rng.choice(REPEATS))
            self._step([], [], False)
