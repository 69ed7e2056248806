"""Episodes: the most even visits within T steps, and policies that depend on the step."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any

import numpy as np

from .. import _ide3al
from .._check import file_name
from .._display import html_table, text_table
from .._ide3al import Error
from ..models.mdp import MDP
from ..models.policies import probabilities, shaped
from ..types import Floats
from .certified import Certified
from .visits import Visited


class EpisodeAnalysis(Visited):
    """What one episode sees on average.

    :attr:`figures` holds everything under its name in ``ide3al analyze --json``.
    """

    @property
    def steps(self) -> int:
        """Steps of the episode, the start included."""
        return int(self.figures["steps"])

    @property
    def distribution(self) -> Floats:
        """Expected share of the episode in each state."""
        return np.asarray(self.figures["distribution"])

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("episode", f"{self.steps} steps, {self.figures['states_reached']} states reached"),
            *self._evenness_rows(),
        ]

    def __repr__(self) -> str:
        return text_table("Episode", self._rows())

    def _repr_html_(self) -> str:
        return html_table("Episode", self._rows())


class EpisodeSolution(Certified):
    """A policy for every step of an episode, with the certificate of how good it is.

    The objective is the entropy of the average distribution over the episode, in nats; no policy,
    with memory or without, has more than the bound.
    """

    native: _ide3al.SolvedEpisode

    formulation = "episode"
    zeta = None

    def __init__(self, mdp: MDP, solved: _ide3al.SolvedEpisode) -> None:
        self.mdp = mdp
        self.native = solved

    @cached_property
    def policy(self) -> Floats | list[Floats | list[Floats]]:
        """Probabilities (T, S, A); for each step one row per state where states have different
        actions."""
        return timed_shape(self.mdp, self.native.probabilities())

    @property
    def steps(self) -> int:
        """Steps T of the episode, the start included."""
        return self.native.steps

    @cached_property
    def _report(self) -> dict[str, Any]:
        return self.native.report()

    def _details(self) -> dict[str, Any]:
        return self._report

    @property
    def metrics(self) -> dict[str, Any]:
        """Everything that ``ide3al solve --formulation episode --json`` prints, less policy and
        distribution."""
        return {name: value for name, value in self._report.items() if name != "distribution"}

    @cached_property
    def episode(self) -> EpisodeAnalysis:
        """What the episode sees."""
        return EpisodeAnalysis(self._report)

    def _rows(self) -> list[tuple[str, str]]:
        parameters = f"episode, {self.steps} steps, xi {self.xi:.4g}"
        rows = self._certificate_rows(parameters, "nats, maximised", "no policy has more")
        return rows + self.episode._rows()[1:]


def timed_shape(mdp: MDP, flat: Floats) -> Floats | list[Floats | list[Floats]]:
    """(T, S, A) where every state has every action, else one list of rows per step."""
    if mdp.is_even:
        return flat.reshape(-1, mdp.n_states, mdp.n_actions)
    return [shaped(mdp.native, table) for table in flat.reshape(-1, mdp.n_pairs)]


def is_timed(policy: Any) -> bool:
    """Whether a policy has one table per step: an array of three dimensions, or such lists."""
    if isinstance(policy, np.ndarray):
        return policy.ndim == 3
    for _ in range(2):
        if not isinstance(policy, (list, tuple)) or not len(policy):
            return False
        policy = policy[0]
    return np.ndim(policy) == 1 if isinstance(policy, (list, tuple, np.ndarray)) else False


def timed_probabilities(mdp: MDP, policy: Any) -> Floats:
    """One probability per step and pair."""
    if not len(policy):
        raise Error("policy: an episode has at least one step")
    tables = []
    for step, table in enumerate(policy):
        try:
            tables.append(probabilities(mdp.native, table))
        except Error as problem:
            raise Error(f"step {step + 1}: {problem}") from None
    return np.concatenate(tables)


def load_policy(
    mdp: MDP, path: str | os.PathLike[str]
) -> Floats | list[Floats] | list[Floats | list[Floats]]:
    """Read a policy from a file.

    Parameters
    ----------
    mdp : MDP
        The model that the policy is for.
    path : path-like
        Name of the file, which ends in ``.json``, ``.npz`` or ``.npy``.

    Returns
    -------
    ndarray or list
        Probabilities (S, A), or (T, S, A) for a policy that depends on the step; one row per state
        where states have different actions.

    Raises
    ------
    Error
        If the file cannot be read, or does not fit the model.

    Examples
    --------
    >>> import ide3al
    >>> mdp = ide3al.MDP.domain("single-chain")
    >>> ide3al.solve(mdp).save_policy("policy.npy")
    >>> ide3al.load_policy(mdp, "policy.npy").shape
    (10, 2)
    """
    steps, flat = _ide3al.read_policy(file_name("path", path), mdp.native)
    return shaped(mdp.native, flat) if steps is None else timed_shape(mdp, flat)
