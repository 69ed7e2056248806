"""Observations as numbers from 0: those of finite Gymnasium spaces by place, all others as they are
met."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .._extras import need
from .._ide3al import Error

#: Most elements of a space that is explored as a table.
MAX_SIZE = 1_000_000


class SpaceIndex:
    """Numbers the elements of a finite space: ``size``, ``number(element)``,
    ``element(number)``.

    ``Discrete``, ``MultiDiscrete``, ``MultiBinary``, and tuples and dictionaries of them, to
    any depth. Composite spaces count like digits, the last one fastest.
    """

    #: What the numbers leave out: nothing.
    notes: tuple[str, ...] = ()

    def __init__(self, space: Any) -> None:
        self.space = space
        self.size, self._number, self._element = _index(space)
        if self.size > MAX_SIZE:
            raise Error(
                f"{space} has {self.size} elements; a table of more than {MAX_SIZE} is not sensible"
            )

    def __getstate__(self) -> dict[str, Any]:
        """All but the functions, which no copy can hold and the space gives again."""
        functions = ("_number", "_element", "on_beyond")
        return {name: value for name, value in self.__dict__.items() if name not in functions}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        _, self._number, self._element = _index(self.space)

    def number(self, element: Any) -> int:
        """The number of an element; an error if the space does not contain it."""
        try:
            number = self._number(element)
        except (TypeError, ValueError, KeyError, IndexError) as problem:
            raise Error(f"{element!r} is no element of {self.space}: {problem}") from None
        return number

    def element(self, number: int) -> Any:
        """The element with a number."""
        if not 0 <= number < self.size:
            raise Error(f"{number} is out of range: {self.space} has {self.size} elements")
        return self._element(number)


class GrowingIndex(SpaceIndex):
    """Numbers observations of a finite space by place, and any that lie beyond it as they are met:
    an environment that leaves its declared space is explored all the same."""

    #: Called with the first observation beyond the space, before it is numbered.
    on_beyond: Callable[[Any], None] | None = None

    def __init__(self, space: Any) -> None:
        super().__init__(space)
        self.declared = self.size
        self.beyond: dict[Hashable, int] = {}

    def number(self, element: Any) -> int:
        try:
            return self._number(element)
        except (TypeError, ValueError, KeyError, IndexError) as problem:
            if not _resembles(self.space, element):
                raise Error(f"{element!r} is no element of {self.space}: {problem}") from None
        key = to_key(element)
        if key not in self.beyond:
            if not self.beyond and self.on_beyond is not None:
                self.on_beyond(element)
            self.beyond[key] = self.size
            self.size += 1
        return self.beyond[key]

    def find(self, element: Any) -> int | None:
        """The number of an observation, if it is declared or was met."""
        try:
            return self._number(element)
        except (TypeError, ValueError, KeyError, IndexError) as problem:
            if not _resembles(self.space, element):
                raise Error(f"{element!r} is no element of {self.space}: {problem}") from None
        return self.beyond.get(to_key(element))

    def element(self, number: int) -> Any:
        if number >= self.declared:
            return from_key(self.space, list(self.beyond)[number - self.declared])
        return super().element(number)

    def admit(self, keys: Iterable[Hashable]) -> None:
        """Has met these beyond the space."""
        self.beyond = {key: self.declared + k for k, key in enumerate(keys)}
        self.size = self.declared + len(self.beyond)

    def as_discovered(self) -> DiscoveredStates:
        """The same numbers, each with its key."""
        states = DiscoveredStates(self.space)
        states.restart(to_key(self.element(k)) for k in range(self.size))
        return states


def _resembles(space: Any, element: Any) -> bool:
    """Whether this is of the same kind as the elements of a space, wherever its values lie."""
    kind = type(space).__name__
    if kind == "Discrete":
        return isinstance(element, int | np.integer) or (
            isinstance(element, np.ndarray) and element.ndim == 0 and element.dtype.kind in "iu"
        )
    if kind in ("MultiDiscrete", "MultiBinary"):
        array = np.asarray(element)
        return array.shape == tuple(space.shape) and array.dtype.kind in "iub"
    parts = getattr(space, "spaces", None)
    if isinstance(parts, Mapping):
        return isinstance(element, Mapping) and set(element) == set(parts)
    return parts is not None and isinstance(element, tuple | list) and len(element) == len(parts)


class DiscoveredStates:
    """Numbers observations in the order in which they are met, for spaces that are not finite or
    too large for a table: ``size``, ``number(observation)``, ``find(observation)``."""

    def __init__(self, space: Any = None) -> None:
        self.space = space
        self._numbers: dict[Hashable, int] = {}

    @property
    def size(self) -> int:
        return len(self._numbers)

    @property
    def keys(self) -> list[Hashable]:
        """What was met, by number."""
        return list(self._numbers)

    def number(self, observation: Any) -> int:
        """The number of an observation, a new one if it was never met."""
        return self._numbers.setdefault(to_key(observation), len(self._numbers))

    def find(self, observation: Any) -> int | None:
        """The number of an observation, if it was met."""
        return self._numbers.get(to_key(observation))

    def take(self, key: Hashable) -> int:
        """The number of what has a key, a new one if it was never met."""
        return self._numbers.setdefault(key, len(self._numbers))

    def forget(self, size: int) -> None:
        """Forgets all that was met after the first ``size``."""
        while len(self._numbers) > size:
            self._numbers.popitem()

    def restart(self, keys: Iterable[Hashable]) -> None:
        """Has met these and nothing else."""
        self._numbers = {key: k for k, key in enumerate(keys)}

    def copy(self) -> DiscoveredStates:
        """One that goes on by itself."""
        other = DiscoveredStates(self.space)
        other._numbers = dict(self._numbers)
        return other

    def save(self) -> str:
        """All that was met, as text."""
        return literal(self.keys)

    @classmethod
    def load(cls, text: str) -> DiscoveredStates:
        found = cls()
        for k, key in enumerate(read_literal(text)):
            if found._numbers.setdefault(key, k) != k:
                raise ValueError("an observation is listed twice")
        return found


def read_literal(text: str) -> Any:
    """What :func:`literal` wrote; plain values only, no code."""
    try:
        return ast.literal_eval(text)
    except (RecursionError, MemoryError) as problem:
        raise ValueError(f"nested too deeply: {problem}") from None


def literal(keys: Sequence[Hashable]) -> str:
    """Keys as text that reads back as the same keys."""
    text = repr(keys)
    try:
        same = ast.literal_eval(text) == keys
    except (ValueError, SyntaxError):
        same = False
    if not same:
        raise Error(
            "observations that are no numbers, strings, arrays or tuples of them cannot be written to a "
            "file; wrap the environment so that it returns such"
        )
    return text


def from_key(space: Any, key: Any) -> Any:
    """The observation with a key, as the space has it: the inverse of :func:`to_key` where the
    space says what is what."""
    parts = getattr(space, "spaces", None)
    if isinstance(parts, Mapping):
        return {name: from_key(parts[name], part) for name, part in key}
    kind = type(space).__name__
    if kind == "OneOf" and parts is not None:
        return np.int64(key[0]), from_key(parts[key[0]], key[1])
    if kind == "Sequence" and not getattr(space, "stack", False):
        return tuple(from_key(space.feature_space, part) for part in key)
    if kind == "Graph":
        graph = need("gymnasium.spaces", "gymnasium").GraphInstance
        return graph(*(from_key(None, part) for part in key))
    if parts is not None:
        return tuple(from_key(inner, part) for inner, part in zip(parts, key, strict=True))
    if isinstance(key, tuple) and len(key) == 3 and isinstance(key[2], bytes):
        shape, dtype, content = key
        return np.frombuffer(content, dtype=dtype).reshape(shape).copy()
    if kind == "Discrete":
        return np.int64(key)
    if space is None and isinstance(key, tuple) and key:
        # what the space would say is told from the key: parts with names are a dictionary
        if all(isinstance(k, tuple) and len(k) == 2 and isinstance(k[0], str) for k in key):
            return {name: from_key(None, part) for name, part in key}
        return tuple(from_key(None, part) for part in key)
    return key


def to_key(observation: Any) -> Hashable:
    """An observation as a key: equal observations have equal keys."""
    if isinstance(observation, np.ndarray):
        if observation.dtype.kind == "f" and np.isnan(observation).any():
            raise Error(
                f"observation {observation} is not a number (NaN): no two of them are equal"
            )
        if observation.dtype.kind not in "biufSU":
            return tuple(to_key(part) for part in observation.tolist())
        if observation.dtype.kind == "f":
            # zero has two signs, and is one number
            observation = observation + observation.dtype.type(0)
        return observation.shape, observation.dtype.str, observation.tobytes()
    if isinstance(observation, np.generic):
        observation = observation.item()
    if isinstance(observation, float) and math.isnan(observation):
        raise Error("an observation is not a number (NaN): no two of them are equal")
    if isinstance(observation, Mapping):
        names = list(observation)
        if any(not isinstance(name, str) for name in names) or names != sorted(names):
            # whoever builds the dictionary in another order means the same
            names = sorted(names, key=lambda name: (type(name).__name__, repr(name)))
        return tuple((name, to_key(observation[name])) for name in names)
    if isinstance(observation, tuple | list):
        return tuple(to_key(part) for part in observation)
    try:
        hash(observation)
    except TypeError:
        raise Error(
            f"an observation of type {type(observation).__name__} cannot be told from others (it is not hashable); "
            "return a number, a string, an array, or a tuple or dictionary of them, for example with "
            "gymnasium.wrappers.TransformObservation"
        ) from None
    key: Hashable = observation
    return key


def state_encoder(space: Any) -> SpaceIndex | DiscoveredStates:
    """Numbers of observations: by place in a finite space, else as they are met."""
    if is_continuous(space):
        raise Error(
            f"{space} is not finite; sort it into bins first: "
            "ide3al.wrappers.Discretize(env, {name: edges, ...})"
        )
    try:
        return GrowingIndex(space)
    except Error:
        return DiscoveredStates(space)


def is_continuous(space: Any) -> bool:
    """Whether some part holds real numbers: hardly any observation would be met twice."""
    parts = getattr(space, "spaces", None)
    if parts is not None:
        return any(
            is_continuous(part)
            for part in (parts.values() if isinstance(parts, Mapping) else parts)
        )
    dtype = getattr(space, "dtype", None)
    return type(space).__name__ == "Box" and dtype is not None and np.dtype(dtype).kind == "f"


_Functions = tuple[int, Callable[[Any], int], Callable[[int], Any]]


def _digit(value: Any, start: int, size: int) -> int:
    number = int(value) - start
    if number != value - start or not 0 <= number < size:
        raise ValueError(f"{value} does not lie in {start}..{start + size - 1}")
    return number


def _index(space: Any) -> _Functions:
    # by name, so that nothing needs Gymnasium to be installed
    kind = type(space).__name__
    if kind == "Discrete":
        n, start = int(space.n), int(space.start)
        return n, lambda x: _digit(x, start, n), lambda k: np.int64(k + start)
    if kind in ("MultiDiscrete", "MultiBinary"):
        if kind == "MultiDiscrete":
            sizes = np.asarray(space.nvec, dtype=np.int64)
            starts = np.broadcast_to(np.asarray(getattr(space, "start", 0)), sizes.shape)
        else:
            sizes = np.full(space.shape, 2, dtype=np.int64)
            starts = np.zeros_like(sizes)
        return _digits(sizes, starts, space.dtype)
    if kind == "Tuple":
        return _product(
            [_index(part) for part in space.spaces],
            lambda x: list(x),
            lambda parts: tuple(parts),
        )
    if kind == "Dict":
        keys = list(space.spaces)

        def values(x: Mapping[Any, Any]) -> list[Any]:
            return [x[key] for key in keys]

        return _product(
            [_index(part) for part in space.spaces.values()],
            values,
            lambda parts: dict(zip(keys, parts, strict=True)),
        )
    if kind == "Box":
        raise Error(
            f"{space} is not finite; sort it into bins first: "
            "ide3al.wrappers.Discretize(env, {name: edges, ...})"
        )
    raise Error(
        f"{space} is not finite: Discrete, MultiDiscrete, MultiBinary and tuples and "
        "dictionaries of them are"
    )


def _digits(sizes: Any, starts: Any, dtype: Any) -> _Functions:
    flat = [int(n) for n in sizes.ravel()]
    first = [int(s) for s in starts.ravel()]

    def number(x: Any) -> int:
        array = np.asarray(x)
        if array.shape != sizes.shape:
            raise ValueError(f"shape {array.shape}, not {sizes.shape}")
        total = 0
        for value, start, n in zip(array.ravel().tolist(), first, flat, strict=True):
            total = total * n + _digit(value, start, n)
        return total

    def element(k: int) -> Any:
        digits = []
        for n in reversed(flat):
            k, digit = divmod(k, n)
            digits.append(digit)
        array = np.asarray(digits[::-1], dtype=dtype).reshape(sizes.shape)
        return (array + starts).astype(dtype)

    return math.prod(flat), number, element


def _product(
    parts: list[_Functions],
    split: Callable[[Any], list[Any]],
    join: Callable[[list[Any]], Any],
) -> _Functions:
    def number(x: Any) -> int:
        values = split(x)
        if len(values) != len(parts):
            raise ValueError(f"{len(values)} parts, not {len(parts)}")
        total = 0
        for value, (size, inner, _) in zip(values, parts, strict=True):
            total = total * size + inner(value)
        return total

    def element(k: int) -> Any:
        values = []
        for size, _, inner in reversed(parts):
            k, digit = divmod(k, size)
            values.append(inner(digit))
        return join(values[::-1])

    return math.prod(size for size, _, _ in parts), number, element
