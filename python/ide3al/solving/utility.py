"""Utilities of one's own: concave functions of what is visited."""

from __future__ import annotations

from typing import Protocol

from numpy.typing import ArrayLike

from ..types import Floats


class Utility(Protocol):
    """A concave function of what is visited, for :func:`solve`.

    The argument ``omega`` has one number per state and action, 0 where a state lacks the action,
    and sums to 1.

    Examples
    --------
    >>> import ide3al
    >>> class Spread:
    ...     def value(self, omega):
    ...         return -(omega**2).sum()
    ...     def gradient(self, omega):
    ...         return -2 * omega
    >>> mdp = ide3al.MDP.domain("single-chain")
    >>> ide3al.solve(mdp, utility=Spread(), tolerance=1e-3).status
    'optimal'
    """

    def value(self, omega: Floats) -> float:
        """Give the utility of a distribution of visits.

        Parameters
        ----------
        omega : ndarray of shape (S, A)
            Share of the visits of every state and action.

        Returns
        -------
        float
            The utility, which is maximised.
        """

    def gradient(self, omega: Floats) -> ArrayLike:
        """Give the gradient of the utility.

        Parameters
        ----------
        omega : ndarray of shape (S, A)
            Share of the visits of every state and action.

        Returns
        -------
        array_like of shape (S, A)
            Partial derivatives.
        """
        ...
