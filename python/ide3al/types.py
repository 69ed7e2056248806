"""Types of arrays, and the values that arguments take; the library checks the latter, too."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

#: Arrays of floating-point numbers and of integers.
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

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
    "reach",
]
#: How a problem is solved: by formulation and size, or by the general conic solver.
Solver = Literal["auto", "conic"]
#: Which of several optimal policies: the nearest to uniform, or whichever is found first.
TieBreak = Literal["uniform", "none"]
#: What a mixing time measures: total variation, or the largest difference (the paper's).
MixingNorm = Literal["tv", "infinity"]
#: Whether the largest entropy possible is computed besides.
Compare = Literal["auto", "always", "never"]
#: Where work is done: in this process, or on a Ray cluster.
Engine = Literal["local", "ray"]
