"""Models of plans as JSON, and whether an environment is the one that was explored."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _ide3al
from .._ide3al import Error
from ..encoding.discrete import SpaceIndex
from ..models.mdp import MDP
from .decoder import Decoder


def model_document(mdp: MDP) -> dict[str, Any]:
    offsets, indices, values = mdp.rows()
    states, actions = mdp.pairs
    rewards = mdp.rewards
    return {
        "n_states": mdp.n_states,
        "states": states.tolist(),
        "actions": actions.tolist(),
        "rows": [offsets.tolist(), indices.tolist(), values.tolist()],
        "start": mdp.start.tolist(),
        "rewards": None if rewards is None else rewards.tolist(),
        "terminal": mdp.terminal,
    }


def model_from(document: dict[str, Any]) -> MDP:
    offsets, indices, values = document["rows"]
    whole = [np.array(part, dtype=np.int64) for part in (offsets, indices)]
    model = _ide3al.Model.from_pairs(
        int(document["n_states"]),
        np.array(document["states"], dtype=np.int64),
        np.array(document["actions"], dtype=np.int64),
        (whole[0], whole[1], np.array(values, dtype=np.float64)),
        np.array(document["start"], dtype=np.float64),
    )
    rewards = document["rewards"]
    given = None if rewards is None else np.array(rewards, dtype=np.float64)
    return MDP.from_native(_ide3al.model_with_rewards(model, given, document["terminal"]))


def check_spaces(env: Any, decoder: Decoder) -> None:
    """An error where an environment is not like the one that was explored."""
    for kind in ("observation_space", "action_space"):
        if not hasattr(env, kind):
            raise Error(f"{env!r} is no Gymnasium environment: it has no {kind}")
    if decoder.partition is not None:
        decoder.partition.check(env)
        return
    known = (getattr(decoder.encoder, "space", None), getattr(decoder.actions, "space", None))
    for name, mine, theirs in zip(
        ("observations", "actions"), known, (env.observation_space, env.action_space), strict=True
    ):
        if mine is not None and mine != theirs:
            raise Error(f"{name}: the plan was made for {mine}; the environment has {theirs}")
    if isinstance(decoder.encoder, SpaceIndex) and decoder.encoder.size != decoder.n_states:
        raise Error(
            f"the plan was made for {decoder.n_states} states; the environment has "
            f"{decoder.encoder.size}"
        )
