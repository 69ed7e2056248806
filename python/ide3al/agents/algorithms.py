"""The algorithms that learn to explore environments whose model is unknown."""

from __future__ import annotations

from .._ide3al import Error
from ..encoding.abstraction import Abstraction
from ..types import Formulation, TieBreak
from .base import Agent


class IDE3AL(Agent):
    """After each batch, plans on the estimated model for even visits, and follows the plan.

    Without arguments it is the one recommended for any environment: it knows of the states it has seen and of one
    lump for the rest, plans for episodes as they end or are cut, weighs what it has visited much less, and hands over
    the plan for even visits. ``prior``: a pair tried N times leads to the unknown with probability
    prior / (N + prior). ``unseen``: as how many states each pair never tried counts. ``catch_up``: how much
    uneven visits so far weigh. All actions keep a probability of at least ``xi``, 0.1 / actions unless given.

    ``formulation`` is state-entropy unless given; "model-error" plans for the least error of the estimated model, "coverage"
    for samples of every pair: what the estimate is unsure of is sampled next.

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
        prior: float | None = None,
        unseen: float | None = None,
        catch_up: float | None = None,
        tie_break: TieBreak = "none",
        relative_tolerance: float | None = None,
        batch_size: int | None = None,
        abstraction: Abstraction | None = None,
        paper: bool = False,
        seed: int | None = 0,
    ) -> None:
        if paper:
            for name, given in (("prior", prior), ("unseen", unseen), ("catch_up", catch_up)):
                if given is not None:
                    raise Error(f"{name} = {given}: the paper has none; leave out paper or {name}")
        super().__init__(
            batch_size=batch_size,
            seed=seed,
            abstraction=abstraction,
            formulation=formulation,
            xi=xi,
            zeta=zeta,
            prior=prior,
            unseen=unseen,
            catch_up=catch_up,
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
        seed: int | None = 0,
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
        seed: int | None = 0,
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
        seed: int | None = 0,
    ) -> None:
        super().__init__(batch_size=batch_size, seed=seed, abstraction=abstraction, paper=paper)
