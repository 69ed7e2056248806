"""What gives episodes: the protocol of runners, and the error that keeps what they gave."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from .._ide3al import Error
from ..datasets.episode import Episode
from ..encoding.abstraction import ActionGrid
from ..encoding.discrete import DiscoveredStates, SpaceIndex
from .plan import Plan

#: How many steps are still wanted; None where any number is.
Budget = Callable[[], int | None]


class CollectionError(Error):
    """An environment failed on the way; :attr:`data` are the whole episodes taken until then.

    Parameters
    ----------
    message : str
        What went wrong.
    data : Data, optional
        What was collected.
    """

    def __init__(self, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.data = data

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self),)


class EpisodeRunner(Protocol):
    """Gives episodes by number, in order. What it gives beyond what is taken is lost, and will be
    given again."""

    @property
    def states(self) -> SpaceIndex | DiscoveredStates:
        """How observations are numbered."""

    @property
    def actions(self) -> SpaceIndex | ActionGrid:
        """How actions are numbered."""

    def episodes(
        self,
        plan: Plan,
        seed: int,
        first: int,
        count: int | None,
        left: Budget,
        max_steps: int | None,
    ) -> Iterator[Episode]: ...

    def drain(self, plan: int) -> Iterator[Episode]:
        """Episodes that were begun and are cut here."""

    def close(self) -> None: ...


def smallest(*limits: int | None) -> int | None:
    """The least of the limits there are."""
    given = [limit for limit in limits if limit is not None]
    return min(given) if given else None
