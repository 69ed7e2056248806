"""What cutting a continuous environment into cells costs: what the estimate predicts against what
then happens."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._display import html_table, nats, text_table
from .._entropy import entropy
from .._equality import fields_equal
from .._ide3al import Error
from .._protocol import reset_env, step_env
from ..encoding.adaptive import AdaptivePartition
from ..types import Floats, Integers

#: Most vectors that nearest neighbours are looked for among.
NEIGHBOURS_AMONG = 4000
#: Least distance between neighbours, as a share of what it is between as many vectors spread
# evenly over the unit box.
NEAREST = 0.1


@dataclass(frozen=True, repr=False, eq=False)
class Account:
    """A final policy followed for some steps, beside what the estimate said of it.

    *Proven* is only what is said of the estimate: that in the chain of cells as counted, restarts
    included, no policy with the same least probability of every action visits much more evenly than
    the one learned (the solver's certified gap). That the environment does the same is not proven:
    the next cell depends on where in a cell one is. :attr:`distance` is how wrong the estimate was,
    measured.

    :meth:`ide3al.IDE3AL.account` makes one.
    """

    #: Share of decisions per cell in the estimate, and realised, by number of the cell.
    predicted: Floats
    realised: Floats
    #: What was observed: one row per step, the numbers that cells are cut from, with their names.
    vectors: Floats
    names: list[str]
    low: Floats
    high: Floats
    steps: int
    repeat: int

    def __eq__(self, other: object) -> bool:
        return fields_equal(self, other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def distance(self) -> float:
        """Total variation between the two: the share of time that is elsewhere than predicted."""
        return float(0.5 * np.abs(self.predicted - self.realised).sum())

    @property
    def predicted_entropy(self) -> float:
        """In nats, over the cells."""
        return entropy(self.predicted)

    @property
    def realised_entropy(self) -> float:
        """In nats, over the cells."""
        return entropy(self.realised)

    def binned_entropy(self, bins: int | npt.ArrayLike = 12) -> float:
        """Give the entropy of all steps over a grid of equal bins within the bounds.

        Parameters
        ----------
        bins : int or array_like of int, default 12
            Number of bins along each number.

        Returns
        -------
        float
            Entropy in nats.

        Raises
        ------
        Error
            If a number of bins is below 1.
        """
        counts = np.broadcast_to(np.asarray(bins, dtype=np.int64), (len(self.names),))
        if (counts < 1).any():
            raise Error(f"bins = {bins!r}: at least 1 along each number is needed")
        unit = (self.vectors - self.low) / (self.high - self.low)
        places = np.clip(np.floor(unit * counts), 0, counts - 1).astype(np.int64)
        _, seen = np.unique(places, axis=0, return_counts=True)
        return entropy(seen)

    def neighbour_entropy(self, neighbours: int = 4) -> float:
        """Estimate the differential entropy from distances to the k-th nearest neighbour.

        Numbers are scaled so that their bounds are 0 and 1. The estimate is Kozachenko and
        Leonenko's; it needs no bins, but is rough from correlated steps.

        Parameters
        ----------
        neighbours : int, default 4
            Which neighbour.

        Returns
        -------
        float
            Entropy in nats, at most 0, which is an even spread over all of the box.

        Raises
        ------
        Error
            If there are no more vectors than neighbours.
        """
        unit = (self.vectors - self.low) / (self.high - self.low)
        if len(unit) > NEIGHBOURS_AMONG:
            unit = unit[np.linspace(0, len(unit) - 1, NEIGHBOURS_AMONG).astype(np.int64)]
        return neighbour_entropy(unit, neighbours)

    def _rows(self) -> list[tuple[str, str]]:
        max_entropy = math.log(max(len(self.predicted), 2))
        return [
            ("followed for", f"{self.steps} steps, each action held for {self.repeat}"),
            (
                "predicted, over cells",
                nats(self.predicted_entropy, self.predicted_entropy / max_entropy),
            ),
            (
                "realised, over cells",
                nats(self.realised_entropy, self.realised_entropy / max_entropy),
            ),
            ("elsewhere than predicted", f"{100 * self.distance:.1f} % of the time"),
            (
                "nearest neighbours",
                f"{self.neighbour_entropy():.3f} nats (0 is even over the whole box)",
            ),
            ("proven", "the plan's gap in the estimate; nothing of the environment"),
        ]

    def __repr__(self) -> str:
        return text_table("Predicted and realised", self._rows())

    def _repr_html_(self) -> str:
        return html_table("Predicted and realised", self._rows())


def neighbour_entropy(vectors: Floats, neighbours: int = 4) -> float:
    """Kozachenko and Leonenko's estimate: psi(n) - psi(k) + ln V_d + d / n sum ln r_k, with V_d the
    unit ball's volume and r_k the distance to the k-th neighbour. Vectors that occur more than k
    times, at a wall say, would have distance 0 and entropy minus infinity: no distance counts as
    less than a tenth of that between n vectors spread evenly."""
    n, size = int(vectors.shape[0]), int(vectors.shape[1])
    if not 1 <= neighbours < n:
        raise Error(f"neighbours = {neighbours}: 1 to {n - 1} are possible with {n} vectors")
    squares = (vectors**2).sum(axis=1)
    nearest = NEAREST * float(n) ** (-1.0 / size)
    logs = np.empty(n)
    piece = max(1, 4_000_000 // n)
    for first in range(0, n, piece):
        part = vectors[first : first + piece]
        distances = squares[first : first + piece, None] + squares - 2 * part @ vectors.T
        # the nearest of all is the vector itself
        kth = np.partition(distances, neighbours, axis=1)[:, neighbours]
        logs[first : first + piece] = 0.5 * np.log(np.maximum(kth, nearest**2))
    ball = 0.5 * size * math.log(math.pi) - math.lgamma(0.5 * size + 1)
    mean = float(logs.mean())
    return _digamma(n) - _digamma(neighbours) + ball + size * mean


def _digamma(n: int) -> float:
    """psi at a whole number: the harmonic sum less Euler's constant."""
    return float((1.0 / np.arange(1, n)).sum()) - 0.5772156649015329


def account(
    partition: AdaptivePartition,
    predicted: Floats,
    choose: Callable[[Floats], int],
    env: Any,
    steps: int,
    seed: int,
) -> Account:
    """Follows a policy of cells in an environment and compares its visits with those predicted.

    ``choose`` draws an action for the vector of an observation; each is held as the partition says.
    """
    visits: Integers = np.zeros(len(predicted), dtype=np.int64)
    vectors = np.empty((steps, len(partition.used)))
    element, left = None, 0
    observation, _ = reset_env(env, seed=seed)
    vector = partition.vector(observation)
    for k in range(steps):
        if left == 0:
            visits[partition.find(vector, len(visits))] += 1
            element, left = partition.actions.element(choose(vector)), partition.repeat
        left -= 1
        observation, _, terminated, truncated, _ = step_env(env, copy.copy(element))
        vector = partition.vector(observation)
        vectors[k] = vector[partition.used]
        if terminated:
            visits[partition.find(vector, len(visits), ended=True)] += 1
        if terminated or truncated:
            observation, _ = reset_env(env)
            vector, left = partition.vector(observation), 0
    low, high = partition.box
    return Account(
        predicted=predicted / predicted.sum(),
        realised=visits / visits.sum(),
        vectors=vectors,
        names=partition.names,
        low=low,
        high=high,
        steps=steps,
        repeat=partition.repeat,
    )
