"""The loop of learning in a continuous environment: actions are held, steps recorded, cells cut
anew in between."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _ide3al
from ..datasets.tally import as_number
from ..encoding.abstraction import ActionGrid
from ..encoding.adaptive import AdaptivePartition
from ..encoding.discrete import is_continuous
from ..encoding.features import Extractor
from ..encoding.history import TransitionHistory
from ..encoding.holding import REPEATS
from ..encoding.masks import Mask, MaskReader, nearest_legal
from ..types import Floats

#: Share of the steps, and fewest and most of them, that are taken at random before cells are cut.
SURVEY, FEWEST, MOST = 0.02, 500, 2000


def needs_cells(env: Any) -> bool:
    """Whether observations or actions are real numbers."""
    observations, actions = spaces_of(env)
    return is_continuous(observations) or type(actions).__name__ == "Box"


def spaces_of(env: Any) -> tuple[Any, Any]:
    """Spaces of observations and actions: those of one environment, where it is many at once."""
    return (
        getattr(env, "single_observation_space", env.observation_space),
        getattr(env, "single_action_space", env.action_space),
    )


class Loop:
    """Steps of an environment as a learner of finite ones sees them: ``reset`` and ``step`` between
    cells, with an action held for several steps; ``left`` is how many steps may still be taken."""

    def __init__(self, cut: AdaptivePartition, env: Any, left: int, seed: int | None) -> None:
        self.cut, self.env, self.left = cut, env, left
        self._seed = seed
        self._reader = MaskReader(env, env.action_space, cut.actions.size)
        self._mask: Mask | None = None

    def begin(self) -> Floats:
        options = {} if self._seed is None else {"seed": self._seed}
        self._seed = None
        observation, info = self.env.reset(**options)
        self._mask = self._masked(observation, info)
        vector = self.cut.vector(observation)
        self.cut.begin(vector)
        return vector

    def hold(self, action: int, times: int) -> tuple[Floats, int]:
        """Takes an action some times, fewer where the episode is over: where that led, and how it
        ended."""
        for k in range(max(1, min(times, self.left))):
            if self._mask is not None and not self._mask[action]:
                if k > 0:
                    break
                action = nearest_legal(action, self._mask)
            element = self.cut.actions.element(action)
            observation, reward, terminated, truncated, info = self.env.step(element)
            end = 1 if terminated else 2 if truncated else 0
            self._mask = self._masked(observation, info)
            vector = self.cut.vector(observation)
            self.cut.step(action, vector, end, as_number(reward))
            self.left -= 1
            if end:
                break
        return vector, end

    def _masked(self, observation: Any, info: Any) -> Mask | None:
        # real-valued actions have no mask by number
        if isinstance(self.cut.actions, ActionGrid):
            return None
        return self._reader.read(observation, info)

    def survey(self, steps: int, seed: int) -> None:
        """Random actions, held for random times: what cells and repeats are first chosen from."""
        rng = np.random.default_rng(seed)
        until, end = max(self.left - steps, 0), 2
        while self.left > until:
            if end:
                self.begin()
            times = int(rng.choice(REPEATS))
            _, end = self.hold(
                int(rng.integers(self.cut.actions.size)), min(times, self.left - until)
            )
        if end:
            self.begin()

    def reset(self) -> int:
        return self.cut.number(self.begin())

    def step(self, action: int) -> tuple[int, int]:
        vector, end = self.hold(action, self.cut.repeat)
        return self.cut.number(vector, end == 1), end


def explore(
    make: Callable[[], _ide3al.Agent],
    agent: _ide3al.Agent | None,
    cut: AdaptivePartition,
    env: Any,
    total: int,
    seed: int,
    after: Callable[[int, _ide3al.Agent], bool],
) -> None:
    """Takes ``total`` steps and learns from them. ``make`` makes the learner when there are cells;
    ``after(steps done, learner)`` is called after each lesson and says whether to go on."""
    loop = Loop(cut, env, total, seed if cut.steps == 0 else None)
    episode_open = False
    if agent is None:
        loop.survey(min(max(FEWEST, min(MOST, int(SURVEY * total))), math.ceil(total / 2)), seed)
        agent = make()
        cut.repartition(agent, episode_open=True)
        episode_open = True
    else:
        agent.interrupt_trajectory()
    while loop.left > 0:
        if episode_open and cut.due:
            cut.repartition(agent, episode_open)
        most = math.ceil(loop.left / cut.repeat)
        decisions = min(agent.batch_size(math.ceil(total / cut.repeat)), most)
        agent.iterate(loop.reset, loop.step, decisions, decisions == most)
        episode_open = True
        if not after(total - loop.left, agent):
            break


def restore(
    document: dict[str, Any], log: bytes, env: Any, features: Extractor | None
) -> AdaptivePartition:
    """What :meth:`AdaptivePartition.save` and :func:`save_history` gave, for an
    environment like the one it was made in."""
    cut = AdaptivePartition.load(document, *spaces_of(env), features)
    with np.load(io.BytesIO(log), allow_pickle=False) as arrays:
        vectors, actions = arrays["vectors"], arrays["actions"]
        rewards = arrays["rewards"] if "rewards" in arrays.files else None
    cut.history = TransitionHistory.restored(
        vectors, actions, cut.abstraction.memory, bool(document["full"]), rewards
    )
    return cut
