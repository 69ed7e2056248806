"""The algorithms that learn to explore environments whose model is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._arguments import checked_names
from .._deprecated import warn
from ..encoding.abstraction import Abstraction
from ..types import Formulation, TieBreak
from .base import Agent
from .visit_spec import budgets_of, restart_of


class IDE3AL(Agent):
    """Try what was never tried, soonest first, then even out all visits.

    Without arguments it is the one recommended for any environment. It chooses each action with all
    that was seen until then: it goes to the nearest pair of a state and an action that was never
    tried, and where none is near it follows the gradient of the entropy of all visits. What it
    hands over, and :meth:`predict` follows, is the policy with the most even long run in the
    estimated model, episodes that end or are truncated included.

    Parameters
    ----------
    formulation : str, optional
        What the policy handed over is optimal for: ``"state-entropy"`` unless given;
        ``"model-error"``, ``"coverage"`` and ``"dual"`` have gradients of their own, of the error
        of the estimated model, of samples of every pair and of the entropy of pairs.
    xi : float, optional
        Least probability of every action in the policy handed over; 0.1 over the number of actions
        unless given.
    zeta : float, optional
        Largest entry of the doubly stochastic target, where the formulation has one.
    tie_break : {"uniform", "none"}, default "none"
        Which of several optimal policies, as in :func:`solve`.
    relative_tolerance : float, optional
        The gap at which each solve ends, as a share of the objective: the error of an estimate from
        few steps is larger.
    target : callable, list or array_like of shape (S,), optional
        Proportions in which to visit states, up to a factor, for the formulation ``"target"``: a
        function of an observation, a list of observations (1 for each of them, else 0), or numbers
        where the states are declared.
    restart, discount : float, optional
        Probability of starting over at every step that the policy handed over is planned for; the
        discount is one less it. Give one of them.
    limits : sequence of (cost, float), optional
        Costs and the average per step that each may have at most, while exploring and under the
        policy handed over. A cost is given as a target is, or as an array (S, A). Where an average
        is above its budget, the policy that costs least in the estimated model is followed until it
        is not.
    batch_size : int, optional
        Steps between two calls of the callback and, with ``paper=True``, between two policies.
        Unless given a tenth of the steps so far, with ``paper=True`` the paper's number.
    abstraction : Abstraction, optional
        How a continuous environment is cut into cells and a few actions.
    paper : bool, default False
        Whether to follow the paper's Algorithm 1 with its parameters: the Frobenius formulation
        over all declared states, uniform rows for pairs never visited, one continuing trajectory.
    seed : int, default 0
        Seed of the environment and of all draws; equal seeds give equal results.

    Raises
    ------
    Error
        If an argument is out of range, or the paper has none of that name.

    Examples
    --------
    >>> import gymnasium, ide3al
    >>> agent = ide3al.IDE3AL(seed=1).fit(gymnasium.make("FrozenLake-v1"), 500)
    >>> agent.policy.shape
    (16, 4)"""

    _algorithm = "ideal"
    #: ``restart`` says it.
    discount: None = None

    @checked_names(prior="", unseen="", catch_up="")
    def __init__(
        self,
        *,
        formulation: Formulation | None = None,
        xi: float | None = None,
        zeta: float | None = None,
        tie_break: TieBreak = "none",
        relative_tolerance: float | None = None,
        target: Any = None,
        restart: float | None = None,
        discount: float | None = None,
        limits: Sequence[tuple[Any, float]] = (),
        batch_size: int | None = None,
        abstraction: Abstraction | None = None,
        paper: bool = False,
        seed: int | None = 0,
    ) -> None:
        self.target, self.limits = target, tuple(limits)
        super().__init__(
            batch_size=batch_size,
            seed=seed,
            abstraction=abstraction,
            weighted=None if target is None else True,
            budgets=budgets_of(self.limits) or None,
            restart=restart_of(restart, discount),
            formulation=formulation,
            xi=xi,
            zeta=zeta,
            tie_break=tie_break,
            relative_tolerance=relative_tolerance,
            paper=paper,
        )


class MaxEnt(Agent):
    """Climb the entropy of the state distribution with a mixture of policies (Hazan et al. 2019).

    It predicts with the one policy that has the visits of the mixture in the estimated model; with
    ``paper=True`` with a member drawn once.

    Parameters
    ----------
    epsilon : float, optional
        Smoothing of the logarithm in the rewards; the paper's unless given.
    eta : float, optional
        Weight of the newest member of the mixture; the paper's unless given.
    discount : float, optional
        Discount of the rewards.
    batch_size : int, optional
        Steps between two updates of the policy; a tenth of the steps so far unless given.
    abstraction : Abstraction, optional
        How a continuous environment is cut into cells and a few actions.
    paper : bool, default False
        Whether to follow the paper to the letter: one continuing trajectory, states as declared.
    seed : int, default 0
        Seed of the environment and of all draws; equal seeds give equal results.

    Raises
    ------
    Error
        If an argument is out of range.

    Examples
    --------
    >>> import gymnasium, ide3al
    >>> agent = ide3al.MaxEnt(seed=1).fit(gymnasium.make("FrozenLake-v1"), 500)
    >>> agent.num_timesteps
    500
    """

    _algorithm = "max-ent"

    @checked_names()
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
    """Follow rewards for rarely visited states.

    Parameters
    ----------
    epsilon : float, optional
        Probability of an action at random; the paper's unless given.
    discount : float, optional
        Discount of the rewards.
    batch_size : int, optional
        Steps between two updates of the policy; a tenth of the steps so far unless given.
    abstraction : Abstraction, optional
        How a continuous environment is cut into cells and a few actions.
    paper : bool, default False
        Whether to follow the paper to the letter: one continuing trajectory, states as declared.
    seed : int, default 0
        Seed of the environment and of all draws; equal seeds give equal results.

    Raises
    ------
    Error
        If an argument is out of range.

    Examples
    --------
    >>> import gymnasium, ide3al
    >>> agent = ide3al.CountBased(seed=1).fit(gymnasium.make("FrozenLake-v1"), 500)
    >>> agent.num_timesteps
    500
    """

    _algorithm = "count-based"

    @checked_names()
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
    """Take every action equally often, for ever.

    Parameters
    ----------
    batch_size : int, optional
        Steps between two calls of the callback; a tenth of the steps so far unless given.
    abstraction : Abstraction, optional
        How a continuous environment is cut into cells and a few actions.
    paper : bool, optional
        Does nothing; refused from the next version on.
    seed : int, default 0
        Seed of the environment and of all draws; equal seeds give equal results.

    Raises
    ------
    Error
        If an argument is out of range.

    Examples
    --------
    >>> import gymnasium, ide3al
    >>> agent = ide3al.Random(seed=1).fit(gymnasium.make("FrozenLake-v1"), 500)
    >>> agent.num_timesteps
    500
    """

    _algorithm = "random"
    #: An old argument without effect.
    paper: None = None

    @checked_names()
    def __init__(
        self,
        *,
        batch_size: int | None = None,
        abstraction: Abstraction | None = None,
        paper: bool | None = None,
        seed: int | None = 0,
    ) -> None:
        if paper is not None:
            warn("Random: paper does nothing")
        super().__init__(batch_size=batch_size, seed=seed, abstraction=abstraction, paper=False)
