"""What is asked of the visits besides the formulation: weights and costs of states, which the user
names by their observations, as numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._check import real_number
from .._ide3al import Error
from ..planning.decoder import Decoder

#: Numbers for so many states, as the compiled agent takes them.
Asked = Callable[[int], dict[str, Any]]


def budgets_of(limits: Any) -> list[float]:
    """Budgets of limits, each of which is a cost and a budget."""
    try:
        pairs = [(cost, budget) for cost, budget in limits]
    except (TypeError, ValueError):
        raise Error(
            f"limits = {limits!r}: a list of pairs is needed, each a cost and its budget, for "
            "example [(is_dangerous, 0.05)]"
        ) from None
    return [real_number(f"budget of limit {k}", pair[1]) for k, pair in enumerate(pairs, start=1)]


def restart_of(restart: float | None, discount: float | None) -> float | None:
    """Probability of starting over at every step, from either of its names."""
    if restart is not None and discount is not None:
        raise Error("restart and discount say the same (discount = 1 - restart): give one of them")
    if discount is not None:
        if not 0 <= real_number("discount", discount) <= 1:
            raise Error(f"discount = {discount}: must be a number from 0 to 1")
        return 1.0 - discount
    return restart


def numbers(
    target: Any, limits: Sequence[tuple[Any, float]], restart: float, decoder: Decoder, size: int
) -> Asked:
    """A function that gives the numbers for the first so many states; ``size`` is the number of
    actions."""

    def of(n_states: int) -> dict[str, Any]:
        decoder.n_states = n_states
        costs = [
            (_values(f"limit {k}", cost, decoder, size), float(budget))
            for k, (cost, budget) in enumerate(limits, start=1)
        ]
        weights = None if target is None else _values("target", target, decoder, 1)
        if weights is not None and decoder.declared and not sum(weights) > 0:
            raise Error("target: no state has a positive weight")
        return {"target": weights, "wanted": None, "restart": restart, "limits": costs}

    return of


def _values(what: str, given: Any, decoder: Decoder, size: int) -> list[float]:
    """One number per state, or per state and action: of an array the numbers themselves, of a
    function what it says of each observation, of observations 1 for each of them."""
    n_states = decoder.n_states
    if isinstance(given, np.ndarray):
        shapes = [(n_states,)] if size == 1 else [(n_states,), (n_states, size)]
        if not decoder.declared:
            raise Error(
                f"{what}: states are numbered as they are met; give a function of an observation"
            )
        if given.shape not in shapes:
            wanted = " or ".join(str(shape) for shape in shapes)
            raise Error(f"{what}: an array of shape {wanted} is needed, not {given.shape}")
        return [real_number(what, x) for x in given.ravel().tolist()]
    if callable(given):
        met = min(n_states, _n_met(decoder))
        values = [_called(what, given, decoder.observation(s)) for s in range(met)]
        return values + [0.0] * (n_states - met)
    named = given if isinstance(given, list) else [given]
    found = {decoder.state(observation) for observation in named}
    if None in found and decoder.declared:
        raise Error(f"{what} = {given!r}: not all of these are observations of the environment")
    return [float(s in found) for s in range(n_states)]


def _n_met(decoder: Decoder) -> int:
    """How many states have an observation: none before the first was met."""
    if decoder.partition is not None:
        return len(decoder.partition.states)
    return 0 if decoder.encoder is None else decoder.encoder.size


def _called(what: str, function: Callable[[Any], Any], observation: Any) -> float:
    try:
        value = function(observation)
    except Exception as problem:
        raise Error(
            f"{what}: the function raised {type(problem).__name__} for {observation!r}: {problem}"
        ) from problem
    if isinstance(value, bool | np.bool_):
        return float(value)
    return real_number(f"{what} of {observation!r}", value)
