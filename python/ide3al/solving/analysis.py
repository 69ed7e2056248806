"""The long run of a model under a policy."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _ide3al
from .._display import html_picture, html_table, nats, text_table
from .._ide3al import Error
from ..models.mdp import MDP
from ..models.policies import probabilities
from ..types import Floats, MixingNorm
from .time_dependent import EpisodeAnalysis, is_timed, timed_probabilities
from .visits import Visited


class Analysis(Visited):
    """Long-run behaviour of a model under a policy.

    :attr:`figures` holds everything under its name in ``ide3al analyze --json``.
    """

    def __init__(self, figures: dict[str, Any], mdp: MDP | None = None) -> None:
        super().__init__(figures)
        self._mdp = mdp

    @property
    def stationary(self) -> Floats:
        """Long-run average state distribution from the start."""
        return np.asarray(self.figures["stationary"])

    @property
    def spectral_gap(self) -> float:
        """1 - |second eigenvalue|."""
        return float(self.figures["spectral_gap"])

    @property
    def mixing_time(self) -> float:
        """Steps until every start is within the threshold; infinite for a chain that never
        mixes. ``figures["mixing_time_kind"]`` says whether it is exact or a lower bound."""
        time = self.figures["mixing_time"]
        return float("inf") if time is None else float(time)

    @property
    def recurrent_classes(self) -> int:
        """Number of sets of states that are never left again."""
        return int(self.figures["recurrent_classes"])

    @property
    def communicating_classes(self) -> int:
        """Number of sets of states that can be reached from one another."""
        return int(self.figures["communicating_classes"])

    @property
    def transient_states(self) -> int:
        """Number of states that are visited finitely often."""
        return int(self.figures["transient_states"])

    @property
    def period(self) -> int:
        """Greatest common divisor of the lengths of returns; 1 for a chain that mixes."""
        return int(self.figures["period"])

    @property
    def entropy_rate(self) -> float:
        """How unpredictable the next state is, in nats per step."""
        return float(self.figures["entropy_rate"])

    @property
    def kemeny_constant(self) -> float | None:
        """Mean time to a random visit, in steps or in the model's travel times; None with several
        recurrent classes or above 1,000 states."""
        constant = self.figures["kemeny_constant"]
        return None if constant is None else float(constant)

    def _rows(self) -> list[tuple[str, str]]:
        figures = self.figures
        at_least = "at least " if figures["mixing_time_kind"] == "lower_bound" else ""
        steps = self.mixing_time
        rows = [
            *self._evenness_rows(),
            ("spectral gap", f"{self.spectral_gap:.4g} ({figures['spectral_gap_kind']})"),
            (
                "mixing time",
                "infinite" if steps == float("inf") else f"{at_least}{steps:.0f} steps",
            ),
            (
                "recurrent classes",
                f"{self.recurrent_classes}, {self.transient_states} transient states",
            ),
        ]
        if figures.get("horizon") is not None:
            share = figures["horizon_entropy_normalized"]
            rows.append(
                (f"within {figures['horizon']} steps", nats(figures["horizon_entropy"], share))
            )
        return rows

    def __repr__(self) -> str:
        return text_table("Long run", self._rows())

    def heat_map_html(self) -> str:
        """Draw where the time goes.

        Returns
        -------
        str
            HTML; empty where the model is not known.
        """
        if self._mdp is None:
            return ""
        svg = _ide3al.heat_map(
            self._mdp.native, self.stationary, "Long-run visits", "share of time"
        )
        return html_picture(svg, "Heat map of long-run visits")

    def _repr_html_(self) -> str:
        return html_table("Long run", self._rows()) + self.heat_map_html()


def analyze(
    mdp: MDP,
    policy: Any = "uniform",
    *,
    horizon: int | None = None,
    mixing_threshold: float = 0.25,
    mixing_norm: MixingNorm = "tv",
) -> Analysis | EpisodeAnalysis:
    """Analyse the long run of a model under a policy.

    Parameters
    ----------
    mdp : MDP
        The model.
    policy : array_like or "uniform", default "uniform"
        Probabilities (S, A), or one row per state; (T, S, A) for a policy that depends on the step,
        which is evaluated over its own episode.
    horizon : int, optional
        Number of steps within which visits are evaluated besides.
    mixing_threshold : float, default 0.25
        Distance to the stationary distribution at which a chain counts as mixed.
    mixing_norm : {"tv", "infinity"}, default "tv"
        What the distance is: total variation, or the largest difference, as in the paper.

    Returns
    -------
    Analysis or EpisodeAnalysis
        Classes, stationary distribution, entropies, spectral gap, mixing, hitting and return times.

    Raises
    ------
    Error
        If the policy does not fit the model.

    Examples
    --------
    >>> import ide3al
    >>> chain = ide3al.analyze(ide3al.MDP.domain("single-chain"))
    >>> chain.recurrent_classes, chain.period
    (1, 1)
    """
    if is_timed(policy):
        if horizon is not None:
            raise Error(
                f"horizon = {horizon}: the policy is judged over its own steps; leave it out"
            )
        return EpisodeAnalysis(
            _ide3al.analyze_episode(mdp.native, timed_probabilities(mdp, policy))
        )
    flat = probabilities(mdp.native, policy)
    figures = _ide3al.analyze(mdp.native, flat, horizon, mixing_threshold, mixing_norm)
    return Analysis(figures, mdp)
