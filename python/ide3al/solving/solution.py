"""What solving a known model gives: a policy, its certificate, and its long run."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

from .. import _ide3al
from .._ide3al import Error
from ..models.mdp import MDP
from ..models.policies import shaped
from ..types import Floats
from .analysis import Analysis
from .certified import Certified


class Solution(Certified):
    """A policy with the certificate of how good it is.

    Evaluating a policy costs more than solving on small models, so that :attr:`metrics` and
    :attr:`chain` are computed when they are first asked for.
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
        """Name of the problem that was solved."""
        return self.native.formulation

    @property
    def zeta(self) -> float | None:
        """Largest entry of the doubly stochastic target; None where the problem has none."""
        return self.native.zeta

    @property
    def limits(self) -> list[dict[str, float]]:
        """Value, budget and price of each limit: the price is what the optimum gains per unit of
        budget, zero where the limit is slack."""
        names = ("value", "budget", "price")
        return [dict(zip(names, limit)) for limit in self.native.limits]

    def steps_for(self, samples: float) -> float:
        """Give the number of steps in which every pair has its samples, in the long run.

        No policy needs fewer than ``samples / bound``. Only solutions of ``"coverage"`` have this.

        Parameters
        ----------
        samples : float
            Number of times that what was asked for in ``wanted`` is to be had.

        Returns
        -------
        float
            Number of steps; infinite where some pair is never visited.

        Raises
        ------
        Error
            If the solution is of another formulation.
        """
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
            "reach": "share of the states seen, maximised"
            if maximised
            else "mean time to a state, minimised",
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
