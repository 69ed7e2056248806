"""The trade-off between even visits and fast mixing."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from .. import _ide3al
from ..models.mdp import MDP
from ..types import Floats, Formulation, Solver, TieBreak
from .solve import settings


class Frontier:
    """One solved policy per value of zeta or xi. A notebook shows the picture."""

    def __init__(self, figures: dict[str, Any]) -> None:
        self.formulation: str = figures["formulation"]
        self.vary: str = figures["vary"]
        #: One dictionary per value, in ascending order.
        self.points: list[dict[str, Any]] = figures["points"]
        #: The picture.
        self.svg: str = figures["svg"]

    def __getitem__(self, name: str) -> Floats:
        """One figure of all points: ``frontier["entropy"]``; an infinite mixing time is inf."""
        if self.points and name not in self.points[0]:
            raise KeyError(f"{name}; known: {', '.join(self.points[0])}")
        values = [point[name] for point in self.points]
        return np.array([np.inf if value is None else value for value in values])

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        lines = [f"{self.vary:>8}  state entropy  spectral gap  mixing time"]
        for point in self.points:
            time = "infinite" if point["mixing_time"] is None else str(point["mixing_time"])
            lines.append(
                f"{point[self.vary]:8.4f}  {point['entropy_normalized']:13.4f}"
                f"  {point['spectral_gap']:12.4g}  {time:>11}"
            )
        return "\n".join(lines)

    def _repr_svg_(self) -> str:
        return self.svg


def frontier(
    mdp: MDP,
    formulation: Formulation = "frobenius",
    *,
    vary: Literal["zeta", "xi"] | None = None,
    points: int = 20,
    xi: float | None = None,
    zeta: float | None = None,
    name: str = "model",
    solver: Solver = "auto",
    tie_break: TieBreak = "uniform",
    tolerance: float = 5e-8,
    relative_tolerance: float = 0.0,
    max_iterations: int = 1_000_000,
    time_limit: float | None = None,
) -> Frontier:
    """Solves along zeta (from 1/S to 1) or xi (from 0 to 1/A), the other being xi 0 or zeta 1
    unless given. ``vary`` defaults to zeta where the formulation takes it."""
    how = settings(solver, tie_break, tolerance, relative_tolerance, max_iterations, time_limit)
    title = mdp.native.spec or name
    return Frontier(_ide3al.frontier(mdp.native, formulation, vary, points, xi, zeta, title, how))
