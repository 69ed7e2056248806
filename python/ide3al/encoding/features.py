"""Observations of any shape as vectors of numbers: what cells are cut from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._display import plain
from .._ide3al import Error
from ..types import Floats

#: Any function from an observation to a vector.
Extractor = Callable[[Any], npt.ArrayLike]
#: Most values of a whole number that are told apart.
MAX_VALUES = 1024
#: Most numbers per observation that cells can sensibly be cut from.
MAX_FEATURES = 1024


class Features:
    """Turns observations into vectors: ``vector(observation)``, with ``names``, declared ``low``
    and ``high`` (infinite where nothing is declared), and ``whole`` where a number is one of a
    few that must not be mixed up.

    ``Box``, ``Discrete``, ``MultiDiscrete``, ``MultiBinary``, and tuples and dictionaries of them,
    to any depth, part by part in order; or whatever ``features`` makes of an observation.
    ``angles`` are pairs of places: (cosine, sine) become one angle, which takes the place of both.
    """

    def __init__(
        self, space: Any, features: Extractor | None = None, angles: Sequence[tuple[int, int]] = ()
    ) -> None:
        self.space, self.features = space, features
        if features is None:
            self._parts = _parts(space, "")
            self.names = [name for part in self._parts for name in part.names]
            self.low = np.concatenate([part.low for part in self._parts])
            self.high = np.concatenate([part.high for part in self._parts])
            self.whole = np.concatenate([part.whole for part in self._parts])
            self._size = len(self.names)
            if self._size > MAX_FEATURES:
                raise Error(
                    f"{space} has {self._size} numbers per observation, more than cells can be had for ({MAX_FEATURES}); give "
                    "the few that matter: Abstraction(features=lambda observation: ...)"
                )
            self._angles: list[tuple[int, int]] = []
            self._kept = np.arange(self._size)
            self._join_angles(angles)
        else:
            # how many there are is known when the first observation comes
            self._size, self._given_angles = 0, tuple(angles)
            self.names = []
            self.low = self.high = np.zeros(0)
            self.whole = np.zeros(0, dtype=np.bool_)
            self._angles, self._kept = [], np.zeros(0, dtype=np.int64)

    @property
    def fixed(self) -> npt.NDArray[np.bool_]:
        """Numbers whose bounds are what they are, whatever is seen: the few values of some, and
        angles."""
        turns = np.arange(self.size) >= self.size - len(self._angles)
        return self.whole | turns

    @property
    def size(self) -> int:
        """Numbers per vector."""
        return len(self.names)

    def vector(self, observation: Any) -> Floats:
        """The numbers of an observation, all finite."""
        if self.features is None:
            numbers = self._flat(observation)
        else:
            numbers = self._extracted(observation)
            if self._size == 0:
                self._learn_size(numbers.size)
        if numbers.size != self._size:
            raise Error(
                f"an observation has {numbers.size} numbers, those before had {self._size}: the shape of observations must "
                "not change; give features=... that make equally many of each"
            )
        # one sum is finite where all numbers are: much quicker than asking each
        if not math.isfinite(numbers.sum()) and not np.isfinite(numbers).all():
            name = (
                (self.names or ["?"])[0]
                if self._angles
                else self.names[int(np.argmin(np.isfinite(numbers)))]
            )
            raise Error(
                f"an observation is not finite ({name} = {numbers[int(np.argmin(np.isfinite(numbers)))]}): no cell holds it; "
                "give features=... that leave it out or clip it"
            )
        if not self._angles:
            return numbers
        angles = [math.atan2(numbers[sine], numbers[cosine]) for cosine, sine in self._angles]
        return np.concatenate([numbers[self._kept], angles])

    def _extracted(self, observation: Any) -> Floats:
        """What the function given makes of an observation."""
        assert self.features is not None
        try:
            return np.asarray(self.features(observation), dtype=np.float64).ravel()
        except Error:
            raise
        except Exception as problem:
            raise Error(
                f"features: the function raised {type(problem).__name__} for {plain(observation)}: "
                f"{problem}"
            ) from problem

    def _learn_size(self, size: int) -> None:
        if not 0 < size <= MAX_FEATURES:
            raise Error(
                f"features: made {size} numbers of an observation; 1 to {MAX_FEATURES} are needed"
            )
        self._size = size
        self.names = [f"feature {k}" for k in range(size)]
        self.low, self.high = np.full(size, -np.inf), np.full(size, np.inf)
        self.whole = np.zeros(size, dtype=np.bool_)
        self._kept = np.arange(size)
        self._join_angles(self._given_angles)

    def _join_angles(self, angles: Sequence[tuple[int, int]]) -> None:
        """Replaces pairs of cosine and sine by angles, which come last."""
        if not angles:
            return
        used = [int(k) for pair in angles for k in pair]
        if len(set(used)) != len(used) or any(len(pair) != 2 for pair in angles):
            raise Error(
                f"angles = {list(angles)}: pairs of places (cosine, sine) are needed, each place once"
            )
        if any(not 0 <= k < self._size for k in used):
            raise Error(f"angles = {list(angles)}: places from 0 to {self._size - 1} are needed")
        self._angles = [(int(cosine), int(sine)) for cosine, sine in angles]
        self._kept = np.array([k for k in range(self._size) if k not in used], dtype=np.int64)
        more = [f"angle of {self.names[c]}, {self.names[s]}" for c, s in self._angles]
        turn = np.full(len(more), math.pi)
        self.names = [self.names[k] for k in self._kept] + more
        self.low = np.concatenate([self.low[self._kept], -turn])
        self.high = np.concatenate([self.high[self._kept], turn])
        self.whole = np.concatenate([self.whole[self._kept], np.zeros(len(more), dtype=np.bool_)])

    def _flat(self, observation: Any) -> Floats:
        if len(self._parts) == 1 and not self._parts[0].path:
            return self._parts[0].read(observation)
        return np.concatenate([part.read(_at(observation, part.path)) for part in self._parts])


def _at(observation: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        try:
            observation = observation[key]
        except (KeyError, IndexError, TypeError):
            raise Error(f"an observation has no part {key!r}: {observation!r}") from None
    return observation


class _Part:
    """One space within an observation."""

    def __init__(
        self,
        path: tuple[Any, ...],
        shape: tuple[int, ...],
        name: str,
        low: Any,
        high: Any,
        whole: bool,
    ) -> None:
        self.path, self.shape = path, shape
        size = math.prod(shape)
        name = name or "observation"
        self.names = [name] if size == 1 else [f"{name}[{k}]" for k in range(size)]
        self.low = np.broadcast_to(np.asarray(low, dtype=np.float64), shape).ravel()
        self.high = np.broadcast_to(np.asarray(high, dtype=np.float64), shape).ravel()
        self.whole = np.full(size, whole)

    def read(self, value: Any) -> Floats:
        try:
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise Error(
                f"{value!r} is no array of numbers: observations must be of the declared space"
            ) from None
        if array.shape != self.shape and array.size != len(self.names):
            raise Error(
                f"an observation has shape {array.shape}, its space {self.shape}: the shape of observations must not change"
            )
        return array.ravel()


def _parts(space: Any, name: str, path: tuple[Any, ...] = ()) -> list[_Part]:
    # by name, so that nothing needs Gymnasium to be installed
    kind = type(space).__name__
    if kind in ("Dict", "Tuple"):
        inner = space.spaces
        of = list(inner.items()) if isinstance(inner, Mapping) else list(enumerate(inner))
        found = []
        for key, part in of:
            found += _parts(part, f"{name}.{key}" if name else str(key), (*path, key))
        if not found:
            raise Error(f"{space} holds no numbers; give features=...")
        return found
    if kind == "Box":
        if len(space.shape) >= 3 or (
            np.dtype(space.dtype) == np.uint8 and math.prod(space.shape) > MAX_FEATURES
        ):
            raise Error(
                f"{space} holds images; cells of pixels say nothing: give the few numbers that matter with "
                "Abstraction(features=lambda observation: ...)"
            )
        values = space.high.astype(np.float64) - space.low.astype(np.float64)
        whole = np.dtype(space.dtype).kind in "iub" and bool((values < MAX_VALUES).all())
        return [_Part(path, tuple(space.shape), name, space.low, space.high, whole)]
    if kind == "Discrete":
        return [_Part(path, (), name, space.start, space.start + space.n - 1, True)]
    if kind == "MultiDiscrete":
        start = np.asarray(getattr(space, "start", 0))
        return [
            _Part(path, tuple(space.shape), name, start, start + np.asarray(space.nvec) - 1, True)
        ]
    if kind == "MultiBinary":
        return [_Part(path, tuple(space.shape), name, 0, 1, True)]
    raise Error(f"{space} holds no numbers; give Abstraction(features=lambda observation: ...)")
