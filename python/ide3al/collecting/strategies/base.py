"""The protocol of collection strategies."""

from __future__ import annotations

from typing import Any, Protocol

from ...datasets.episode import Episode
from ...runners.plan import Plan, ScheduledPlan


class CollectionStrategy(Protocol):
    """Takes every episode, in order, and makes plans from what it has taken."""

    def digest(self) -> str:
        """What it begins with, in short: a collection that goes on must begin with the same."""

    def next_plan(self) -> ScheduledPlan | None:
        """The next plan; nothing if no plan can help."""

    def resume(self, plan: Plan, info: list[dict[str, Any]]) -> Plan:
        """Goes on with plans made before a crash; the last of them, whole."""

    def observe(self, episode: Episode) -> None: ...

    def done(self) -> bool:
        """Whether nothing more is wanted."""

    def progress(self) -> dict[str, Any]: ...

    def plan_info(self) -> list[dict[str, Any]]:
        """What is recorded of every plan."""

    def promise(self) -> dict[str, Any] | None:
        """How the promise stands."""
