"""What a card holds, key by key, as ``card.json`` has it."""

from __future__ import annotations

from typing import Any, TypedDict


class CardEpisodes(TypedDict):
    """How many episodes there are, and how they ended."""

    number: int
    terminated: int
    truncated: int
    #: None where rewards are not finite; one number per objective where there are several.
    mean_return: float | list[float] | None


class CardStates(TypedDict):
    """Which states were met; None where states are numbered as they are met."""

    declared: int | None
    met: int
    terminal: int
    unmet: int | None
    unmet_named: list[Any]


class CardPairs(TypedDict):
    """Which state-action pairs were tried, of the states met that are not terminal."""

    of_states_met: int
    tried: int
    least_count: int
    least_tried_named: list[Any]
    untried: int
    untried_named: list[Any]


class CardCurve(TypedDict):
    """What the first steps cover: lists of equal length."""

    steps: list[float]
    pairs_tried: list[float]
    least_count: list[float]
    effective_states: list[float]


class CardGrid(TypedDict):
    """Visits per cell of a map, row by row; None for walls."""

    rows: int
    columns: int
    visits: list[int | None]
    cells: list[int]


class CardPromise(TypedDict, total=False):
    """How a promise stands: what was wanted, whether it holds, what is missing."""

    wanted: dict[str, Any]
    holds: bool
    steps: int
    text: str
    effective_states: float
    short: int
    short_named: list[list[int]]
    #: The certified least number of steps from nothing, and how the solve ended.
    least_steps: float
    least_status: str
    ratio: float | None
    least_further_steps: float
    unmet_named: list[str]
    reason: str


class _Counted(TypedDict):
    format: str
    steps: int
    episodes: CardEpisodes
    states: CardStates
    actions: int
    #: Entropy of the states, in nats, and its exponential.
    entropy: float
    effective_states: float
    #: The same of state-action pairs.
    state_action_entropy: float
    effective_pairs: float
    pairs: CardPairs
    curve: CardCurve
    grid: CardGrid | None


class DataCard(_Counted, total=False):
    """What data cover and what is missing, and where they come from as far as that is known."""

    environment: str
    policy: dict[str, Any]
    seed: int
    episode_steps: int | None
    learned: bool
    plans: list[dict[str, Any]]
    promise: CardPromise
    abstraction: dict[str, Any]
    completes: dict[str, Any]
    steps_left_out: int
