"""Agents as bytes: for files, for copies, for other processes."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from .. import _check as check
from .. import _ide3al
from .._archive import Archive
from .._ide3al import Error
from ..encoding.discrete import DiscoveredStates, GrowingIndex, literal, read_literal
from ..encoding.features import Extractor
from ..encoding.masks import MaskedStates

if TYPE_CHECKING:
    from .base import Agent

#: What reading a damaged file may raise, whichever part is damaged.
DAMAGED = (
    zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError, RuntimeError,
    SyntaxError, TypeError, ValueError, OverflowError, MemoryError,
)  # fmt: skip
_WORDS = ("formulation", "tie_break")


def checked(algorithm: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters of an algorithm that can be used, whatever the environment."""
    for name, value in parameters.items():
        if value is None:
            continue
        if name in _WORDS:
            if not isinstance(value, str):
                raise Error(f"{name} = {value!r}: a name is needed")
        elif name == "paper":
            parameters = {**parameters, name: bool(value)}
        else:
            parameters = {**parameters, name: check.real(name, value)}
    paper = bool(parameters.get("paper"))
    try:
        # one action: no probability is too large for it
        _ide3al.Agent(algorithm, 2, 1, 0, parameters, not paper)
    except (TypeError, OverflowError) as problem:
        raise Error(f"{algorithm}: {problem}") from None
    return parameters


def to_bytes(agent: Agent) -> bytes:
    """Everything needed to go on, as one archive."""
    text, learner = agent._fitted().save()
    states, partition = agent._observations, agent._partition
    _ = agent.notes  # what is only found when it is asked for
    document = {
        "class": type(agent).__name__,
        "seed": agent.seed,
        "parameters": agent._parameters,
        "notes": agent._noted,
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ide3al.json", json.dumps(document))
        archive.writestr("agent.json", text)
        archive.writestr("learner.bin", learner)
        if isinstance(states, DiscoveredStates):
            archive.writestr("observations.txt", states.save())
        if isinstance(states, MaskedStates):
            legal = [actions.tolist() for actions in states.legal]
            archive.writestr(
                "masks.json", json.dumps({"n_actions": states.n_actions, "legal": legal})
            )
        if isinstance(states, GrowingIndex) and states.beyond:
            archive.writestr("beyond.txt", literal(list(states.beyond)))
        if partition is not None:
            archive.writestr("cells.json", json.dumps(partition.save()))
            archive.writestr("steps.npz", partition.save_history())
        elif agent._saved_partition is not None:
            # loaded without an environment, and not used since
            archive.writestr("cells.json", json.dumps(agent._saved_partition[0]))
            archive.writestr("steps.npz", agent._saved_partition[1])
    return buffer.getvalue()


def read_bounded(name: str) -> bytes:
    """The bytes of a file."""
    with open(name, "rb") as file:
        return file.read()


def from_bytes(
    kind: type[Any], content: bytes, name: str, features: Extractor | None = None
) -> Any:
    """The agent that :func:`to_bytes` made bytes of."""
    try:
        archive = Archive(content, name)
        document = json.loads(archive.read("ide3al.json"))
        text, learner = archive.read("agent.json").decode(), archive.read("learner.bin")
        states = _states(archive)
        beyond = read_literal(archive.read("beyond.txt").decode()) if "beyond.txt" in archive else ()
        cells = None
        if "cells.json" in archive:
            cells = json.loads(archive.read("cells.json")), archive.read("steps.npz"), features
        written_by = str(document["class"])
        agent = kind.__new__(kind)
        if written_by != kind.__name__:
            raise Error(
                f"{name}: holds a {written_by}; load it with ide3al.{written_by}.load"
            )
        _initialise(agent, int(document["seed"]), dict(document["parameters"]))
        agent._noted = {str(k): str(v) for k, v in dict(document.get("notes", {})).items()}
        agent._agent = _ide3al.Agent.load(text, learner)
    except Error:
        raise
    except DAMAGED as problem:
        raise _damaged(name, problem) from None
    if agent._agent.open and cells is None and not beyond:
        if states is None or states.size < agent._agent.n_states:
            raise _damaged(name, "observations.txt")
    agent._observations, agent._saved_partition = states, cells
    if beyond:
        agent._beyond = tuple(beyond)
    return agent


def _initialise(agent: Any, seed: int, parameters: dict[str, Any]) -> None:
    from .base import Agent

    Agent.__init__(agent, seed=seed, **parameters)


def _states(archive: Archive) -> DiscoveredStates | None:
    if "observations.txt" not in archive:
        return None
    met = DiscoveredStates.load(archive.read("observations.txt").decode())
    if "masks.json" not in archive:
        return met
    document = json.loads(archive.read("masks.json"))
    return MaskedStates.restored(met, int(document["n_actions"]), document["legal"])


def _damaged(name: str, problem: Any) -> Error:
    return Error(f"{name}: this is no agent saved by ide3al, or it is damaged: {problem}")


def snapshot(agent: Agent) -> tuple[dict[str, Any], bytes | None, tuple[Any, Any] | None]:
    """All that a copy needs: settings, what was learned, the spaces it was learned in."""
    settings = {
        "seed": agent.seed,
        "parameters": agent._parameters,
        "abstraction": agent.abstraction,
    }
    if agent._agent is None:
        return settings, None, None
    spaces = None
    if agent._partition is not None:
        spaces = agent._partition.features.space, agent._partition.actions.space
    elif agent._observations is not None and agent._actions is not None:
        spaces = agent._observations.space, agent._actions.space
    return settings, to_bytes(agent), spaces


def restored(
    kind: type[Any],
    settings: dict[str, Any],
    content: bytes | None,
    spaces: tuple[Any, Any] | None,
) -> Any:
    """A copy from what :func:`snapshot` gave."""
    abstraction = settings["abstraction"]
    if content is None:
        agent = kind.__new__(kind)
        _initialise(agent, settings["seed"], settings["parameters"])
        agent.abstraction = abstraction
        return agent
    features = None if abstraction is None else abstraction.features
    agent = from_bytes(kind, content, "the copy", features)
    agent.abstraction = abstraction
    if spaces is not None:
        env = SimpleNamespace(
            observation_space=spaces[0], action_space=spaces[1], reset=None, step=None
        )
        if not agent._is_partitioned(env):
            agent._attach(env)
    return agent
