"""Which actions an environment allows at the moment: ``info["action_mask"]``, or
``env.action_masks()`` as Stable-Baselines3's contributions call it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .._ide3al import Error
from .discrete import DiscoveredStates

#: One truth value for each action.
Mask = npt.NDArray[np.bool_]
#: Key of a mask in the information that comes with an observation, or in the observation.
KEY = "action_mask"
#: The method of environments that are asked.
METHOD = "action_masks"


class MaskReader:
    """Reads the mask of the moment, as one truth value per numbered action."""

    def __init__(self, env: Any, action_space: Any, size: int) -> None:
        self._method = _method(env)
        self._space, self._size = action_space, size

    def read(self, observation: Any, info: Any) -> Mask | None:
        """The actions allowed now; nothing where the environment says nothing, or forbids all."""
        given = info.get(KEY) if isinstance(info, Mapping) else None
        if given is None and isinstance(observation, Mapping):
            given = observation.get(KEY)
        if given is None and self._method is not None:
            given = self._method()
        if given is None:
            return None
        return self.numbered(given)

    def numbered(self, given: Any) -> Mask | None:
        """A mask as the environment gives it, by the numbers of the actions."""
        mask = np.asarray(given)
        sizes = np.asarray(getattr(self._space, "nvec", ())).ravel()
        if mask.shape == (self._size,):
            allowed = mask.astype(np.bool_)
        elif sizes.size and mask.size == int(sizes.sum()):
            # one mask for each number of the action, one after the other
            allowed = np.ones(1, dtype=np.bool_)
            for part in np.split(mask.ravel().astype(np.bool_), np.cumsum(sizes)[:-1]):
                allowed = np.logical_and.outer(allowed, part).ravel()
        else:
            raise Error(
                f"{KEY}: {mask.size} truth values for {self._size} actions; one each is needed"
            )
        # where nothing is allowed the episode is over: the reset needs no action
        return allowed if allowed.any() else None


class VectorMaskReader:
    """Reads the masks of many environments at once, in this process or in others."""

    def __init__(self, env: Any, action_space: Any, size: int) -> None:
        n, inner = int(env.num_envs), getattr(env, "unwrapped", env)
        here = getattr(inner, "envs", None)
        singles = here or [None] * n
        self._readers = [MaskReader(one, action_space, size) for one in singles]
        self._asks = any(_method(one) is not None for one in singles)
        #: Asks environments in other processes, where all of them can be asked.
        self._call = None
        if here is None and callable(getattr(inner, "call", None)):
            # calling a method that is missing would end them: whether it is there is asked first
            if all(inner.call("has_wrapper_attr", METHOD)):
                self._call = inner.call

    def read(self, observations: Any, info: Any) -> list[Mask | None]:
        """The actions allowed now in each, by a batch of observations or a list of them."""
        n, given = len(self._readers), entry_of(info, KEY)
        there = entry_of(info, f"_{KEY}") if isinstance(info, Mapping) else None
        if there is None:
            there = np.ones(n, dtype=np.bool_)
        apart = isinstance(observations, list) and isinstance(observations[0], Mapping)
        if given is None and isinstance(observations, Mapping):
            given, there = observations.get(KEY), np.ones(n, dtype=np.bool_)
        if given is None and self._call is not None:
            given = self._call(METHOD)
        if given is None and not self._asks and not apart:
            return [None] * n
        found: list[Mask | None] = []
        for k, reader in enumerate(self._readers):
            one = {KEY: given[k]} if given is not None and there[k] else {}
            found.append(reader.read(observations[k] if apart else None, one))
        return found


def entry_of(info: Any, *names: str) -> Any:
    """An entry of the information of many environments, a dictionary or a list of them, by the
    first of some names; nothing where there is none."""
    if isinstance(info, Mapping):
        return next((info[name] for name in names if name in info), None)
    each = [entry_of(one, *names) for one in info]
    return each if any(one is not None for one in each) else None


def _method(env: Any) -> Any:
    """``action_masks`` of the environment or of what it wraps."""
    while env is not None:
        found = getattr(env, METHOD, None)
        if callable(found):
            return found
        env = getattr(env, "env", None)
    return None


class MaskedStates(DiscoveredStates):
    """States with the actions allowed in each when it was first met."""

    def __init__(self, space: Any, n_actions: int) -> None:
        super().__init__(space)
        self.n_actions = n_actions
        self.legal: list[npt.NDArray[np.int64]] = []

    @classmethod
    def restored(cls, met: DiscoveredStates, document: dict[str, Any]) -> MaskedStates:
        """With what :meth:`masks_to_dict` gave."""
        n_actions = int(document["n_actions"])
        states = cls(met.space, n_actions)
        states.restart(met.keys)
        states.legal = [np.array(actions, dtype=np.int64) for actions in document["legal"]]
        for actions in states.legal:
            if not len(actions) or actions.min() < 0 or actions.max() >= n_actions:
                raise ValueError("masks.json: no such action")
        return states

    def masks_to_dict(self) -> dict[str, Any]:
        """The actions allowed in each state, as JSON."""
        legal = [actions.tolist() for actions in self.legal]
        return {"n_actions": self.n_actions, "legal": legal}

    def allow(self, state: int, mask: Mask | None) -> int:
        """Remembers what is allowed in a state that is new; how many actions that are."""
        everything = np.arange(self.n_actions, dtype=np.int64)
        while len(self.legal) < state:
            self.legal.append(everything)
        if len(self.legal) == state:
            self.legal.append(everything if mask is None else np.flatnonzero(mask))
        return len(self.legal[state])

    def masks(self, n_states: int) -> Mask:
        """Which actions are allowed, (S, A)."""
        allowed = np.ones((n_states, self.n_actions), dtype=np.bool_)
        for state, legal in enumerate(self.legal[:n_states]):
            allowed[state] = False
            allowed[state, legal] = True
        return allowed

    def copy(self) -> MaskedStates:
        """One that goes on by itself."""
        other = MaskedStates(self.space, self.n_actions)
        other.restart(self.keys)
        other.legal = list(self.legal)
        return other


def is_allowed(action: int, mask: Mask | None) -> bool:
    """Whether an action may be taken; any may where nothing is masked."""
    return mask is None or bool(mask[action])


def nearest_legal(action: int, mask: Mask | None) -> int:
    """The action itself where it is allowed, else one that is: the same for the same mask."""
    if mask is None or mask[action]:
        return action
    legal = np.flatnonzero(mask)
    return int(legal[action % len(legal)])


def spread(rows: npt.NDArray[Any], masks: Mask) -> Any:
    """Values of the pairs that exist, one after the other, as (S, A) with zero elsewhere."""
    table = np.zeros(masks.shape, dtype=rows.dtype)
    table[masks] = rows
    return table
