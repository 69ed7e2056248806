"""How evenly states are visited, whether in the long run or in an episode."""

from __future__ import annotations

from typing import Any

from .._display import nats


class Visited:
    """:attr:`figures` holds everything under its name in ``ide3al analyze --json``."""

    def __init__(self, figures: dict[str, Any]) -> None:
        self.figures = figures

    @property
    def entropy(self) -> float:
        """Entropy of the state distribution, in nats."""
        return float(self.figures["entropy"])

    @property
    def entropy_normalized(self) -> float:
        """Entropy as a share of ln S."""
        return float(self.figures["entropy_normalized"])

    @property
    def state_action_entropy(self) -> float:
        """In nats."""
        return float(self.figures["state_action_entropy"])

    def _evenness_rows(self) -> list[tuple[str, str]]:
        figures = self.figures
        pairs = nats(self.state_action_entropy, figures["state_action_entropy_normalized"])
        return [
            ("state entropy", nats(self.entropy, self.entropy_normalized)),
            ("state-action entropy", pairs),
            (
                "least visited",
                f"state {figures['least_visited_state']}, {figures['min_probability']:.3g}",
            ),
        ]
