"""Maps: where on a grid the states lie, and where actions lead there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._check import whole_number
from .._ide3al import Error
from ..models.mdp import MDP
from ..types import Floats, Integers

#: Most rows and columns of a map that is drawn cell by cell.
LARGEST = 200
#: Actions that move by less than this share of a cell are drawn as staying.
STILL = 0.05


@dataclass(frozen=True)
class GridMap:
    """Rows, columns, and the cell of each state, numbered row by row; -1 for one without any."""

    rows: int
    columns: int
    at: Integers

    @property
    def positions(self) -> Floats:
        """(S, 2) column and row of each state; not a number for one that is nowhere."""
        rows, columns = np.divmod(self.at, self.columns)
        placed = np.stack([columns, rows], axis=1).astype(np.float64)
        placed[self.at < 0] = np.nan
        return placed

    def sums(self, values: Floats) -> Floats:
        """Values of states as a picture; not a number where no state is."""
        there = self.at >= 0
        size = self.rows * self.columns
        found: Floats = np.bincount(self.at[there], weights=values[there], minlength=size).astype(
            np.float64
        )
        found[np.bincount(self.at[there], minlength=size) == 0] = np.nan
        return found.reshape(self.rows, self.columns)


def map_of_model(mdp: MDP, shape: tuple[int, int] | None) -> GridMap | None:
    """As the model says, or row by row where a shape is given."""
    if shape is None:
        layout = mdp.native.layout
        return (
            None if layout is None else GridMap(*layout[:2], np.asarray(layout[2], dtype=np.int64))
        )
    return map_of_shape(shape, mdp.n_states)


def map_of_shape(shape: tuple[int, int], n_states: int) -> GridMap:
    """States numbered row by row."""
    if not isinstance(shape, Sequence) or isinstance(shape, str) or len(shape) != 2:
        raise Error(f"shape = {shape!r}: (rows, columns) is needed")
    rows, columns = (whole_number("shape", number) for number in shape)
    if rows * columns != n_states:
        raise Error(f"shape = {shape}: {rows * columns} cells for {n_states} states")
    return GridMap(rows, columns, np.arange(n_states, dtype=np.int64))


def map_of_observations(observations: Sequence[Any] | None) -> GridMap | None:
    """Where observations are coordinates on a grid: two whole numbers, or a part that is."""
    if observations is None or len(observations) < 2:
        return None
    parts = [_pairs(observation) for observation in observations]
    for name in parts[0]:
        if all(name in part for part in parts):
            places = np.array([part[name] for part in parts], dtype=np.float64)
            if (places != np.rint(places)).any():
                continue
            found = places.astype(np.int64) - places.astype(np.int64).min(axis=0)
            rows, columns = (int(n) + 1 for n in found.max(axis=0))
            # a part that stays where it is says nothing of where one is
            if (
                1 < rows * columns
                and max(rows, columns) <= LARGEST
                and len(np.unique(found, axis=0)) > 2
            ):
                return GridMap(rows, columns, found[:, 0] * columns + found[:, 1])
    return None


def _pairs(observation: Any) -> dict[Any, Any]:
    """The parts of an observation that are two numbers."""
    if isinstance(observation, Mapping):
        return {
            (name, *inner): pair
            for name, part in observation.items()
            for inner, pair in _pairs(part).items()
        }
    if isinstance(observation, str | bytes) or observation is None:
        return {}
    if isinstance(observation, tuple) and any(not np.isscalar(part) for part in observation):
        return {
            (k, *inner): pair
            for k, part in enumerate(observation)
            for inner, pair in _pairs(part).items()
        }
    array = np.asarray(observation)
    return {(): array} if array.shape == (2,) and array.dtype.kind in "iuf" else {}


def displacements(mdp: MDP, grid: GridMap) -> Floats:
    """(pairs, 2): how far each action leads on average, in columns and rows; steps that lead to
    another part of the map altogether, as restarts do, are left out."""
    # rows of pairs never tried are spread evenly, and lead nowhere in particular
    offsets, following, shares, _ = mdp.native.rows()
    states, _ = mdp.pairs
    pair = np.repeat(np.arange(len(states)), np.diff(offsets))
    places = grid.positions
    moved = places[following] - places[states[pair]]
    near = np.nan_to_num(np.abs(moved), nan=np.inf).max(axis=1) <= 1.5
    weights = np.where(near, shares, 0.0)
    found = np.zeros((len(states), 2))
    for axis in range(2):
        sums = np.bincount(pair, weights * np.where(near, moved[:, axis], 0.0), len(states))
        found[:, axis] = sums / np.maximum(np.bincount(pair, weights, len(states)), 1e-12)
    return found


def draw_arrows(ax: Any, mdp: MDP, grid: GridMap, probabilities: Floats) -> Any:
    """One arrow for each action, as long and dark as it is probable; a dot for one that stays."""
    states, _ = mdp.pairs
    moved, places = displacements(mdp, grid), grid.positions[states]
    # several states on one cell share its arrows
    there = ~np.isnan(places[:, 0]) & (probabilities > 0.01)
    length = np.hypot(moved[:, 0], moved[:, 1])
    moves = there & (length > STILL)
    unit = moved[moves] / length[moves, None] * 0.47 * np.sqrt(probabilities[moves, None])
    arrows = ax.quiver(
        places[moves, 0], places[moves, 1], unit[:, 0], unit[:, 1], probabilities[moves],
        angles="xy", units="xy", scale_units="xy", scale=1, cmap="viridis_r", clim=(0, 1),
        width=0.07, headwidth=3.2, headlength=3.2, headaxislength=2.8, minlength=0,
    )  # fmt: skip
    stays = there & (length <= STILL)
    ax.scatter(
        places[stays, 0], places[stays, 1], s=40 * probabilities[stays], c=probabilities[stays],
        cmap="viridis_r", vmin=0, vmax=1, linewidths=0,
    )  # fmt: skip
    return arrows


def draw_ground(ax: Any, grid: GridMap) -> None:
    """Cells that states are on in white, all others in grey."""
    inside = np.bincount(grid.at[grid.at >= 0], minlength=grid.rows * grid.columns) > 0
    ax.imshow(
        inside.reshape(grid.rows, grid.columns), cmap="gray", vmin=-3, vmax=1, interpolation="none"
    )
    ax.set_xticks(np.arange(-0.5, grid.columns), minor=True)
    ax.set_yticks(np.arange(-0.5, grid.rows), minor=True)
    ax.grid(which="minor", color="0.85", linewidth=0.6)
    ax.tick_params(which="both", length=0)
    ax.set(xticks=[], yticks=[])
