"""An experiment that was finished before, read back from its folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from .. import _ide3al
from .._ide3al import Error
from ..types import Floats


class SavedExperiment:
    """What the folder holds, asked for in the same way as an experiment just done."""

    def __init__(self, folder: str | os.PathLike[str], experiment: _ide3al.Experiment) -> None:
        self._folder = Path(folder)
        self.parameters = experiment.parameters
        self.labels = experiment.labels

    def _text(self, name: str) -> str:
        path = self._folder / name
        try:
            return path.read_bytes().decode()
        except (OSError, UnicodeDecodeError) as problem:
            raise Error(f"{path}: cannot read: {problem}; repeat with overwrite=True") from None

    def missing(self) -> list[tuple[int, int]]:
        return []

    def columns(self) -> dict[str, Any]:
        lines = self._text("runs.csv").splitlines()
        names, rows = lines[0].split(","), [line.split(",") for line in lines[1:]]
        try:
            columns: dict[str, Any] = {}
            for name, values in zip(names, zip(*rows, strict=True), strict=True):
                if name == "algorithm":
                    columns[name] = list(values)
                elif name in ("run", "iteration", "samples"):
                    columns[name] = np.array([int(v) for v in values], dtype=np.int64)
                else:
                    columns[name] = np.array([float(v or "nan") for v in values])
        except ValueError as problem:
            raise Error(
                f"{self._folder / 'runs.csv'}: damaged: {problem}; repeat with overwrite=True"
            ) from None
        return columns

    def summary(self) -> dict[str, Any]:
        return dict(json.loads(self._text("summary.json")))

    def policy(self, algorithm: int, run: int) -> Floats:
        label = self.labels[algorithm].replace(":", "-")
        rows = json.loads(self._text(f"policies/{label}-{run:03}.json"))["policy"]
        return np.concatenate([np.asarray(row, dtype=np.float64) for row in rows])

    def runs_csv(self) -> str:
        return self._text("runs.csv")

    def goal_csv(self) -> str | None:
        return self._text("goal.csv") if (self._folder / "goal.csv").exists() else None

    def write(self, folder: str | os.PathLike[str]) -> None:
        for name in ("runs.csv", "data.csv", "goal.csv", "summary.json"):
            if (self._folder / name).exists():
                _ide3al.write_file(Path(folder) / name, (self._folder / name).read_bytes())
        (Path(folder) / "policies").mkdir(exist_ok=True)
        for path in (self._folder / "policies").glob("*.json"):
            _ide3al.write_file(Path(folder) / "policies" / path.name, path.read_bytes())
