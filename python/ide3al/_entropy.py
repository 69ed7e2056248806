"""The entropy of counts."""

from __future__ import annotations

from typing import Any

import numpy as np


def entropy(counts: Any) -> float:
    """Entropy of the shares that counts or weights stand for, in nats; 0 where all are 0."""
    total = counts.sum()
    if total == 0:
        return 0.0
    shares = counts[counts > 0] / total
    return float(max(-(shares * np.log(shares)).sum(), 0.0))
