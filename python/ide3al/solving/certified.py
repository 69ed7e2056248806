"""What every answer of a solver carries, whatever was solved."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .._check import file_name
from .._display import html_table, text_table
from .stored import StoredSolved

if TYPE_CHECKING:
    from .. import _ide3al
    from ..models.mdp import MDP


class Certified:
    """A policy with the certificate of how good it is."""

    mdp: MDP
    native: _ide3al.Solved | _ide3al.SolvedEpisode

    @property
    def xi(self) -> float:
        """Least probability of every action."""
        return self.native.xi

    @property
    def objective(self) -> float:
        """Value of the policy; :attr:`formulation` says of what."""
        return self.native.objective

    @property
    def bound(self) -> float:
        """No policy does better than this."""
        return self.native.bound

    @property
    def gap(self) -> float:
        """Distance between the two."""
        return self.native.gap

    @property
    def status(self) -> str:
        """optimal, local_optimum, iteration_limit, time_limit, interrupted or stalled."""
        return self.native.status

    @property
    def solver(self) -> str:
        """Name of the method that found the policy."""
        return self.native.solver

    @property
    def iterations(self) -> int:
        """Number of iterations taken."""
        return self.native.iterations

    @property
    def seconds(self) -> float:
        """Seconds taken."""
        return self.native.seconds

    @property
    def notes(self) -> list[str]:
        """What one should know about this solution."""
        return list(self._details()["notes"])

    def save_policy(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to a file, whole or not at all.

        Parameters
        ----------
        path : path-like
            Name of the file, which ends in ``.json``, ``.npz`` or ``.npy``.

        Raises
        ------
        Error
            If the file cannot be written.
        """
        self.native.save_policy(file_name("path", path))

    def __getstate__(self) -> dict[str, Any]:
        """Everything as plain values: what the compiled module holds cannot leave the process."""
        return {**self.__dict__, "native": StoredSolved.of(self.native, self._details())}

    def _details(self) -> dict[str, Any]:
        """Everything that ``ide3al solve --json`` prints, less the policy."""
        raise NotImplementedError

    def _rows(self) -> list[tuple[str, str]]:
        raise NotImplementedError

    def _certificate_rows(self, parameters: str, what: str, proven: str) -> list[tuple[str, str]]:
        return [
            ("formulation", parameters),
            ("objective", f"{self.objective:.7g} ({what})"),
            ("bound", f"{self.bound:.7g} ({proven})"),
            ("gap", f"{self.gap:.1e} ({self.status.replace('_', ' ')}, {self.solver} solver)"),
        ]

    def __repr__(self) -> str:
        return text_table(f"Solution of {self.mdp!r}", self._rows())

    def _repr_html_(self) -> str:
        return html_table(f"Solution of {self.mdp!r}", self._rows())
