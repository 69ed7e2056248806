"""What an agent has observed and done, step by step, in bounded memory."""

from __future__ import annotations

import io

import numpy as np
import numpy.typing as npt

from ..types import Floats, Integers

#: What a moment's action was, where there was none: the episode ended there, was cut there, or
# goes on now.
TERMINAL, TRUNCATED, ONGOING = -1, -2, -3


class TransitionHistory:
    """One moment after the other: a vector and the action taken then. The last moment of an episode
    has no action but a reason. At most ``limit`` moments; ``full`` says when there is no room
    for more, and nothing is added then."""

    def __init__(self, size: int, limit: int) -> None:
        self.limit = limit
        self._vectors = np.empty((min(limit, 1024), size), dtype=np.float32)
        self._actions = np.empty(len(self._vectors), dtype=np.int32)
        self._rewards = np.zeros(len(self._vectors))
        self._length = 0
        self.full = False

    @classmethod
    def restored(
        cls,
        vectors: npt.NDArray[np.float32],
        actions: npt.NDArray[np.int32],
        limit: int,
        full: bool,
        rewards: Floats | None = None,
    ) -> TransitionHistory:
        """With what a file holds."""
        if vectors.ndim != 2 or actions.shape != (len(vectors),) or len(vectors) > limit:
            raise ValueError("the recorded steps do not fit together")
        log = cls(vectors.shape[1], limit)
        if len(vectors) > len(log._vectors):
            log._vectors, log._actions = vectors.copy(), actions.copy()
        else:
            log._vectors[: len(vectors)], log._actions[: len(vectors)] = vectors, actions
        # files of earlier versions kept none
        log._rewards = np.zeros(len(log._vectors)) * (1.0 if rewards is not None else np.nan)
        if rewards is not None:
            log._rewards[: len(rewards)] = rewards
        log._length, log.full = len(vectors), full
        return log

    def __len__(self) -> int:
        return self._length

    @property
    def vectors(self) -> Floats:
        return self._vectors[: self._length].astype(np.float64)

    @property
    def actions(self) -> Integers:
        return self._actions[: self._length].astype(np.int64)

    @property
    def rewards(self) -> Floats:
        """What each action earned; not a number where that was not kept."""
        return self._rewards[: self._length].copy()

    def begin(self, vector: npt.ArrayLike) -> None:
        """An episode begins; if one was under way it was cut."""
        if self._length and self._actions[self._length - 1] == ONGOING:
            self._actions[self._length - 1] = TRUNCATED
        self._append(vector)

    def step(self, action: int, vector: npt.ArrayLike, end: int, reward: float = 0.0) -> None:
        """An action was taken, which led to a vector; ``end`` as in the loop: 0 goes on, 1
        terminal, 2 cut."""
        if self.full:
            return
        self._actions[self._length - 1] = action
        self._rewards[self._length - 1] = reward
        self._append(vector)
        if end and not self.full:
            self._actions[self._length - 1] = TERMINAL if end == 1 else TRUNCATED

    def _append(self, vector: npt.ArrayLike) -> None:
        if self.full:
            return
        if self._length == self.limit:
            self.full = True
            # what follows was not recorded
            if self._actions[self._length - 1] >= 0 or self._actions[self._length - 1] == ONGOING:
                self._actions[self._length - 1] = TRUNCATED
            return
        if self._length == len(self._vectors):
            room = min(self.limit, 2 * self._length)
            for name in ("_vectors", "_actions", "_rewards"):
                old = getattr(self, name)
                new = np.empty((room, *old.shape[1:]), dtype=old.dtype)
                new[: self._length] = old
                setattr(self, name, new)
        self._vectors[self._length] = vector
        self._actions[self._length] = ONGOING
        self._length += 1

    def truncate(self) -> None:
        """Whatever goes on now is cut here."""
        if self._length and self._actions[self._length - 1] == ONGOING:
            self._actions[self._length - 1] = TRUNCATED

    def decisions(self, repeat: int) -> tuple[Integers, Integers]:
        """First and last moment of each decision; see :func:`decisions`."""
        return decisions(self.actions, repeat)


class JointHistory:
    """What was observed in many environments at once: one history each, read one behind the
    other."""

    def __init__(self, histories: list[TransitionHistory], limit: int) -> None:
        self._histories, self._limit = histories, limit

    def __len__(self) -> int:
        return sum(len(history) for history in self._histories)

    @property
    def full(self) -> bool:
        """Whether there is no room for more somewhere."""
        return any(history.full for history in self._histories)

    @property
    def vectors(self) -> Floats:
        """All moments; what goes on in one environment is followed by what began in the next."""
        return np.concatenate([history.vectors for history in self._histories])

    @property
    def actions(self) -> Integers:
        """The action of each moment, or why there was none."""
        return np.concatenate([history.actions for history in self._histories])

    @property
    def rewards(self) -> Floats:
        """What each action earned."""
        return np.concatenate([history.rewards for history in self._histories])

    def decisions(self, repeat: int) -> tuple[Integers, Integers]:
        """First and last moment of each decision; see :func:`decisions`."""
        return decisions(self.actions, repeat)

    def merged(self) -> TransitionHistory:
        """One history of all; what went on is cut."""
        for history in self._histories:
            history.truncate()
        whole = slice(max(0, len(self) - self._limit), None)
        return TransitionHistory.restored(
            self.vectors[whole].astype(np.float32),
            self.actions[whole].astype(np.int32),
            self._limit,
            self.full,
            self.rewards[whole],
        )


def save_history(history: TransitionHistory | JointHistory) -> bytes:
    """All moments as an archive of NumPy; :meth:`TransitionHistory.restored` takes its arrays."""
    buffer = io.BytesIO()
    np.savez(
        buffer,
        vectors=history.vectors.astype(np.float32),
        actions=history.actions.astype(np.int32),
        rewards=history.rewards,
    )
    return buffer.getvalue()


def decisions(actions: Integers, repeat: int) -> tuple[Integers, Integers]:
    """First and last moment of each stretch of ``repeat`` steps with one action, one after the
    other in each run of equal actions; a shorter rest counts where the episode was over there."""
    moves = actions >= 0
    # a run goes on while the action is the same
    new = np.ones(len(actions), dtype=np.bool_)
    new[1:] = actions[1:] != actions[:-1]
    at = np.arange(len(actions))
    run = np.maximum.accumulate(np.where(new, at, 0))
    first = at[moves & ((at - run) % repeat == 0)]
    ends = np.flatnonzero(new)
    after = np.append(ends[1:], len(actions))[np.searchsorted(ends, run[first])]
    last = np.minimum(first + repeat, after)
    whole = (last - first == repeat) | (actions[last] == TERMINAL) | (actions[last] == TRUNCATED)
    return first[whole], last[whole]
