"""How evenly states are visited, whether in the long run or in an episode."""

from __future__ import annotations

from typing import Any

from .._deprecated import warn
from .._display import nats


class Visited:
    """How evenly states are visited.

    :attr:`figures` holds everything under its name in ``ide3al analyze --json``.
    """

    def __init__(self, figures: dict[str, Any]) -> None:
        self.figures = figures

    @property
    def state_entropy(self) -> float:
        """Entropy of the distribution of states, in nats."""
        return float(self.figures["entropy"])

    @property
    def state_entropy_normalized(self) -> float:
        """Entropy of the distribution of states, as a share of ln S."""
        return float(self.figures["entropy_normalized"])

    @property
    def entropy(self) -> float:
        """Old name of :attr:`state_entropy`."""
        warn("entropy is now called state_entropy")
        return self.state_entropy

    @property
    def entropy_normalized(self) -> float:
        """Old name of :attr:`state_entropy_normalized`."""
        warn("entropy_normalized is now called state_entropy_normalized")
        return self.state_entropy_normalized

    @property
    def state_action_entropy(self) -> float:
        """Entropy of the distribution of state-action pairs, in nats."""
        return float(self.figures["state_action_entropy"])

    def _evenness_rows(self) -> list[tuple[str, str]]:
        figures = self.figures
        pairs = nats(self.state_action_entropy, figures["state_action_entropy_normalized"])
        return [
            ("state entropy", nats(self.state_entropy, self.state_entropy_normalized)),
            ("state-action entropy", pairs),
            (
                "least visited",
                f"state {figures['least_visited_state']}, {figures['min_probability']:.3g}",
            ),
        ]
