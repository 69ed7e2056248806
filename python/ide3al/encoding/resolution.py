"""How many cells there are: no more than the steps so far suffice for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .abstraction import Abstraction
from .grid import Cells, Centres, Grid

#: Cells along each number by how many there are; beyond, k-means cells.
PER_NUMBER = {1: 32, 2: 12, 3: 8}
#: Centres of k-means cells.
CENTRES = 500
#: Fewest of both, however few steps there are.
FEWEST_PER_NUMBER, FEWEST_CENTRES = 4, 64
#: Decisions for every pair of a cell and an action: there are no more cells than leave as many,
#: until more steps are taken.
PER_PAIR = 2


def per_number(abstraction: Abstraction, numbers: int, affordable: float = math.inf) -> int:
    """Cells along each number; where none are given no more than some ``affordable`` in all."""
    if isinstance(abstraction.cells, int):
        return abstraction.cells
    most = PER_NUMBER.get(numbers, max(2, int(1296.0 ** (1 / max(numbers, 1)))))
    return max(FEWEST_PER_NUMBER, int(min(most, affordable ** (1 / max(numbers, 1)))))


def in_all(abstraction: Abstraction, numbers: int, affordable: float = math.inf) -> int:
    """How many k-means or refined cells there are; where none are given no more than are
    ``affordable``."""
    if isinstance(abstraction.cells, int):
        return abstraction.cells
    if abstraction.refine:
        return int(PER_NUMBER[numbers] ** numbers) if numbers in PER_NUMBER else CENTRES
    return max(FEWEST_CENTRES, int(min(CENTRES, affordable)))


def coarse_cells(abstraction: Abstraction, cells: Cells | None, whole: Any) -> list[str]:
    """A note where cells are fewer than there will be."""
    if abstraction.cells is not None:
        return []
    if isinstance(cells, Grid):
        most = per_number(abstraction, len(whole))
        now = int(np.max(cells.counts, where=~whole, initial=0))
        few, which = 0 < now < most, f"{now} along each number, {most} at most"
    elif isinstance(cells, Centres):
        now = len(cells.points)
        few, which = now < CENTRES, f"{now}, {CENTRES} at most"
    else:
        return []
    return [
        f"cells are few for now ({which}), so that each of them and an action have {PER_PAIR} "
        "decisions on average; more steps make them finer, or Abstraction(cells=...)"
    ] * few
