"""A promise about data: every reward can be planned for, that well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._ide3al import Error


@dataclass(frozen=True)
class Accuracy:
    """Data from which the best policy for *every* reward between 0 and 1 can be planned.

    With the stated probability, the policy that is best in the model of the counts is worth at most
    ``epsilon / (1 - discount)`` less than the best in the true environment, whatever the reward:
    ``epsilon`` is a share of the largest value that there is. It holds where the environment is
    Markov.

    Parameters
    ----------
    epsilon : float
        Largest loss, as a share of the largest value, between 0 and 1.
    confidence : float
        Probability with which it holds, for all rewards at once.
    discount : float
        Worth of a reward one step later: the samples needed grow with ``1 / (1 - discount)``.

    Raises
    ------
    Error
        If a number is out of range.

    Examples
    --------
    >>> import ide3al
    >>> ide3al.Accuracy(0.1).text
    'every reward planned for within 0.1 of the largest value, with probability 0.95'
    """

    epsilon: float
    confidence: float = 0.95
    discount: float = 0.9

    def __post_init__(self) -> None:
        for name, value in (("epsilon", self.epsilon), ("confidence", self.confidence)):
            if not 0 < value < 1:
                raise Error(f"Accuracy: {name} = {value}: a number between 0 and 1 is needed")
        if not 0 <= self.discount < 1:
            raise Error(f"Accuracy: discount = {self.discount}: must be at least 0 and less than 1")

    def to_dict(self) -> dict[str, Any]:
        """Give the promise as JSON.

        Returns
        -------
        dict
            The three numbers by name.
        """
        return {
            "epsilon": self.epsilon,
            "confidence": self.confidence,
            "discount": self.discount,
        }

    @property
    def text(self) -> str:
        return (
            f"every reward planned for within {self.epsilon:g} of the largest value, with "
            f"probability {self.confidence:g}"
        )
