"""Rivals that choose each action with all that was seen until then."""

from __future__ import annotations

from .._arguments import checked_names
from ..encoding.abstraction import Abstraction
from .base import Agent


class RMax(Agent):
    """R-MAX without rewards (Brafman and Tennenholtz 2002), the classic rival.

    Pairs tried fewer than ``known`` times are worth most, the others what the estimated model says,
    and the greedy policy is followed, planned anew as soon as a pair becomes known. What it hands
    over is the policy of its own visits.

    Parameters
    ----------
    known : int, optional
        Tries after which a pair is known; 1 unless given.
    levels : bool, default True
        Whether ``known`` grows by one where no unknown pair can be reached any more. Otherwise any
        action is taken then.
    batch_size : int, optional
        Steps between two calls of the callback; a tenth of the steps so far unless given.
    abstraction : Abstraction, optional
        How a continuous environment is cut into cells and a few actions.
    seed : int, default 0
        Seed of the environment and of all draws; equal seeds give equal results.

    Raises
    ------
    Error
        If an argument is out of range.

    Examples
    --------
    >>> import gymnasium, ide3al
    >>> rival = ide3al.RMax(seed=1).fit(gymnasium.make("FrozenLake-v1"), 500)
    >>> rival.visits.shape
    (16, 4)
    """

    _algorithm = "rmax-levels"

    @checked_names()
    def __init__(
        self,
        *,
        known: int | None = None,
        levels: bool = True,
        batch_size: int | None = None,
        abstraction: Abstraction | None = None,
        seed: int | None = 0,
    ) -> None:
        self._algorithm = "rmax-levels" if levels else "rmax"
        super().__init__(batch_size=batch_size, seed=seed, abstraction=abstraction, known=known)


class RFUCRL(Agent):
    """Reward-free UCRL (Kaufmann et al. 2021): follow an upper bound of the values' error.

    After every ``horizon`` steps the error that any policy's value may have for any reward is
    bounded for each step of the next ``horizon``, and the action with the largest bound is taken.
    The authors reset the environment every ``horizon`` steps, which a time limit of as many does;
    otherwise it goes on from where it is. What it hands over is the policy of its own visits.

    Parameters
    ----------
    horizon : int, optional
        Steps looked ahead; 20 unless given.
    discount : float, optional
        Discount of the rewards; 0.99 unless given.
    batch_size : int, optional
        Steps between two calls of the callback; a tenth of the steps so far unless given.
    abstraction : Abstraction, optional
        How a continuous environment is cut into cells and a few actions.
    seed : int, default 0
        Seed of the environment and of all draws; equal seeds give equal results.

    Raises
    ------
    Error
        If an argument is out of range.

    Examples
    --------
    >>> import gymnasium, ide3al
    >>> rival = ide3al.RFUCRL(seed=1).fit(gymnasium.make("FrozenLake-v1"), 500)
    >>> rival.visits.shape
    (16, 4)
    """

    _algorithm = "rf-ucrl"

    @checked_names()
    def __init__(
        self,
        *,
        horizon: int | None = None,
        discount: float | None = None,
        batch_size: int | None = None,
        abstraction: Abstraction | None = None,
        seed: int | None = 0,
    ) -> None:
        super().__init__(
            batch_size=batch_size,
            seed=seed,
            abstraction=abstraction,
            horizon=horizon,
            discount=discount,
        )


class EntGame(Agent):
    """EntGame (Tiapkin et al. 2023): a game whose value is the entropy of visits.

    One player predicts the next pair of a state and an action from the visits so far, the other
    goes where the prediction is poor, after every ``horizon`` steps along the largest upper bound
    of what it may earn. Resets and what is handed over are as with :class:`RFUCRL`.

    Parameters
    ----------
    horizon : int, optional
        Steps looked ahead; 20 unless given.
    batch_size : int, optional
        Steps between two calls of the callback; a tenth of the steps so far unless given.
    abstraction : Abstraction, optional
        How a continuous environment is cut into cells and a few actions.
    seed : int, default 0
        Seed of the environment and of all draws; equal seeds give equal results.

    Raises
    ------
    Error
        If an argument is out of range.

    Examples
    --------
    >>> import gymnasium, ide3al
    >>> rival = ide3al.EntGame(seed=1).fit(gymnasium.make("FrozenLake-v1"), 500)
    >>> rival.visits.shape
    (16, 4)
    """

    _algorithm = "ent-game"

    @checked_names()
    def __init__(
        self,
        *,
        horizon: int | None = None,
        batch_size: int | None = None,
        abstraction: Abstraction | None = None,
        seed: int | None = 0,
    ) -> None:
        super().__init__(batch_size=batch_size, seed=seed, abstraction=abstraction, horizon=horizon)
