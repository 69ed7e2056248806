"""Counts of transitions with the mean and spread of their rewards: what planning starts from."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from .. import _ide3al
from .._ide3al import Error
from ..types import Floats, Integers
from .episode import Episode

#: Most transitions from terminal states to first states: 800 MB of memory.
MOST_RESETS = 50_000_000


def as_number(reward: Any) -> float:
    """A reward as one number; not a number where it is something else, such as several."""
    try:
        return float(reward)
    except (TypeError, ValueError):
        return float("nan")


class TransitionTally:
    """How often each action led from each state to each other, what was earned on the way, where
    episodes began and which states ended them."""

    def __init__(self) -> None:
        #: (state, action, next state): count, mean reward, sum of squared deviations.
        self._steps: dict[tuple[int, int, int], list[float]] = {}
        self._starts: dict[int, int] = {}
        self._terminal: set[int] = set()

    def __len__(self) -> int:
        """Number of steps recorded."""
        return int(sum(entry[0] for entry in self._steps.values()))

    def begin(self, state: int) -> int:
        """Records that an episode begins in ``state``; returns it."""
        self._starts[state] = self._starts.get(state, 0) + 1
        return state

    def record(
        self, state: int, action: int, reward: Any, next_state: int, terminated: bool
    ) -> None:
        """Records one step (Welford's update of mean and spread)."""
        reward = as_number(reward)
        entry = self._steps.setdefault((state, action, next_state), [0, 0.0, 0.0])
        entry[0] += 1
        change = reward - entry[1]
        entry[1] += change / entry[0]
        entry[2] += change * (reward - entry[1])
        if terminated:
            self._terminal.add(next_state)

    def record_episodes(self, episodes: Iterable[Episode]) -> None:
        """Records whole episodes."""
        for episode in episodes:
            states, last = episode.states.tolist(), len(episode) - 1
            self.begin(states[0])
            steps = zip(states, episode.actions.tolist(), episode.rewards.tolist(), states[1:])
            for k, (state, action, reward, reached) in enumerate(steps):
                self.record(state, action, reward, reached, episode.terminated and k == last)

    @property
    def rows(self) -> Integers:
        """State, action, next state and count of each transition seen, sorted."""
        keys = sorted(self._steps)
        counts = [[*key, int(self._steps[key][0])] for key in keys]
        return np.array(counts, dtype=np.int64).reshape(-1, 4)

    @property
    def rewards(self) -> Floats:
        """Mean and variance of the rewards of each of the :attr:`rows`."""
        entries = [self._steps[key] for key in sorted(self._steps)]
        return np.array([[e[1], max(e[2] / e[0], 0.0)] for e in entries]).reshape(-1, 2)

    @property
    def starts(self) -> list[tuple[int, int]]:
        """First states of episodes, and how often."""
        return sorted(self._starts.items())

    @property
    def terminal(self) -> list[int]:
        """States that ended an episode and in which no action was taken."""
        acted = {key[0] for key in self._steps}
        return sorted(self._terminal - acted)

    def start_distribution(self, n_states: int) -> Floats:
        """Shares of the first states."""
        start = np.zeros(n_states)
        for state, count in self.starts:
            start[state] = count
        return start / start.sum() if start.any() else np.full(n_states, 1 / n_states)

    def tried(self, n_states: int, n_actions: int, declared: bool) -> _ide3al.Tried:
        """As the library takes it; ``declared`` says that the number of states was known before."""
        steps = [tuple(row) for row in self.rows.tolist()]
        rewards = [tuple(row) for row in self.rewards.tolist()]
        return _ide3al.Tried(
            steps, rewards, self.starts, self.terminal, n_states, n_actions, declared
        )

    def model(
        self,
        n_states: int,
        n_actions: int,
        *,
        reward: Floats | None = None,
        terminal: Iterable[int] = (),
        untried: float | None = None,
        resets: bool = False,
        rewarded: bool = True,
    ) -> _ide3al.Model:
        """The model in which every pair does what it did as often as it was seen to.

        ``reward`` replaces the rewards of the :attr:`rows`; without ``rewarded`` there are none.
        Episodes end in the terminal states and those of ``terminal``: these are never left, or with
        ``resets`` lead to the first states of episodes, as often as each was one. A pair that was
        never tried is left out, unless ``untried`` says what it earns at every step for ever; a
        state in which nothing was tried earns the least reward there is for ever, or nothing if
        that is more.
        """
        rows = self.rows
        mean = self.rewards[:, 0] if reward is None else reward
        ended = sorted({*self.terminal, *(int(s) for s in terminal)})
        keep = ~np.isin(rows[:, 0], ended)
        rows, mean = rows[keep], mean[keep]
        pairs, place = np.unique(rows[:, 0] * n_actions + rows[:, 1], return_inverse=True)
        total = np.bincount(place, weights=rows[:, 3], minlength=len(pairs))
        share = rows[:, 3] / total[place] if len(rows) else np.zeros(0)
        earned = np.bincount(place, weights=share * mean, minlength=len(pairs))
        offsets = np.searchsorted(place, np.arange(len(pairs) + 1))
        least = min(0.0, float(mean.min(initial=0.0)))
        whole = np.arange(n_states * n_actions)
        stuck = np.setdiff1d(np.arange(n_states), pairs // n_actions) * n_actions
        extra, worth = stuck, np.full(len(stuck), least)
        if untried is not None:
            open_pairs = np.setdiff1d(whole, pairs)
            extra = open_pairs[~np.isin(open_pairs // n_actions, ended)]
            worth = np.full(len(extra), untried)
            closed = np.asarray(ended, dtype=np.int64) * n_actions
            extra, worth = np.concatenate([extra, closed]), np.append(worth, np.zeros(len(closed)))
        over = np.isin(extra // n_actions, ended)
        worth = np.where(over, 0.0, worth)
        begins = self.start_distribution(n_states)
        after, shares, lengths = _after(extra // n_actions, over & resets, begins)
        states = np.concatenate([pairs, extra]) // n_actions
        actions = np.concatenate([pairs, extra]) % n_actions
        more = len(rows) + np.cumsum(lengths)
        compressed = (
            np.concatenate([offsets, more]).astype(np.int64),
            np.concatenate([rows[:, 2], after]).astype(np.int64),
            np.concatenate([share, shares]),
        )
        model = _ide3al.Model.from_pairs(n_states, states, actions, compressed, begins)
        order = np.lexsort((actions, states))
        rewards = np.ascontiguousarray(np.concatenate([earned, worth])[order])
        return _ide3al.model_with_rewards(model, rewards if rewarded else None, ended)

    def to_bytes(self) -> bytes:
        """Contents of a file."""
        buffer = io.BytesIO()
        arrays: dict[str, Any] = {
            "rows": self.rows,
            "rewards": self.rewards,
            "starts": np.array(self.starts, dtype=np.int64).reshape(-1, 2),
            "terminal": np.array(sorted(self._terminal), dtype=np.int64),
        }
        np.savez_compressed(buffer, **arrays)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """What :meth:`to_bytes` gave."""
        tally = cls()
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            rows, rewards = arrays["rows"].tolist(), arrays["rewards"].tolist()
            for (state, action, reached, count), (mean, variance) in zip(
                rows, rewards, strict=True
            ):
                entry = [float(count), float(mean), float(variance) * count]
                tally._steps[int(state), int(action), int(reached)] = entry
            tally._starts = {int(s): int(c) for s, c in arrays["starts"].tolist()}
            tally._terminal = {int(s) for s in arrays["terminal"].tolist()}
        return tally

    def check(self) -> None:
        """An error where nothing was recorded."""
        if not self._steps:
            raise Error(
                "no steps were recorded to plan from: fit the agent first, or, if it was saved by "
                "an earlier version, fit it again"
            )


def _after(
    states: Integers, begins_anew: npt.NDArray[np.bool_], start: Floats
) -> tuple[Integers, Floats, Integers]:
    """Successors, their shares and the number of them, of states that are never left, and of those
    after which an episode begins."""
    first = np.flatnonzero(start)
    lengths = np.where(begins_anew, len(first), 1)
    if lengths.sum() > MOST_RESETS:
        raise Error(
            f"{int(begins_anew.sum())} terminal states with {len(first)} first states after each "
            "are too many for one model; leave on_terminal='absorb', or plan with a discount"
        )
    after, shares = np.repeat(states, lengths), np.ones(int(lengths.sum()))
    places = np.repeat(begins_anew, lengths)
    after[places] = np.tile(first, int(begins_anew.sum()))
    shares[places] = np.tile(start[first], int(begins_anew.sum()))
    return after, shares, lengths
