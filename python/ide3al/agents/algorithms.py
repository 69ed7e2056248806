"""The algorithms that learn to explore environments whose model is unknown."""

from __future__ import annotations

import warnings
from typing import Any

from .._ide3al import Error
from ..encoding.abstraction import Abstraction
from ..types import Formulation, TieBreak
from .base import Agent

#: Parameters of the explorer before this one.
_REMOVED = ("prior", "unseen", "catch_up")


class IDE3AL(Agent):
    """Tries what was never tried, soonest first, then evens out all visits; hands over the plan for even visits.

    Without arguments it is the one recommended for any environment. It chooses each action with all that was seen until then:
    the nearest pair of a state and an action that was never tried is chased, and where none is near the gradient of the entropy
    of all visits is followed. What it hands over, and :meth:`predict` follows, is the policy with the most even long run in the
    estimated model, episodes that end or are cut included. All actions keep a probability of at least ``xi`` in it,
    0.1 / actions unless given.

    ``formulation`` is state-entropy unless given; with "model-error", "coverage" and "dual" the gradient is that of the error of the
    estimated model, of as many samples of every pair, and of the entropy of pairs.

    ``paper=True`` is the paper's Algorithm 1 with its parameters: the Frobenius formulation over all declared
    states, uniform rows for unvisited pairs, one continuing trajectory.

    ``relative_tolerance`` is the gap at which each solve ends, as a share of the objective: an estimate from few steps deserves no
    more digits.
    """

    _algorithm = "ideal"

    def __init__(
        self,
        *,
        formulation: Formulation | None = None,
        xi: float | None = None,
        zeta: float | None = None,
        tie_break: TieBreak = "none",
        relative_tolerance: float | None = None,
        batch_size: int | None = None,
        abstraction: Abstraction | None = None,
        paper: bool = False,
        seed: int = 0,
        **removed: Any,
    ) -> None:
        for name in removed:
            if name not in _REMOVED:
                raise TypeError(f"IDE3AL() got an unexpected keyword argument {name!r}")
            warnings.warn(
                f"{name}: has no effect any more and will not be accepted by the next version",
                DeprecationWarning,
                stacklevel=2,
            )
        super().__init__(
            batch_size=batch_size,
            seed=seed,
            abstraction=abstraction,
            formulation=formulation,
            xi=xi,
            zeta=zeta,
            tie_break=tie_break,
            relative_tolerance=relative_tolerance,
            paper=paper,
        )


class MaxEnt(Agent):
    """A mixture of policies that climbs the entropy of the state distribution
    (Hazan et al. 2019). What it predicts with is the one policy with the visits of the mixture in the estimated model; with
    ``paper=True`` a member drawn once."""

    _algorithm = "max-ent"

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        eta: float | None = None,
        discount: float | None = None,
        batch_size: int | None = None,
        abstraction: Abstraction | None = None,
        paper: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(
            batch_size=batch_size,
            seed=seed,
            abstraction=abstraction,
            epsilon=epsilon,
            eta=eta,
            discount=discount,
            paper=paper,
        )


class CountBased(Agent):
    """Follows rewards for rarely visited states."""

    _algorithm = "count-based"

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        discount: float | None = None,
        batch_size: int | None = None,
        abstraction: Abstraction | None = None,
        paper: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(
            batch_size=batch_size,
            seed=seed,
            abstraction=abstraction,
            epsilon=epsilon,
            discount=discount,
            paper=paper,
        )


class Random(Agent):
    """Every action equally likely, for ever."""

    _algorithm = "random"

    def __init__(
        self,
        *,
        batch_size: int | None = None,
        abstraction: Abstraction | None = None,
        paper: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(batch_size=batch_size, seed=seed, abstraction=abstraction, paper=paper)


class RMax(Agent):
    """R-MAX without rewards (Brafman and Tennenholtz 2002), the classic rival: pairs tried fewer than ``known`` times are worth
    most, the others what the estimated model says. With ``levels`` the number grows by one where no such pair can be reached
    any more. It hands over the policy of its own visits."""

    _algorithm = "rmax-levels"

    def __init__(
        self,
        *,
        known: int | None = None,
        levels: bool = True,
        batch_size: int | None = None,
        abstraction: Abstraction | None = None,
        seed: int = 0,
    ) -> None:
        if known is not None and known < 1:
            raise Error(f"known = {known}: at least 1 is needed")
        super().__init__(batch_size=batch_size, seed=seed, abstraction=abstraction, known=known)
        if not levels:
            self._algorithm = "rmax"
