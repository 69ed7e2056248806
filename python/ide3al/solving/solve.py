"""Finding the policy of a known model that explores best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from .. import _ide3al
from .._arguments import checked_names
from .._ide3al import Error
from ..models.mdp import MDP
from ..types import Compare, Formulation, Solver, TieBreak
from .solution import Solution
from .stored import compiled
from .time_dependent import EpisodeSolution
from .utility import Utility


def settings(
    solver: str,
    tie_break: str,
    tolerance: float,
    relative_tolerance: float,
    max_iterations: int,
    time_limit: float | None,
) -> dict[str, Any]:
    """How to solve, as the binding takes it."""
    return {
        "solver": solver,
        "tie_break": tie_break,
        "tolerance": tolerance,
        "relative_tolerance": relative_tolerance,
        "max_iterations": max_iterations,
        "time_limit": time_limit,
    }


def _numbers(values: ArrayLike) -> list[float]:
    return [float(x) for x in np.asarray(values, dtype=float).ravel()]


def _restart(restart: float | None, discount: float | None) -> float:
    if restart is not None and discount is not None:
        raise Error("restart and discount say the same (discount = 1 - restart): give one of them")
    if discount is not None:
        return 1.0 - discount
    return 0.0 if restart is None else restart


def reach_asked(
    within: float | None,
    origin: str | None,
    evenness: float | None,
    target: ArrayLike | None = None,
    proportions: ArrayLike | None = None,
) -> dict[str, Any]:
    """What is asked of reach, as the binding takes it, without restarts."""
    return {
        "within": within,
        "origin": origin,
        "evenness": 0.0 if evenness is None else float(evenness),
        "target": None if target is None else _numbers(target),
        "proportions": None if proportions is None else _numbers(proportions),
        "restart": 0.0,
    }


def refuse(formulation: str, only_reach: dict[str, Any]) -> None:
    """Refuse what only reach takes."""
    for name, value in only_reach.items():
        if value is not None:
            raise Error(f"{name} = {value}: {formulation} takes none; choose 'reach'")


@overload
def solve(
    mdp: MDP,
    formulation: Literal["episode"],
    *,
    steps: int,
    xi: float | None = None,
    solver: Solver = "auto",
    tolerance: float = 5e-8,
    relative_tolerance: float = 0.0,
    max_iterations: int = 1_000_000,
    time_limit: float | None = None,
) -> EpisodeSolution: ...


@overload
def solve(
    mdp: MDP,
    formulation: Literal["reach"],
    *,
    within: float | None = None,
    origin: Literal["start", "anywhere"] | None = None,
    evenness: float = 0.0,
    proportions: ArrayLike | None = None,
    xi: float | None = None,
    target: ArrayLike | None = None,
    restart: float | None = None,
    discount: float | None = None,
    tolerance: float = 5e-8,
    relative_tolerance: float = 0.0,
    max_iterations: int = 1_000_000,
    time_limit: float | None = None,
    warm: Solution | None = None,
    compare: Compare = "auto",
) -> Solution: ...


@overload
def solve(
    mdp: MDP,
    formulation: Formulation = "frobenius",
    *,
    xi: float | None = None,
    zeta: float | None = None,
    horizon: int | None = None,
    target: ArrayLike | None = None,
    wanted: ArrayLike | None = None,
    restart: float | None = None,
    discount: float | None = None,
    limits: Sequence[tuple[ArrayLike, float]] = (),
    utility: Utility | None = None,
    solver: Solver = "auto",
    tie_break: TieBreak = "uniform",
    tolerance: float = 5e-8,
    relative_tolerance: float = 0.0,
    max_iterations: int = 1_000_000,
    time_limit: float | None = None,
    warm: Solution | None = None,
    compare: Compare = "auto",
) -> Solution: ...


@checked_names()
def solve(
    mdp: MDP,
    formulation: Formulation | Literal["episode"] = "frobenius",
    *,
    steps: int | None = None,
    within: float | None = None,
    origin: Literal["start", "anywhere"] | None = None,
    evenness: float | None = None,
    proportions: ArrayLike | None = None,
    xi: float | None = None,
    zeta: float | None = None,
    horizon: int | None = None,
    target: ArrayLike | None = None,
    wanted: ArrayLike | None = None,
    restart: float | None = None,
    discount: float | None = None,
    limits: Sequence[tuple[ArrayLike, float]] = (),
    utility: Utility | None = None,
    solver: Solver = "auto",
    tie_break: TieBreak = "uniform",
    tolerance: float = 5e-8,
    relative_tolerance: float = 0.0,
    max_iterations: int = 1_000_000,
    time_limit: float | None = None,
    warm: Solution | None = None,
    compare: Compare = "auto",
) -> Solution | EpisodeSolution:
    """Find the policy of a known model that explores best.

    Parameters
    ----------
    mdp : MDP
        The model.
    formulation : str, default "frobenius"
        What is optimised: ``"frobenius"``, ``"infinity"``, ``"column-sum"`` (the distance to a
        doubly stochastic chain), ``"dual"``, ``"state-entropy"`` (even visits), ``"target"``,
        ``"coverage"``, ``"model-error"`` (what to visit), ``"reach"`` (everything seen soon), or
        ``"episode"`` (even visits within an episode).
    steps : int, optional
        Number of steps of the episode, the start included; for ``"episode"`` only.
    within : float, optional
        Mean time within which ``"reach"`` is to see the states, by default four times as many steps
        as states can be reached; ``math.inf`` for the least mean time to a state. The problem is
        not concave: the status is ``"local_optimum"`` unless the bound is met.
    origin : {"start", "anywhere"}, optional
        Where ``"reach"`` begins: at the start unless given, with ``within=math.inf`` anywhere.
    evenness : float, default 0
        Least entropy of the steady state of ``"reach"``, as a share of the largest.
    proportions : array_like of shape (S,), optional
        What the steady state of ``"reach"`` must be. With ``within=math.inf`` it asks for the least
        Kemeny constant, weighted by travel times.
    xi : float, optional
        Least probability of every action. Unless given it is the paper's for its domains; for other
        models 0.1, but at most half of one over the number of actions. Note that :func:`frontier`
        takes 0.
    zeta : float, optional
        Largest entry of the doubly stochastic target, for ``"frobenius"`` and ``"infinity"``.
        Unless given it is the paper's for its domains, 0.7 for other models. Note that
        :func:`frontier` takes 1.
    horizon : int, optional
        Choose the zeta whose policy visits states most evenly within that many steps.
    target : array_like of shape (S,), optional
        Proportions in which to visit states, for ``"target"``; weights of the states, for
        ``"reach"``.
    wanted : array_like of shape (S, A), optional
        Proportions in which to sample pairs, for ``"coverage"``.
    restart, discount : float, optional
        Probability of starting over at every step; the discount is one less it. Give one of them,
        for ``"dual"``, ``"state-entropy"``, what to visit and ``"reach"``.
    limits : sequence of (array_like, float), optional
        Costs (S numbers, or S x A) and the largest long-run average that each may have.
    utility : Utility, optional
        Takes the place of the formulation: any concave function of what is visited. It is solved by
        Frank-Wolfe steps and certified by their gap, which closes fast where the function is
        smooth.
    solver : {"auto", "conic"}, default "auto"
        The method chosen by formulation and size, or the general conic solver.
    tie_break : {"uniform", "none"}, default "uniform"
        Which of several optimal policies: the nearest to uniform, or whichever is found first.
    tolerance, relative_tolerance : float, optional
        The certified gap at which the solver stops, absolute and as a share of the objective.
    max_iterations : int, default 1000000
        Number of iterations after which the solver stops.
    time_limit : float, optional
        Seconds after which the solver stops.
    warm : Solution, optional
        A solution of a similar problem to begin from.
    compare : {"auto", "always", "never"}, default "auto"
        Whether :attr:`Solution.metrics` includes the share of the largest entropy possible, which
        costs one more solve.

    Returns
    -------
    Solution or EpisodeSolution
        The policy with its certificate: objective, bound, gap and status. A limit that was reached
        is a status, not an error.

    Raises
    ------
    Error
        If an argument is out of range, or is none of those that the formulation takes.

    Examples
    --------
    >>> import ide3al
    >>> solution = ide3al.solve(ide3al.MDP.domain("double-chain"), "state-entropy")
    >>> solution.status
    'optimal'
    >>> solution.policy.shape
    (20, 2)
    """
    how = settings(solver, tie_break, tolerance, relative_tolerance, max_iterations, time_limit)
    others: dict[str, Any]
    others = {"zeta": zeta, "horizon": horizon, "warm": warm, "target": target, "wanted": wanted}
    if formulation == "episode":
        others |= {"restart": restart, "discount": discount, "limits": limits or None}
        others |= {"utility": utility}
        others |= {"within": within, "origin": origin, "evenness": evenness}
        others |= {"proportions": proportions}
        return _episode(mdp, steps, xi, how, **others)
    if steps is not None:
        raise Error(f"steps = {steps}: {formulation} takes none; choose 'episode', or give horizon")
    before = None if warm is None else compiled(warm.native)
    if formulation == "reach" and utility is None:
        refused = {"zeta": zeta, "horizon": horizon, "wanted": wanted, "limits": limits or None}
        asked = reach_asked(within, origin, evenness, target, proportions)
        asked["restart"] = _restart(restart, discount)
        return Solution(mdp, _reach(mdp, xi, how, before, asked, refused), compare)
    refuse(
        formulation,
        {"within": within, "origin": origin, "evenness": evenness, "proportions": proportions},
    )
    visit_spec = {
        "target": None if target is None else _numbers(target),
        "wanted": None if wanted is None else _numbers(wanted),
        "restart": _restart(restart, discount),
        "limits": [(_numbers(cost), float(budget)) for cost, budget in limits],
    }
    if utility is not None:
        return Solution(mdp, _own(mdp, utility, formulation, xi, how, visit_spec, others), compare)
    solved = _ide3al.solve(mdp.native, formulation, xi, zeta, horizon, how, before, visit_spec)
    return Solution(mdp, solved, compare)


def _own(
    mdp: MDP,
    utility: Utility,
    formulation: str,
    xi: float | None,
    how: dict[str, Any],
    visit_spec: dict[str, Any],
    others: dict[str, Any],
) -> _ide3al.Solved:
    if formulation != "frobenius":
        raise Error(f"formulation = {formulation!r}: the utility takes its place; give one of them")
    if how["solver"] != "auto":
        raise Error(
            "solver: a utility of one's own is solved by Frank-Wolfe only; leave solver out"
        )
    for name, value in others.items():
        if value is not None:
            raise Error(f"{name}: a utility of one's own takes none; leave it out")
    for name in ("value", "gradient"):
        if not callable(getattr(utility, name, None)):
            raise Error(
                f"utility: needs the methods value(omega) and gradient(omega), lacks {name}"
            )
    return _ide3al.solve_utility(mdp.native, utility, xi, how, visit_spec)


def _reach(
    mdp: MDP,
    xi: float | None,
    how: dict[str, Any],
    before: _ide3al.Solved | None,
    asked: dict[str, Any],
    refused: dict[str, Any],
) -> _ide3al.Solved:
    for name, value in refused.items():
        if value is not None:
            raise Error(f"{name}: reach takes none; leave it out")
    return _ide3al.solve_reach(mdp.native, xi, how, before, asked)


def _episode(
    mdp: MDP, steps: int | None, xi: float | None, how: dict[str, Any], **others: Any
) -> EpisodeSolution:
    if steps is None:
        raise Error("episode: give the number of steps (steps=T)")
    for name, value in others.items():
        if value is not None:
            raise Error(f"{name}: episode takes none; leave it out")
    return EpisodeSolution(mdp, _ide3al.solve_episode(mdp.native, steps, xi, how))
