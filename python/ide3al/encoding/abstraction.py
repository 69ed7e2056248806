"""How a continuous environment is made finite: what can be chosen."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._arguments import checked_names
from .._check import whole_number
from .._ide3al import Error
from ..types import Floats
from .discrete import SpaceIndex, is_continuous
from .features import Extractor

#: Most actions that are made of a box by combining values of all its numbers.
COMBINED = 27


def needs_cells(env: Any) -> bool:
    """Whether observations or actions are real numbers."""
    observations, actions = spaces_of(env)
    return is_continuous(observations) or type(actions).__name__ == "Box"


def spaces_of(env: Any) -> tuple[Any, Any]:
    """Spaces of observations and actions: those of one environment, where it is many at once."""
    return (
        getattr(env, "single_observation_space", env.observation_space),
        getattr(env, "single_action_space", env.action_space),
    )


class Abstraction:
    """How a continuous environment is made finite: its cells, its actions, and how long they are
    held.

    Parameters
    ----------
    cells : int or sequence of int, optional
        Number of cells along each number of the observation (one for all, or one each); of all
        cells where they are of k-means or refined.
    kind : {"grid", "k-means"}, optional
        Equal boxes, or cells around centres. Where more than three numbers matter it is k-means
        unless given.
    refine : bool, default False
        Whether to halve cells where their halves lead elsewhere, instead of either kind.
    actions : int or sequence, optional
        Number of values along each number of a ``Box`` of actions (3, the extremes and the middle,
        unless given), or a list of actions.
    features : callable, optional
        Function from an observation to the numbers that matter.
    angles : sequence of (int, int), optional
        Indices of pairs (cosine, sine) that are one angle.
    low, high : array_like, optional
        Bounds of the cells, infinite where what was seen decides. What lies beyond belongs to the
        outermost cells.
    bounds : {"seen", "declared"}, default "seen"
        Where cells are laid: where anything was seen so far, or over the bounds of the space where
        those are finite.
    repeat : int, optional
        Number of steps that an action is held for; measured unless given.
    memory : int, default 1000000
        Number of steps remembered; when they are spent the cells are final.

    Raises
    ------
    Error
        If an argument is out of range or contradicts another.

    Examples
    --------
    >>> import gymnasium, ide3al
    >>> cells = ide3al.Abstraction(cells=8, repeat=4)
    >>> agent = ide3al.Random(abstraction=cells).fit(gymnasium.make("MountainCar-v0"), 1000)
    >>> agent.repeat
    4
    """

    @checked_names()
    def __init__(
        self,
        cells: int | Sequence[int] | None = None,
        *,
        kind: str | None = None,
        refine: bool = False,
        actions: int | Sequence[Any] | npt.NDArray[Any] | None = None,
        features: Extractor | None = None,
        angles: Sequence[tuple[int, int]] = (),
        low: npt.ArrayLike | None = None,
        high: npt.ArrayLike | None = None,
        bounds: str = "seen",
        repeat: int | None = None,
        memory: int = 1_000_000,
    ) -> None:
        if kind not in (None, "grid", "k-means"):
            raise Error(f'kind = {kind!r}: "grid" and "k-means" are known')
        if refine and kind is not None:
            raise Error(
                f"kind = {kind!r}: refined cells are of a kind of their own; leave out kind or refine"
            )
        if bounds not in ("seen", "declared"):
            raise Error(
                f'bounds = {bounds!r}: "seen" and "declared" are known; give numbers as low and high'
            )
        if cells is not None:
            given = np.atleast_1d(np.asarray(cells))
            if given.dtype.kind not in "iu" or given.ndim != 1 or (given < 1).any():
                raise Error(f"cells = {cells!r}: whole numbers of at least 1 are needed")
            if (kind == "k-means" or refine) and np.ndim(cells) != 0:
                raise Error(
                    f"cells = {cells!r}: {'refine' if refine else kind} takes one number, that of all cells"
                )
            cells = (
                int(given[0])
                if given.size == 1 and np.ndim(cells) == 0
                else [int(n) for n in given]
            )
        if features is not None and not callable(features):
            raise Error("features: a function from an observation to numbers is needed")
        if repeat is not None:
            repeat = whole_number("repeat", repeat)
        memory = whole_number("memory", memory, least=100)
        if kind is None and cells is not None and np.ndim(cells) != 0:
            kind = "grid"  # numbers of cells along each number mean nothing else
        self.cells, self.kind, self.features = cells, kind, features
        self.refine = bool(refine)
        try:
            self.angles = [(int(c), int(s)) for c, s in angles]
        except (TypeError, ValueError):
            raise Error(
                f"angles = {angles!r}: pairs of places (cosine, sine) are needed, such as [(0, 1)]"
            ) from None
        self.low, self.high = _bounds("low", low), _bounds("high", high)
        self.bounds = bounds
        self.repeat, self.memory = repeat, memory
        self.actions: int | list[Any] | None
        if actions is None or isinstance(actions, int | np.integer):
            self.actions = None if actions is None else int(actions)
            if self.actions is not None and self.actions < 2:
                raise Error(f"actions = {actions}: at least 2 values along each number are needed")
        else:
            if isinstance(actions, str) or not isinstance(actions, Iterable):
                raise Error(f"actions = {actions!r}: a number, or a list of actions, is needed")
            self.actions = [np.asarray(a).tolist() for a in actions]
            if len(self.actions) < 1:
                raise Error("actions: the list is empty")

    def save(self) -> dict[str, Any]:
        """Give everything but ``features``, which is a function, as JSON has it.

        Returns
        -------
        dict
            Arguments by name.
        """
        return {
            "cells": self.cells,
            "kind": self.kind,
            "refine": self.refine,
            "actions": self.actions,
            "angles": self.angles,
            "low": None if self.low is None else self.low.tolist(),
            "high": None if self.high is None else self.high.tolist(),
            "bounds": self.bounds,
            "repeat": self.repeat,
            "memory": self.memory,
        }

    def __repr__(self) -> str:
        given = {
            k: v
            for k, v in {**self.save(), "features": self.features}.items()
            if v is not None and v is not False and v != []
        }
        return f"Abstraction({', '.join(f'{k}={v!r}' for k, v in given.items())})"


def _bounds(name: str, given: npt.ArrayLike | None) -> Floats | None:
    if given is None:
        return None
    bounds = np.atleast_1d(np.asarray(given, dtype=np.float64))
    if bounds.ndim != 1 or np.isnan(bounds).any():
        raise Error(f"{name}: one number each is needed, infinite where what is seen decides")
    return bounds


class ActionGrid:
    """A few actions of a ``Box``, numbered as in :class:`~ide3al.spaces.SpaceIndex`: ``size``,
    ``element(number)``, ``number(element)``."""

    def __init__(self, space: Any, given: int | list[Any] | None) -> None:
        self.space = space
        #: What the actions leave out, in words.
        self.notes: list[str] = []
        shape, dtype = tuple(space.shape), space.dtype
        if isinstance(given, list):
            self.elements = [np.asarray(a, dtype=dtype) for a in given]
            for action in self.elements:
                if action.shape != shape or not space.contains(action):
                    raise Error(f"actions: {action!r} is no element of {space}")
        else:
            low, high = space.low.astype(np.float64).ravel(), space.high.astype(np.float64).ravel()
            if not (np.isfinite(low).all() and np.isfinite(high).all()):
                raise Error(
                    f"{space}: actions without bounds; give a few: Abstraction(actions=[...]), or bound them with "
                    "gymnasium.wrappers.RescaleAction"
                )
            rows = _values(space, low, high) if given is None else None
            if rows is None:
                rows = _choose(low, high, given or 3, given is not None)
                if given is None:
                    self.notes = [_left_out(len(low), len(rows))]
            self.elements = [row.reshape(shape).astype(dtype) for row in rows]
        self.size = len(self.elements)

    def element(self, number: int) -> Any:
        return self.elements[number].copy()

    def number(self, element: Any) -> int:
        """The action nearest to one."""
        flat = np.asarray(element, dtype=np.float64).ravel()
        return int(np.argmin([np.abs(flat - action.ravel()).sum() for action in self.elements]))


def _values(space: Any, low: Floats, high: Floats) -> list[Floats] | None:
    """All actions of a box of whole numbers, where they are few."""
    if np.dtype(space.dtype).kind not in "iub" or np.prod(high - low + 1) > COMBINED:
        return None
    axes = [np.arange(a, b + 1) for a, b in zip(low, high, strict=True)]
    return [np.array(row) for row in itertools.product(*axes)]


def _left_out(numbers: int, actions: int) -> str:
    how = "all combined" if actions == 3**numbers else "one number at a time"
    return (
        f"of the actions, {numbers} real number{'s' if numbers > 1 else ''} each, {actions} are "
        f"tried: lowest, middle and highest value, {how}; give others with "
        "Abstraction(actions=...)"
    )


def _choose(low: Floats, high: Floats, values: int, chosen_by_caller: bool) -> list[Floats]:
    """All combinations of equally spaced values where they are few, else the middle and each
    number's extremes."""
    size = len(low)
    if values**size <= COMBINED or (chosen_by_caller and values**size <= 1024):
        axes = [np.linspace(a, b, values) for a, b in zip(low, high, strict=True)]
        return [np.array(row) for row in itertools.product(*axes)]
    if chosen_by_caller:
        raise Error(
            f"actions = {values}: {size} numbers with {values} values each are {values**size} actions; give a list of some"
        )
    middle = 0.5 * (low + high)
    chosen = [middle]
    for k, bound in itertools.product(range(size), (low, high)):
        action = middle.copy()
        action[k] = bound[k]
        chosen.append(action)
    return chosen


def choices(space: Any, abstraction: Abstraction) -> SpaceIndex | ActionGrid:
    """The actions to explore with."""
    if type(space).__name__ == "Box":
        return ActionGrid(space, abstraction.actions)
    if abstraction.actions is not None:
        raise Error(f"actions: {space} is finite already; leave out actions")
    return SpaceIndex(space)
