"""Data sets: transitions with a card, that can be written in several formats."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from .. import _ide3al
from .._check import file_name
from .._display import html_table, text_table
from .._ide3al import Error
from ..encoding.raw import RawSteps
from ..models.mdp import MDP
from ..types import Integers
from .card import card_of, card_page, card_rows, card_text
from .card_types import DataCard
from .episode import Episode
from .formats.d3rlpy import d3rlpy_dataset
from .formats.minari import write_minari
from .formats.parquet import frame
from .formats.registry import FORMATS
from .replay import fill_buffer
from .tally import TransitionTally
from .transitions import Transitions


@dataclass(frozen=True, repr=False, eq=False)
class Data(Transitions):
    """Transitions as arrays, one entry per step, with a card that says what they cover.

    States and actions are numbers. Data come from :func:`collect` and :func:`audit`.

    Parameters
    ----------
    observations, actions : ndarray of int
        State and action of every step.
    rewards : ndarray of float
        Reward of every step.
    next_observations : ndarray of int
        Next state of every step.
    terminations, truncations : ndarray of bool
        Whether the episode ended there in a terminal state, or was truncated.
    n_states, n_actions : int
        How many there are.
    dataset : minari.MinariDataset, optional
        The Minari data set that was written or read.
    keys : tuple, optional
        What tells the states, by number, where they were numbered as they were met;
        :attr:`states` are the observations themselves.
    about : dict, optional
        Where the data come from; part of the card.
    spaces : tuple, optional
        The spaces of observations and actions.
    raw : RawSteps, optional
        Steps as a continuous environment took and gave them.
    allowed : numpy.ndarray of bool, optional
        Which actions were allowed, (S, A), where the environment masks any.
    """

    @cached_property
    def card(self) -> DataCard:
        """What the data cover and what is missing, as JSON."""
        return cast(DataCard, card_of(self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the data, or their card, to a file; whole or not at all.

        Parameters
        ----------
        path : path-like
            Name of the file: ``.npz`` and ``.parquet`` hold everything, ``.json`` and ``.html`` the
            card.

        Raises
        ------
        Error
            If the ending is another, or the file cannot be written.
        """
        name = file_name("path", path)
        suffix = Path(name).suffix
        if suffix in FORMATS:
            _ide3al.write_file(name, FORMATS[suffix].to_bytes(self, self.card))
        elif suffix in _CARDS:
            _ide3al.write_file(name, _CARDS[suffix](self.card).encode())
        else:
            raise Error(f"{name}: the ending says the format: {', '.join([*FORMATS, *_CARDS])}")

    def to_minari(self, dataset_id: str, env: Any = None, *, overwrite: bool = False) -> Any:
        """Write a Minari data set with the card in its metadata, whole or not at all.

        Data of a continuous environment are written as it gave them, one row per step of it.

        Parameters
        ----------
        dataset_id : str
            Name of the data set.
        env : gymnasium.Env, optional
            The environment, whose specification is stored.
        overwrite : bool, default False
            Whether to replace a data set of that name.

        Returns
        -------
        minari.MinariDataset
            The data set.

        Raises
        ------
        Error
            If there is one of that name, or the spaces are not known.
        """
        return write_minari(self, self.card, dataset_id, env, overwrite)

    def to_d3rlpy(self) -> Any:
        """Convert to the data set of d3rlpy.

        Returns
        -------
        d3rlpy.dataset.MDPDataset
            The data; those of a continuous environment as it gave them, else observations are
            numbers as 32-bit floats.
        """
        return d3rlpy_dataset(self)

    def to_polars(self) -> Any:
        """Convert to a frame with one row per step.

        Returns
        -------
        polars.DataFrame
            The data.
        """
        return frame(self)

    def tally(self) -> TransitionTally:
        """Count the transitions, with the mean and spread of their rewards.

        Returns
        -------
        TransitionTally
            The counts.
        """
        tally = TransitionTally()
        tally.record_episodes(self.episodes())
        return tally

    def model(self, on_terminal: Literal["reset", "absorb"] = "reset") -> MDP:
        """Make the model that the data suggest.

        Every pair does what it did as often as it was seen to, and earns what it earned on average.

        Pairs that were never tried are left out. Episodes end in the terminal states; a state in
        which nothing was tried is never left and earns the least reward there is, or nothing if
        that is more.

        Parameters
        ----------
        on_terminal : {"reset", "absorb"}
            Whether the next episode begins after a terminal state, as the average reward in the
            long run needs it, or it is never left.

        Returns
        -------
        MDP
            The model, with terminal states, and with rewards if there are any but 0.

        Raises
        ------
        Error
            If there are no data, or too many terminal and first states for one model.
        """
        if len(self) == 0:
            raise Error("these data have no steps, and so no model")
        if on_terminal not in ("reset", "absorb"):
            raise Error(f"on_terminal = {on_terminal!r}: known are 'reset' and 'absorb'")
        resets = on_terminal == "reset"
        rewarded = bool(self.rewards.any())
        model = self.tally().model(self.n_states, self.n_actions, resets=resets, rewarded=rewarded)
        return MDP.from_native(model)

    def fill(self, buffer: Any) -> int:
        """Add all steps to a replay buffer like Stable-Baselines3's, raw where states are cells.

        Parameters
        ----------
        buffer : object
            Has ``add(obs, next_obs, action, reward, done, infos)`` for ``n_envs`` environments
            (one), as ``stable_baselines3.common.buffers.ReplayBuffer``. The last step of a
            truncated episode has ``TimeLimit.truncated`` in its info, and ``Box`` actions are
            scaled to [-1, 1], as there.

        Returns
        -------
        int
            Number of steps added.

        Raises
        ------
        Error
            If the buffer is too small, for several environments, or of other spaces.
        """
        return fill_buffer(self, buffer)

    def save_card(self, folder: str | os.PathLike[str]) -> None:
        """Write ``card.json`` and ``card.html``.

        Parameters
        ----------
        folder : path-like
            Where to.

        Raises
        ------
        Error
            If a file cannot be written.
        """
        place = Path(file_name("folder", folder))
        _ide3al.write_file(place / "card.json", card_text(self.card).encode())
        _ide3al.write_file(place / "card.html", card_page(self.card).encode())

    def __repr__(self) -> str:
        return text_table("Data", card_rows(self.card))

    def _repr_html_(self) -> str:
        return html_table("Data", card_rows(self.card))


#: How a card alone is written, by the suffix of the file.
_CARDS = {".json": card_text, ".html": card_page}


def joined(
    episodes: Sequence[Episode],
    n_states: int,
    n_actions: int,
    keys: tuple[Hashable, ...] | None,
    about: dict[str, Any],
    spaces: tuple[Any, Any] | None,
) -> Data:
    """Episodes as arrays."""
    whole = [episode for episode in episodes if len(episode)]
    empty_states: list[Integers] = [np.zeros(0, dtype=np.int64)]
    steps = sum(len(episode) for episode in whole)
    terminations, truncations = np.zeros((2, steps), dtype=np.bool_)
    ends = np.cumsum([len(episode) for episode in whole], dtype=np.int64) - 1
    terminations[ends] = [episode.terminated for episode in whole]
    truncations[ends] = [not episode.terminated for episode in whole]
    return Data(
        observations=np.concatenate(empty_states + [episode.states[:-1] for episode in whole]),
        actions=np.concatenate(empty_states + [episode.actions for episode in whole]),
        rewards=np.concatenate([episode.rewards for episode in whole]) if whole else np.zeros(0),
        next_observations=np.concatenate(empty_states + [episode.states[1:] for episode in whole]),
        terminations=terminations,
        truncations=truncations,
        n_states=n_states,
        n_actions=n_actions,
        keys=keys,
        about=about,
        spaces=spaces,
        raw=_raw(whole),
        allowed=_allowed(whole, n_states, n_actions),
    )


def _raw(episodes: Sequence[Episode]) -> RawSteps | None:
    raw = [episode.raw for episode in episodes if episode.raw is not None]
    return RawSteps.of(raw, None) if raw and len(raw) == len(episodes) else None


def _allowed(
    episodes: Sequence[Episode], n_states: int, n_actions: int
) -> npt.NDArray[np.bool_] | None:
    """Actions allowed in each state at some time."""
    if all(episode.allowed is None for episode in episodes):
        return None
    allowed = np.zeros((n_states, n_actions), dtype=np.bool_)
    for episode in episodes:
        if episode.allowed is None:
            allowed[episode.states] = True
        else:
            np.logical_or.at(allowed, episode.states, episode.allowed)
    # of what was never met nothing is known
    return allowed | ~allowed.any(axis=1, keepdims=True)
