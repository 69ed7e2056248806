"""Words that arguments take, for type checkers and editors; the library checks them too."""

from __future__ import annotations

from typing import Literal

#: Problems with a stationary policy; ``solve`` also takes "episode".
Formulation = Literal[
    "frobenius",
    "infinity",
    "column-sum",
    "dual",
    "state-entropy",
    "target",
    "coverage",
    "model-error",
]
#: Which road to take: by formulation and size, or the general conic solver.
Solver = Literal["auto", "conic"]
#: Which of several optimal policies: the nearest to uniform, or whichever is found first.
TieBreak = Literal["uniform", "none"]
#: What a mixing time measures: total variation, or the largest difference (the paper's).
MixingNorm = Literal["tv", "infinity"]
#: Whether the largest entropy possible is computed besides.
Compare = Literal["auto", "always", "never"]
