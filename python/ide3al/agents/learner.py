"""What the loop of learning needs of an agent."""

from __future__ import annotations

from typing import Any, Protocol

from .. import _ide3al
from ..datasets.tally import TransitionTally
from ..encoding.adaptive import AdaptivePartition
from ..encoding.changes import EpisodeChanges
from ..encoding.discrete import DiscoveredStates, SpaceIndex


class Learner(Protocol):
    """An agent, as the loop that collects its steps sees it."""

    seed: int
    #: How observations are numbered; None before the first environment was seen.
    encoder: SpaceIndex | DiscoveredStates | None
    #: The cells of a continuous environment.
    partition: AdaptivePartition | None
    #: What was tried and earned.
    tally: TransitionTally
    #: Whether layouts change from episode to episode.
    changes: EpisodeChanges

    @property
    def num_timesteps(self) -> int:
        """Steps learned from so far."""

    @property
    def compiled(self) -> _ide3al.Agent | None:
        """The compiled agent, where there is one."""

    def fitted(self) -> _ide3al.Agent:
        """The compiled agent."""

    def attach(
        self,
        env: Any,
        encoder: SpaceIndex | DiscoveredStates | None = None,
        first: tuple[Any, Any] | None = None,
    ) -> tuple[_ide3al.Agent, SpaceIndex | DiscoveredStates, SpaceIndex]:
        """Makes ready to learn in an environment: the compiled agent, and the encoders of
        observations and actions."""

    def learner_of_cells(self) -> _ide3al.Agent:
        """Makes a compiled agent that knows no cells yet."""
