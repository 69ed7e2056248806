"""The trade-off between even visits and fast mixing."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from .. import _ide3al
from ..models.mdp import MDP
from ..types import Floats, Formulation, Solver, TieBreak
from .solve import reach_asked, refuse, settings


class Frontier:
    """One solved policy per value of zeta or xi; a notebook shows the picture.

    Iterating over :attr:`points` gives all figures of a policy, ``frontier["entropy"]`` one figure
    of all policies.
    """

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
    vary: Literal["zeta", "xi", "within", "evenness"] | None = None,
    points: int = 20,
    xi: float | None = None,
    zeta: float | None = None,
    within: float | None = None,
    origin: Literal["start", "anywhere"] | None = None,
    evenness: float | None = None,
    name: str = "model",
    solver: Solver = "auto",
    tie_break: TieBreak = "uniform",
    tolerance: float = 5e-8,
    relative_tolerance: float = 0.0,
    max_iterations: int = 1_000_000,
    time_limit: float | None = None,
) -> Frontier:
    """Solve along the trade-off between even visits and fast mixing.

    Parameters
    ----------
    mdp : MDP
        The model.
    formulation : str, default "frobenius"
        What is optimised, as in :func:`solve`.
    vary : {"zeta", "xi", "within", "evenness"}, optional
        The parameter that varies: zeta from 1/S to 1, or xi from 0 to 1/A; of ``"reach"`` xi,
        within, from 1 to 100 steps for each state, or evenness, up to the largest. Zeta unless
        given, where the formulation takes it.
    points : int, default 20
        Number of values.
    xi, zeta : float, optional
        The parameter that does not vary: xi is 0 and zeta 1 unless given, so that nothing but the
        varied one restricts the policy. Note that :func:`solve` takes the paper's.
    within, origin, evenness : optional
        What else is asked of ``"reach"``, as in :func:`solve`.
    name : str, default "model"
        Name of the model in the picture.
    solver, tie_break, tolerance, relative_tolerance, max_iterations, time_limit : optional
        How each policy is found, as in :func:`solve`; the time is that of one policy.

    Returns
    -------
    Frontier
        The policies with their certificates, in ascending order of what varies.

    Raises
    ------
    Error
        If an argument is out of range.

    Examples
    --------
    >>> import ide3al
    >>> curve = ide3al.frontier(ide3al.MDP.domain("single-chain"), points=3)
    >>> curve["entropy"].shape
    (3,)
    """
    how = settings(solver, tie_break, tolerance, relative_tolerance, max_iterations, time_limit)
    title = mdp.native.spec or name
    asked = reach_asked(within, origin, evenness)
    if formulation != "reach":
        refuse(formulation, {"within": within, "origin": origin, "evenness": evenness})
    of = (formulation, vary, points, xi, zeta, title, how)
    figures = _ide3al.frontier(mdp.native, *of, asked if formulation == "reach" else None)
    return Frontier(figures)
