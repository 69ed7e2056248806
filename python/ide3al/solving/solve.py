"""Solving."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal, Protocol, overload

import numpy as np
from numpy.typing import ArrayLike

from .. import _ide3al
from .._ide3al import Error
from ..models.mdp import MDP
from ..models.policies import shaped
from ..types import Compare, Floats, Formulation, Solver, TieBreak
from .analysis import Analysis
from .certified import Certified
from .time_dependent import EpisodeSolution


class Utility(Protocol):
    """A concave function of what is visited, for :func:`solve`. ``omega`` has one number per state
    and action (0 where a state lacks the action) and sums to 1."""

    def value(self, omega: Floats) -> float: ...

    def gradient(self, omega: Floats) -> ArrayLike:
        """Of the same shape as ``omega``."""
        ...


class Solution(Certified):
    """A policy with the proof of how good it is.

    Judging costs more than solving on small models, so :attr:`metrics` and :attr:`chain` are
    computed when first asked for.
    """

    native: _ide3al.Solved

    def __init__(self, mdp: MDP, solved: _ide3al.Solved, compare: str) -> None:
        self.mdp = mdp
        self.native = solved
        self._compare = compare

    @cached_property
    def policy(self) -> Floats | list[Floats]:
        """Probabilities (S, A); one row per state where states have different actions."""
        return shaped(self.mdp.native, self.native.probabilities())

    @property
    def formulation(self) -> str:
        return self.native.formulation

    @property
    def zeta(self) -> float | None:
        return self.native.zeta

    @property
    def limits(self) -> list[dict[str, float]]:
        """Value, budget and price of each limit: the price is what the optimum gains per unit of
        budget, zero where the limit is slack."""
        names = ("value", "budget", "price")
        return [dict(zip(names, limit)) for limit in self.native.limits]

    def steps_for(self, samples: float) -> float:
        """Coverage only: the steps in which ``samples`` times what is wanted of every pair is had
        in the long run; no policy needs fewer than ``samples / bound``."""
        if self.formulation != "coverage":
            raise Error("steps_for: only a solution of 'coverage' promises samples")
        return samples / self.objective if self.objective > 0 else math.inf

    @property
    def tried(self) -> list[tuple[float, float]]:
        """With a horizon: every zeta tried and its entropy within the horizon, in nats."""
        return self.native.tried

    @cached_property
    def _report(self) -> dict[str, Any]:
        return self.native.report(self._compare)

    def _details(self) -> dict[str, Any]:
        return self._report

    @property
    def metrics(self) -> dict[str, Any]:
        """Everything that ``ide3al solve --json`` prints, less policy and stationary
        distribution: entropies, bounds, the share of the largest entropy possible."""
        return {name: value for name, value in self._report.items() if name != "stationary"}

    @cached_property
    def chain(self) -> Analysis:
        """The long run under the policy."""
        return Analysis(self._report, self.mdp)

    def _rows(self) -> list[tuple[str, str]]:
        maximised = self.native.maximises
        zeta = "" if self.zeta is None else f", zeta {self.zeta:.4g}"
        what = {
            "target": "nats of divergence, minimised",
            "coverage": "least share of what is wanted, maximised",
            "model-error": "error, minimised",
            "own": "utility, maximised",
        }.get(self.formulation, "nats, maximised" if maximised else "distance, minimised")
        proven = f"no policy has {'more' if maximised else 'less'}"
        rows = self._certificate_rows(f"{self.formulation}, xi {self.xi:.4g}{zeta}", what, proven)
        rows += self.chain._rows()
        share = self._report["optimal_entropy_share"]
        if share is not None:
            rows.append(("of what any policy reaches", f"{100 * share:.2f} %"))
        return rows

    def _repr_html_(self) -> str:
        return super()._repr_html_() + self.chain.heat_map_html()


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


def solve(
    mdp: MDP,
    formulation: Formulation | Literal["episode"] = "frobenius",
    *,
    steps: int | None = None,
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
    """Finds the best exploring policy of a known model.

    ``formulation`` is frobenius, infinity, column-sum, dual, state-entropy, or one of what to
    visit: target (states in the proportions ``target``), coverage (samples of every pair in
    proportion to ``wanted``, in the fewest steps), model-error (the least error of the estimated
    model). ``restart`` is the probability of starting over at every step (``discount`` is one less
    it), ``limits`` are pairs of a cost (S numbers, or S x A) and the most that its long-run average
    may be; dual, state-entropy and the last three take them. ``xi`` is the
    least probability of every action; ``zeta`` the largest entry of the doubly stochastic
    target (frobenius and infinity only). Left out, they are the paper's for its domains; for
    other models xi is 0.1, but at most half of 1/actions, and zeta 0.7. ``horizon`` chooses
    the zeta whose policy visits states most evenly within that many steps. ``compare``
    (auto, always, never): whether :attr:`Solution.metrics` includes the share of the largest
    entropy possible, which costs one more solve; with a horizon also the share of the best
    within it.

    ``utility`` takes the place of the formulation: any concave function of what is visited, an
    object with ``value(omega)`` and ``gradient(omega)`` (see :class:`Utility`), with ``xi``,
    ``restart`` and ``limits`` as above. It is solved by Frank-Wolfe steps and certified by their gap, which
    closes fast where the function is smooth; one that proves not to be concave is an error.

    ``"episode"`` with ``steps=T`` finds the policy, one table per step, that visits states most
    evenly within T steps from the start (an :class:`EpisodeSolution`).
    """
    how = settings(solver, tie_break, tolerance, relative_tolerance, max_iterations, time_limit)
    others: dict[str, Any]
    others = {"zeta": zeta, "horizon": horizon, "warm": warm, "target": target, "wanted": wanted}
    if formulation == "episode":
        others |= {"restart": restart, "discount": discount, "limits": limits or None}
        others |= {"utility": utility}
        return _episode(mdp, steps, xi, how, **others)
    if steps is not None:
        raise Error(f"steps = {steps}: {formulation} takes none; choose 'episode', or give horizon")
    before = None if warm is None else warm.native
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


def _episode(
    mdp: MDP, steps: int | None, xi: float | None, how: dict[str, Any], **others: Any
) -> EpisodeSolution:
    if steps is None:
        raise Error("episode: give the number of steps (steps=T)")
    for name, value in others.items():
        if value is not None:
            raise Error(f"{name}: episode takes none; leave it out")
    return EpisodeSolution(mdp, _ide3al.solve_episode(mdp.native, steps, xi, how))
