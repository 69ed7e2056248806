"""The protocol of encoders: from what an environment shows to the number of a state."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class StateEncoder(Protocol):
    """Numbers observations from 0, each state alike whenever it is met.

    To add one: a file beside this one with a class of this shape, and its case in ``state_encoder``
    (``discrete.py``), which chooses the encoder of a space.
    """

    @property
    def size(self) -> int:
        """How many numbers there are so far; it may grow, and never shrinks while one learns."""

    def number(self, observation: Any) -> int:
        """The number of an observation, a new one where states are discovered."""
