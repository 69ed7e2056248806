"""What the loops of learning need of an agent."""

from __future__ import annotations

from typing import Any, Protocol

from .. import _ide3al
from ..datasets.tally import TransitionTally
from ..encoding.discrete import DiscoveredStates, SpaceIndex


class Learner(Protocol):
    """An agent, as the loops that collect its steps see it."""

    seed: int
    #: How observations are numbered; None before the first environment was seen.
    encoder: SpaceIndex | DiscoveredStates | None
    #: What was tried and earned.
    tally: TransitionTally

    @property
    def num_timesteps(self) -> int:
        """Steps learned from so far."""

    def attach(
        self, env: Any, encoder: SpaceIndex | DiscoveredStates | None = None
    ) -> tuple[_ide3al.Agent, SpaceIndex | DiscoveredStates, SpaceIndex]:
        """Makes ready to learn in an environment: the compiled agent, and the encoders of
        observations and actions."""


class PartitionLearner(Protocol):
    """An agent of a continuous environment, as the loop that collects its steps sees it."""

    seed: int

    @property
    def compiled(self) -> _ide3al.Agent | None:
        """The compiled agent, where anything was learned."""

    def learner_of_cells(self) -> _ide3al.Agent:
        """A compiled agent that knows no cells yet."""
