"""``python -m ide3al plan DATASET``: a plan from data that were collected."""

from __future__ import annotations

import argparse
import ast
from typing import Any

import numpy as np

from .._ide3al import Error
from ..datasets.dataset import Data
from ..datasets.reading import read
from ..encoding.discrete import DiscoveredStates, SpaceIndex
from .decoder import Decoder
from .learned import LearnedPlan, plan_learned


class _Numbers(Decoder):
    """States and actions that have numbers only."""

    def state(self, observation: Any) -> int | None:
        if not isinstance(observation, int | np.integer):
            raise Error(
                f"{observation!r} is no state of these data; their numbers are 0 to "
                f"{self.n_states - 1}"
            )
        return int(observation) if 0 <= observation < self.n_states else None

    def observation(self, state: int) -> Any:
        return state

    def action(self, number: int) -> Any:
        return number


def plan_data(data: Data, reward: Any = None, goal: Any = None, **options: Any) -> LearnedPlan:
    """A plan from data, as :meth:`ide3al.IDE3AL.plan` makes it from an agent's own steps."""
    if len(data) == 0:
        raise Error("these data have no steps to plan from")
    space = None if data.spaces is None else data.spaces[0]
    actions = None if data.spaces is None else SpaceIndex(data.spaces[1])
    if data.keys is not None:
        found = DiscoveredStates(space)
        found.restart(data.keys)
        kind = Decoder if data.spaces is not None else _Keys
        decoder: Decoder = kind(found, actions, None, data.n_states)
    elif data.spaces is not None:
        decoder = Decoder(SpaceIndex(space), actions, None, data.n_states)
    else:
        decoder = _Numbers(None, None, None, data.n_states)
    return plan_learned(data.tally(), decoder, data.n_actions, reward, goal, **options)


class _Keys(_Numbers):
    """States that are known by what tells them from others."""

    def state(self, observation: Any) -> int | None:
        assert isinstance(self.encoder, DiscoveredStates)
        return self.encoder.find(observation)

    def observation(self, state: int) -> Any:
        assert isinstance(self.encoder, DiscoveredStates)
        return self.encoder.keys[state]


def add_parser(commands: Any) -> None:
    """Adds the command to those of the program."""
    parser = commands.add_parser("plan", help="the best policy for a reward or goal, from data")
    parser.add_argument(
        "dataset",
        metavar="ID_OR_FILE",
        help="id of a Minari data set, .npz, .parquet, or the folder of a collection",
    )
    parser.add_argument(
        "--goal", action="append", metavar="OBSERVATION",
        help="reach this observation, written as in Python (may be given again); without it the "
        "rewards of the data count",
    )  # fmt: skip
    parser.add_argument(
        "--avoid", action="append", metavar="OBSERVATION", help="never enter this on the way"
    )
    parser.add_argument("--discount", type=float, metavar="G", help="0.99 unless given")
    parser.add_argument("--confidence", type=float, default=0.95, metavar="P")
    parser.add_argument(
        "--reward-range", nargs=2, type=float, metavar=("LEAST", "MOST"),
        help="rewards that there may be, which the interval of the value needs",
    )  # fmt: skip
    parser.add_argument("--out", metavar="FILE", help="write the plan, for LearnedPlan.load")


def run(given: argparse.Namespace) -> str:
    """Plans, and says what came of it."""
    data = read(given.dataset)
    if given.goal is None and not data.rewards.any():
        raise Error(f"{given.dataset}: these data have no rewards; give --goal OBSERVATION")
    goal = None if given.goal is None else [_literal(text) for text in given.goal]
    avoid = None if given.avoid is None else [_literal(text) for text in given.avoid]
    plan = plan_data(
        data, goal=goal, avoid=avoid, discount=given.discount, confidence=given.confidence,
        reward_range=given.reward_range,
    )  # fmt: skip
    if given.out is not None:
        plan.save(given.out)
    return repr(plan)


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text
