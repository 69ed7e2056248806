"""Agents as files: everything needed to go on, in one archive without any code."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._archives import DAMAGED, Archive
from .._ide3al import Error
from ..datasets.tally import TransitionTally
from ..encoding.adaptive import AdaptivePartition
from ..encoding.discrete import DiscoveredStates, literal, read_literal
from ..encoding.features import Extractor
from ..encoding.grid import cell_centres, load_cells
from ..encoding.history import TransitionHistory
from ..encoding.masks import MaskedStates


@dataclass(frozen=True)
class SavedPartition:
    """Cells as a file holds them, until an environment is there to use them in."""

    document: dict[str, Any]
    history: bytes
    #: The function that no file can hold.
    features: Extractor | None = None

    @property
    def repeat(self) -> int:
        """Steps that an action is held for."""
        return int(self.document["repeat"])

    @property
    def steps(self) -> int:
        """Steps taken so far."""
        return int(self.document["steps"])

    @property
    def states(self) -> list[tuple[float, ...]]:
        """The middle of each cell met, by number."""
        return cell_centres(load_cells(self.document["cells"]), self.document["keys"])

    def restored(self, observation_space: Any, action_space: Any) -> AdaptivePartition:
        """The cells, for an environment like the one they were made in."""
        cut = AdaptivePartition.load(self.document, observation_space, action_space, self.features)
        with np.load(io.BytesIO(self.history), allow_pickle=False) as arrays:
            vectors, actions = arrays["vectors"], arrays["actions"]
            rewards = arrays["rewards"] if "rewards" in arrays.files else None
        cut.history = TransitionHistory.restored(
            vectors, actions, cut.abstraction.memory, bool(self.document["full"]), rewards
        )
        return cut


@dataclass(frozen=True)
class SavedAgent:
    """What a file of an agent holds."""

    #: Name of the class.
    kind: str
    seed: int
    parameters: dict[str, Any]
    #: The compiled learner, in two parts.
    text: str
    learner: bytes
    states: DiscoveredStates | None = None
    partition: SavedPartition | None = None
    tally: TransitionTally = field(default_factory=TransitionTally)
    notes: dict[str, str] = field(default_factory=dict)
    #: Keys of the observations met beyond a finite space.
    beyond: tuple[Hashable, ...] = ()

    def to_bytes(self) -> bytes:
        """Contents of a file."""
        document = {
            "class": self.kind,
            "seed": self.seed,
            "parameters": self.parameters,
            "notes": self.notes,
        }
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("ide3al.json", json.dumps(document))
            archive.writestr("agent.json", self.text)
            archive.writestr("learner.bin", self.learner)
            if self.states is not None:
                archive.writestr("observations.txt", self.states.save())
            if isinstance(self.states, MaskedStates):
                archive.writestr("masks.json", json.dumps(self.states.masks_to_dict()))
            if len(self.tally):
                archive.writestr("tally.npz", self.tally.to_bytes())
            if self.beyond:
                archive.writestr("beyond.txt", literal(list(self.beyond)))
            if self.partition is not None:
                archive.writestr("cells.json", json.dumps(self.partition.document))
                archive.writestr("steps.npz", self.partition.history)
        return buffer.getvalue()

    @classmethod
    def read(cls, name: str, features: Extractor | None) -> SavedAgent:
        """What a file holds; an error that names it where it is damaged."""
        try:
            with open(name, "rb") as file:
                content = file.read()
        except OSError as problem:
            raise Error(f"{name}: cannot read: {problem}") from None
        return cls.from_bytes(content, name, features)

    @classmethod
    def from_bytes(cls, content: bytes, name: str, features: Extractor | None) -> SavedAgent:
        """What the bytes of a file hold."""
        try:
            archive = Archive(content)
            document = json.loads(archive.read("ide3al.json"))
            partition = None
            if "cells.json" in archive:
                cells = json.loads(archive.read("cells.json"))
                partition = SavedPartition(cells, archive.read("steps.npz"), features)
                partition.repeat, partition.steps  # noqa: B018  (raises where one is missing)
            beyond = archive.read("beyond.txt").decode() if "beyond.txt" in archive else "()"
            return cls(
                kind=str(document["class"]),
                seed=int(document["seed"]),
                parameters=dict(document["parameters"]),
                text=archive.read("agent.json").decode(),
                learner=archive.read("learner.bin"),
                states=_states(archive),
                partition=partition,
                tally=_tally(archive),
                notes={str(k): str(v) for k, v in dict(document.get("notes", {})).items()},
                beyond=tuple(read_literal(beyond)),
            )
        except DAMAGED as problem:
            raise damaged(name, problem) from None


def _tally(archive: Archive) -> TransitionTally:
    if "tally.npz" not in archive:
        return TransitionTally()
    return TransitionTally.from_bytes(archive.read("tally.npz"))


def _states(archive: Archive) -> DiscoveredStates | None:
    if "observations.txt" not in archive:
        return None
    met = DiscoveredStates.load(archive.read("observations.txt").decode())
    if "masks.json" not in archive:
        return met
    return MaskedStates.restored(met, json.loads(archive.read("masks.json")))


def damaged(name: str, problem: Any) -> Error:
    """The error for a file that is no saved agent."""
    return Error(f"{name}: this is no agent saved by ide3al, or it is damaged: {problem}")
