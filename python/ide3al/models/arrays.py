"""The states, state-action pairs and transitions of a model as numbers and arrays."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from .. import _ide3al
from .._display import html_picture, html_table
from .._ide3al import Error
from ..types import Floats, Integers
from .construction import Rows
from .policies import is_even, pairs


class ModelArrays:
    """What a compiled model holds; nothing sparse is made dense unless asked for."""

    __slots__ = ("native", "state_keys")
    #: The compiled model, for the modules of this package.
    native: _ide3al.Model
    #: What each state was enumerated as, for a model :meth:`from_simulator`; None for others.
    state_keys: list[Hashable] | None

    @property
    def n_states(self) -> int:
        """Number of states."""
        return self.native.n_states

    @property
    def n_actions(self) -> int:
        """Largest number of an action, plus one."""
        return self.native.n_action_labels

    @property
    def n_pairs(self) -> int:
        """Number of state-action pairs."""
        return self.native.n_pairs

    @property
    def nnz(self) -> int:
        """Number of stored transitions."""
        return self.native.nnz

    @property
    def start(self) -> Floats:
        """The start distribution."""
        return self.native.start

    @property
    def rewards(self) -> Floats | None:
        """Expected reward of each state-action pair, if the model came with rewards."""
        return _ide3al.model_rewards(self.native)

    @property
    def terminal(self) -> list[int]:
        """States in which episodes end: what follows is the reset, and nothing more is earned."""
        return _ide3al.model_terminal(self.native)

    @property
    def state_names(self) -> list[str] | None:
        """Names of the states, if there are any."""
        return self.native.state_names

    @property
    def action_names(self) -> list[str] | None:
        """Names of the actions, if there are any."""
        return self.native.action_names

    @property
    def times(self) -> Floats | None:
        """Travel time of each state-action pair, if the model has them."""
        return self.native.times

    @property
    def layout(self) -> Integers | None:
        """(S, 2) row and column of each state on the model's map, if it has one."""
        layout = self.native.layout
        if layout is None:
            return None
        _, columns, cells = layout
        return np.stack(np.divmod(np.asarray(cells, dtype=np.int64), columns), axis=1)

    def actions(self, state: int) -> Integers:
        """List the actions of a state.

        Parameters
        ----------
        state : int
            Number of the state.

        Returns
        -------
        ndarray of int
            Numbers of its actions.

        Raises
        ------
        Error
            If there is no such state.
        """
        if not 0 <= state < self.n_states:
            raise Error(
                f"state {state} is out of range: there are {self.n_states}, numbered from 0"
            )
        first = self.native.first_pair
        return self.native.actions[first[state] : first[state + 1]]

    @property
    def pairs(self) -> tuple[Integers, Integers]:
        """State and action of each pair, in the order of the rows."""
        return pairs(self.native)

    @property
    def is_even(self) -> bool:
        """Whether every state has every action."""
        return is_even(self.native)

    def rows(self) -> Rows:
        """Give one compressed row per state-action pair.

        Returns
        -------
        tuple of ndarray
            Offsets, next states and probabilities.

        Raises
        ------
        Error
            If the model is an estimate with uniform rows, which would be filled in.
        """
        offsets, indices, values, spread = self.native.rows()
        if spread.any():
            raise Error(
                "this model is an estimate with uniform rows for pairs never tried, which "
                "compressed rows would fill in; use dense(), or solve it as it is"
            )
        return offsets, indices, values

    def sparse(self) -> Any:
        """Give the rows as a sparse matrix. Needs SciPy.

        Returns
        -------
        scipy.sparse.csr_array
            Probabilities of shape (pairs, S).
        """
        from .._extras import need

        offsets, indices, values = self.rows()
        sparse = need("scipy.sparse", "all")
        return sparse.csr_array((values, indices, offsets), shape=(self.n_pairs, self.n_states))

    def dense(self) -> Floats:
        """Give the probabilities as an array.

        Returns
        -------
        ndarray of shape (S, A, S)
            Probabilities; actions that a state does not have are rows of zeros.
        """
        offsets, indices, values, spread = self.native.rows()
        states, actions = self.pairs
        dense = np.zeros((self.n_states, self.n_actions, self.n_states))
        if spread.size:
            dense[states, actions] = spread[:, None] / self.n_states
        row = np.repeat(np.arange(self.n_pairs), np.diff(offsets))
        dense[states[row], actions[row], indices] += values
        return dense

    def __repr__(self) -> str:
        spec = f" {self.native.spec!r}" if self.native.spec else ""
        return (
            f"<{type(self).__name__}{spec}: {self.n_states} states, "
            f"{self.n_pairs} state-action pairs, {self.nnz} transitions>"
        )

    def _repr_html_(self) -> str:
        states, starts = self.n_states, int(np.count_nonzero(self.start))
        rows = [
            ("states", str(states)),
            ("actions", f"up to {self.n_actions}, {self.n_pairs} state-action pairs"),
            ("transitions", str(self.nnz)),
            ("starts in", "any state" if starts == states else f"{starts} of the states"),
        ]
        table = html_table(f"Model {self.native.spec}".strip(), rows)
        svg = _ide3al.heat_map(self.native, self.start, "Start", "probability of starting here")
        return table + html_picture(svg, "Where walks start")
