"""Pictures of what was visited in a continuous environment. Needs Matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._extras import need
from .._ide3al import Error
from ..encoding.adaptive import AdaptivePartition
from ..encoding.grid import Grid
from ..encoding.tree import Tree
from ..types import Floats

#: Bins of the picture along each number.
BINS = 48


def plot_steps(
    cut: AdaptivePartition,
    *,
    numbers: tuple[int | str, int | str] | None = None,
    parts: int = 1,
    cells: bool = True,
    trajectories: int = 0,
    ax: Any = None,
) -> Any:
    """Where the steps recorded went, over two of the numbers that cells are cut from; returns the
    axes.

    ``numbers``: which two, by place or name (the first two unless given). ``parts``: as many
    pictures side by side, each of an equal stretch of time. ``cells``: whether to draw them.
    ``trajectories``: how many of the last episodes to draw as lines."""
    if cut.history is None or cut.cells is None or len(cut.history) < 2:
        raise Error("nothing has been recorded yet; call fit first")
    if parts < 1 or trajectories < 0:
        raise Error(f"parts = {parts}, trajectories = {trajectories}: at least 1 and 0 are needed")
    if parts > 1 and ax is not None:
        raise Error("parts: several pictures need axes of their own; leave out ax")
    plt = need("matplotlib.pyplot", "plot")
    places = _places(cut, numbers)
    vectors, actions = cut.history.vectors[:, cut.used[list(places)]], cut.history.actions
    low, high = _frame(cut, places, vectors)
    if parts == 1:
        axes = [plt.subplots()[1] if ax is None else ax]
    else:
        axes = list(
            plt.subplots(
                1, parts, figsize=(4.2 * parts, 3.6), sharex=True, sharey=True, layout="constrained"
            )[1]
        )
    edges = [np.linspace(a, b, BINS + 1) for a, b in zip(low, high, strict=True)]
    bounds = np.linspace(0, len(vectors), parts + 1).astype(np.int64)
    moved = [int((actions[a:b] >= 0).sum()) for a, b in zip(bounds[:-1], bounds[1:], strict=True)]
    pictures = []
    for first, after in zip(bounds[:-1], bounds[1:], strict=True):
        inside = np.clip(vectors[first:after], low, high)
        counts, _, _ = np.histogram2d(inside[:, 0], inside[:, 1], bins=edges)
        pictures.append(counts / max(after - first, 1))
    highest = max(float(np.quantile(p[p > 0], 0.98)) for p in pictures)
    for k, (axis, picture) in enumerate(zip(axes, pictures, strict=True)):
        shown = np.ma.masked_equal(picture.T, 0)
        image = axis.pcolormesh(
            edges[0], edges[1], shown, cmap="viridis", vmin=0, vmax=highest, rasterized=True
        )
        if cells:
            _draw_cells(axis, cut, places)
        axis.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel=cut.names[places[0]])
        axis.set_facecolor("whitesmoke")
        if parts > 1:
            axis.set_title(f"part {k + 1} of {parts}: {moved[k]:,} steps", fontsize=10)
    axes[0].set_ylabel(cut.names[places[1]])
    _draw_trajectories(axes[-1], _broken(cut, places, vectors), actions, trajectories)
    axes[-1].figure.colorbar(
        image, ax=axes if parts > 1 else axes[0], label="share of steps", extend="max"
    )
    return axes[0] if parts == 1 else np.array(axes)


def _places(cut: AdaptivePartition, numbers: tuple[int | str, int | str] | None) -> tuple[int, int]:
    names = cut.names
    if numbers is None:
        if len(names) < 2:
            raise Error("a picture needs two numbers; the cells are cut from one only")
        return 0, 1
    found = []
    for one in numbers:
        if isinstance(one, str) and one in names:
            found.append(names.index(one))
        elif isinstance(one, int) and 0 <= one < len(names):
            found.append(one)
        else:
            raise Error(f"numbers: {one!r} is none of {', '.join(names)} (0 to {len(names) - 1})")
    if len(found) != 2 or found[0] == found[1]:
        raise Error("numbers: two different ones are needed")
    return found[0], found[1]


def _frame(
    cut: AdaptivePartition, places: tuple[int, int], vectors: Floats
) -> tuple[Floats, Floats]:
    """What to show: where anything was seen, within the bounds given or declared, which are often
    much wider."""
    low, high = (bound[list(places)] for bound in cut.box)
    low, high = np.maximum(low, vectors.min(axis=0)), np.minimum(high, vectors.max(axis=0))
    flat = low >= high
    return np.where(flat, low - 0.5, low), np.where(flat, low + 0.5, high)


def _draw_cells(picture: Any, cut: AdaptivePartition, places: tuple[int, int]) -> None:
    """Lines between the cells of a grid, and between refined ones of two numbers; else dots where
    their middles are."""
    cells = cut.cells
    # a grey that shows on dark colours and on the empty ground alike
    style = {"color": "0.65", "linewidth": 0.5, "alpha": 0.7}
    if isinstance(cells, Tree) and len(cut.used) == 2:
        x, y = places
        for k in np.flatnonzero(cells.axes >= 0).tolist():
            # each part is halved by one line across it
            axis, at = cells.axes[k], cells.thresholds[k]
            draw, other = (picture.vlines, y) if axis == x else (picture.hlines, x)
            draw(at, cells.lows[k, other], cells.highs[k, other], **style)
        return
    if isinstance(cells, Grid):
        for k, draw in zip(places, (picture.axvline, picture.axhline), strict=True):
            for edge in np.linspace(cells.low[k], cells.high[k], int(cells.counts[k]) + 1):
                draw(edge, **style)
        return
    centres = np.array(cut.states)[:, list(places)]
    picture.plot(centres[:, 0], centres[:, 1], ".", color="black", markersize=2.5, alpha=0.6)


def _broken(cut: AdaptivePartition, places: tuple[int, int], vectors: Floats) -> Floats:
    """The same with a gap where an angle passes from one end of its turn to the other."""
    used = cut.used[list(places)]
    turns = cut.features.fixed[used] & ~cut.features.whole[used]
    jumps = (np.abs(np.diff(vectors, axis=0)) > np.pi)[:, turns].any(axis=1)
    broken = vectors.copy()
    broken[1:][jumps] = np.nan
    return broken


def _draw_trajectories(axis: Any, vectors: Any, actions: Any, count: int) -> None:
    if count == 0:
        return
    ends = np.flatnonzero(actions < 0) + 1
    begins = np.concatenate([[0], ends[:-1]])
    # one that has only just begun shows nothing
    episodes = [
        (first, after) for first, after in zip(begins, ends, strict=True) if after - first > 1
    ]
    for first, after in episodes[-count:]:
        axis.plot(
            vectors[first:after, 0],
            vectors[first:after, 1],
            color="orangered",
            linewidth=1.0,
            alpha=0.9,
        )
