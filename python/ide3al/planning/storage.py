"""Plans as files, and whether an environment is the one that was explored."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _ide3al
from .._archives import check_expansion
from .._ide3al import Error
from ..encoding.adaptive import AdaptivePartition
from ..encoding.discrete import DiscoveredStates, SpaceIndex, state_encoder
from ..models.mdp import MDP
from ..types import Floats
from .decoder import Decoder
from .plan import Answer

#: What reading a file that is no plan may raise.
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, AttributeError, LookupError, TypeError, ValueError,
    OverflowError, RuntimeError, EOFError,
)  # fmt: skip


@dataclass(frozen=True)
class StoredPlan:
    """What a file holds of a plan, but for its states."""

    mdp: MDP
    criterion: str
    answer: Answer
    details: dict[str, Any]
    #: The reward, if it was given as an array.
    table: Floats | None


def plan_bytes(plan: StoredPlan, decoder: Decoder) -> bytes:
    """Contents of a file."""
    values, error, tables, flat, steps, certificate = plan.answer
    arrays: dict[str, Any] = {"values": values, "flat": flat}
    if steps is not None:
        arrays["steps"] = steps
    if plan.table is not None:
        arrays["reward"] = plan.table
    document = {
        "criterion": plan.criterion,
        "error": error,
        "tables": tables,
        "certificate": certificate,
        "details": plan.details,
    }
    buffer, packed = io.BytesIO(), io.BytesIO()
    np.savez_compressed(packed, **arrays)
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("plan.json", json.dumps(document))
        archive.writestr("plan.npz", packed.getvalue())
        archive.writestr("model.json", json.dumps(model_document(plan.mdp)))
        if decoder.partition is not None:
            archive.writestr("cells.json", json.dumps(decoder.partition.save()))
        elif isinstance(decoder.encoder, DiscoveredStates):
            archive.writestr("observations.txt", decoder.encoder.save())
    return buffer.getvalue()


def read_plan(
    name: str, env: Any, features: Callable[[Any], Any] | None
) -> tuple[StoredPlan, Decoder]:
    """What a file holds; an error that names it where it is damaged."""
    try:
        with zipfile.ZipFile(name) as archive:
            check_expansion(archive)
            document = json.loads(archive.read("plan.json"))
            mdp = model_from(json.loads(archive.read("model.json")))
            with np.load(io.BytesIO(archive.read("plan.npz")), allow_pickle=False) as arrays:
                kept = {key: arrays[key] for key in arrays.files}
            decoder = _decoder(archive, mdp.n_states, env, features)
        answer = (
            kept["values"], float(document["error"]), document["tables"], kept["flat"],
            kept.get("steps"), dict(document["certificate"]),
        )  # fmt: skip
        if lacking := {"n_actions", "confidence", "samples", "met"} - {*document["details"]}:
            raise ValueError(f"it lacks {', '.join(sorted(lacking))}")
        if kept["values"].shape != (mdp.n_states,) or kept["flat"].size % mdp.n_pairs:
            raise ValueError("its values and policy do not fit its model")
        said, details = str(document["criterion"]), document["details"]
        size = details["n_actions"] if decoder.actions is None else decoder.actions.size
        if decoder.partition is not None and size != details["n_actions"]:
            raise Error(
                f"{name}: this plan knows {details['n_actions']} actions; the environment has {size}"
            )
        return StoredPlan(mdp, said, answer, details, kept.get("reward")), decoder
    except OSError as problem:
        raise Error(f"{name}: cannot read: {problem}") from None
    except Error:
        raise
    except _DAMAGED as problem:
        raise Error(
            f"{name}: this is no plan saved by ide3al, or it is damaged: {problem}"
        ) from None


def _decoder(
    archive: zipfile.ZipFile, n: int, env: Any, features: Callable[[Any], Any] | None
) -> Decoder:
    """The states of a plan, as far as the environment is there to tell them."""
    if "cells.json" in archive.namelist():
        cells = json.loads(archive.read("cells.json"))
        if env is None:
            return Decoder(None, None, None, n)
        spaces = env.observation_space, env.action_space
        partition = AdaptivePartition.load(cells, *spaces, features)
        return Decoder(None, partition.actions, partition, n)
    met = None
    if "observations.txt" in archive.namelist():
        met = DiscoveredStates.load(archive.read("observations.txt").decode())
    if env is None:
        return Decoder(met, None, None, n)
    encoder: SpaceIndex | DiscoveredStates | None = met
    if met is None:
        encoder = state_encoder(env.observation_space)
    else:
        met.space = env.observation_space
    return Decoder(encoder, SpaceIndex(env.action_space), None, n)


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
