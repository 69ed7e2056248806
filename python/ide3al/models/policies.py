"""Policies as arrays, and as the library takes them: one probability per state-action pair."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _ide3al
from .._ide3al import Error
from ..types import Floats, Integers
from .construction import numbers


def is_even(model: _ide3al.Model) -> bool:
    """Whether every state has every action."""
    return model.n_pairs == model.n_states * model.n_action_labels


def pairs(model: _ide3al.Model) -> tuple[Integers, Integers]:
    """State and action of each pair, in the order of the rows."""
    states = np.repeat(np.arange(model.n_states, dtype=np.int64), np.diff(model.first_pair))
    return states, model.actions


def probabilities(model: _ide3al.Model, policy: Any) -> Floats:
    """One probability per pair, from an array (S, A), rows per state, or such a list already."""
    if isinstance(policy, str):
        if policy != "uniform":
            raise Error(f"policy {policy!r}: give an array (S, A), or 'uniform'")
        counts = np.diff(model.first_pair)
        return np.repeat(1.0 / counts, counts)
    if isinstance(policy, (list, tuple)) and not is_even(model):
        if len(policy) != model.n_states:
            raise Error(
                f"policy: expected {model.n_states} rows, one per state, found {len(policy)}"
            )
        rows = [numbers(row, "policy").ravel() for row in policy]
        lengths = np.diff(model.first_pair)
        for state, (row, length) in enumerate(zip(rows, lengths, strict=True)):
            if row.size != length:
                raise Error(f"policy, state {state}: {row.size} probabilities for {length} actions")
        return np.concatenate(rows)
    array = numbers(policy, "policy")
    if array.shape == (model.n_pairs,):
        return array
    if array.shape != (model.n_states, model.n_action_labels):
        raise Error(
            f"policy: expected shape ({model.n_states}, {model.n_action_labels}), found {array.shape}"
        )
    states, actions = pairs(model)
    flat = array[states, actions]
    lacking = ~np.isclose(array.sum(axis=1), np.add.reduceat(flat, model.first_pair[:-1]))
    if lacking.any():
        state = int(np.argmax(lacking))
        raise Error(f"policy, state {state}: gives weight to an action that the state lacks")
    return np.ascontiguousarray(flat)


def shaped(model: _ide3al.Model, flat: Floats) -> Floats | list[Floats]:
    """(S, A) where every state has every action, else one row per state."""
    if is_even(model):
        return flat.reshape(model.n_states, model.n_action_labels)
    return np.split(flat, model.first_pair[1:-1])
