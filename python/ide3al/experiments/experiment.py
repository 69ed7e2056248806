"""Many runs of several algorithms: what ``ide3al learn`` does."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import _ide3al
from .._display import html_table, text_table
from .._extras import need
from .._ide3al import Error
from ..models.mdp import MDP, shaped
from ..types import Floats, Formulation, TieBreak
from .results import SavedExperiment

Job = tuple[int, int]

#: Figures of every iteration, as named in runs.csv; entropies in nats and as shares.
METRICS = _ide3al.metrics()


class ExperimentError(Error):
    """Some runs failed for good. ``result`` holds those that did not."""

    def __init__(self, message: str, result: ExperimentResult) -> None:
        super().__init__(message)
        self.result = result


class ExperimentResult:
    """Figures of every iteration of every run."""

    def __init__(
        self, mdp: MDP, experiment: _ide3al.Experiment | SavedExperiment, name: str
    ) -> None:
        self.mdp = mdp
        self.name = name
        self._experiment = experiment
        self._columns: dict[str, Any] | None = None
        self._summary: dict[str, Any] | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """Everything that decided the results."""
        return self._experiment.parameters

    @property
    def algorithms(self) -> list[str]:
        return self._experiment.labels

    @property
    def missing(self) -> list[tuple[str, int]]:
        """Algorithm and number of the runs that are not done."""
        labels = self.algorithms
        return [(labels[k], run) for k, run in self._experiment.missing()]

    @property
    def complete(self) -> bool:
        return not self._experiment.missing()

    def columns(self) -> dict[str, Any]:
        """Tidy columns, one row per algorithm, run and iteration: ``algorithm``, ``run``,
        ``iteration``, ``samples`` and the :data:`METRICS`; NaN where a figure was not
        computed."""
        if self._columns is None:
            self._columns = self._experiment.columns()
        return dict(self._columns)

    def to_pandas(self) -> Any:
        """The columns as a ``pandas.DataFrame``."""
        return need("pandas", "pandas").DataFrame(self.columns())

    def to_polars(self) -> Any:
        """The columns as a ``polars.DataFrame``; what was not computed is null."""
        return need("polars", "polars").DataFrame(self.columns()).fill_nan(None)

    def scores(
        self, metric: str = "entropy_normalized", *, curve: bool = False
    ) -> dict[str, Floats]:
        """Arrays as rliable takes them: for each algorithm the final figure of each run,
        (runs, 1), or with ``curve`` all iterations, (runs, 1, iterations + 1). A run that
        converged keeps its last figure. Several models: :func:`scores`."""
        return scores([self], metric, curve=curve)

    @property
    def summary(self) -> dict[str, Any]:
        """What ``summary.json`` holds: mean, 95 % interval and interquartile mean of every
        figure, by algorithm and iteration."""
        if self._summary is None:
            self._summary = self._experiment.summary()
        return self._summary

    def policy(self, algorithm: str, run: int = 0) -> Floats | list[Floats]:
        """The policy that a run learned, (S, A)."""
        flat = self._experiment.policy(self._place(algorithm), run)
        return shaped(self.mdp, flat)

    def runs_csv(self) -> str:
        """``runs.csv``, byte for byte as the command line writes it."""
        return self._experiment.runs_csv()

    def goal_csv(self) -> str | None:
        """``goal.csv``, where ``goal=True`` was asked for."""
        return self._experiment.goal_csv()

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes runs.csv, goal.csv, summary.json and policies/ as the command line does, each
        whole or not at all."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        self._experiment.write(folder)

    def to_tensorboard(self, folder: str | os.PathLike[str]) -> None:
        """Writes every run as a TensorBoard run ``folder/algorithm/run``."""
        from ..callbacks import summary_writer

        columns = self.columns()
        names = np.asarray(columns["algorithm"], dtype=object)
        for label in self.algorithms:
            mine = names == label
            for run in np.unique(columns["run"][mine]):
                rows = np.flatnonzero(mine & (columns["run"] == run))
                with summary_writer(Path(folder) / label.replace(":", "-") / str(run)) as writer:
                    for row in rows:
                        for metric in METRICS:
                            value = columns[metric][row]
                            if np.isfinite(value):
                                writer.add_scalar(metric, value, int(columns["samples"][row]))

    def _place(self, algorithm: str) -> int:
        labels = self.algorithms
        if algorithm not in labels:
            raise Error(f"algorithm {algorithm!r}: this experiment has {', '.join(labels)}")
        return labels.index(algorithm)

    def _rows(self) -> list[tuple[str, str]]:
        given = self.parameters
        rows = [
            (
                "runs",
                f"{given['runs']} of {given['iterations']} iterations of {given['batch_size']} steps",
            )
        ]
        if not self.complete:
            return [*rows, ("not done", f"{len(self.missing)} runs")]
        for label in self.algorithms:
            last = self.summary["algorithms"][label]["final"]["entropy_normalized"]
            half = 50 * (last["high"] - last["low"])
            rows.append((label, f"{100 * last['mean']:.2f} +- {half:.2f} % of the largest entropy"))
        return rows

    def __repr__(self) -> str:
        return text_table(f"Experiment on {self.name}", self._rows())

    def _repr_html_(self) -> str:
        return html_table(f"Experiment on {self.name}", self._rows())


def scores(
    results: Sequence[ExperimentResult] | Mapping[str, ExperimentResult],
    metric: str = "entropy_normalized",
    *,
    curve: bool = False,
) -> dict[str, Floats]:
    """Arrays as rliable takes them, one column per result (a task): for each algorithm
    (runs, tasks), or with ``curve`` (runs, tasks, iterations + 1)."""
    listed = list(results.values()) if isinstance(results, Mapping) else list(results)
    if not listed:
        raise Error("scores: give at least one result")
    if metric not in METRICS:
        raise Error(f"metric {metric!r}: known are {', '.join(METRICS)}")
    labels = listed[0].algorithms
    shape = {"runs", "iterations"} if curve else {"runs"}
    for result in listed:
        if not result.complete:
            raise Error(f"scores: {len(result.missing)} runs on {result.name} are not done")
        if result.algorithms != labels:
            raise Error("scores: the results must have the same algorithms")
        for size in shape:
            if result.parameters[size] != listed[0].parameters[size]:
                raise Error(f"scores: the results must have the same number of {size}")
    tasks = [_by_run(result, metric, curve) for result in listed]
    return {label: np.stack([task[label] for task in tasks], axis=1) for label in labels}


def _by_run(result: ExperimentResult, metric: str, curve: bool) -> dict[str, Floats]:
    columns = result.columns()
    runs, length = int(result.parameters["runs"]), int(result.parameters["iterations"]) + 1
    values: Floats = columns[metric]
    # rows come by algorithm, run and iteration: a run begins where the iteration is 0
    first = np.flatnonzero(columns["iteration"] == 0)
    ends = np.append(first[1:], values.size)
    figures = {}
    for k, label in enumerate(result.algorithms):
        mine = slice(k * runs, (k + 1) * runs)
        if curve:
            rows = [
                values[np.minimum(np.arange(start, start + length), end - 1)]
                for start, end in zip(first[mine], ends[mine], strict=True)
            ]
            figures[label] = np.stack(rows)
        else:
            figures[label] = values[ends[mine] - 1]
    return figures


def experiment(
    model: MDP | str,
    algorithms: Sequence[str] | str | None = None,
    *,
    runs: int | None = None,
    iterations: int | None = None,
    batch_size: int | None = None,
    seed: int | None = None,
    formulation: Formulation | None = None,
    xi: float | None = None,
    zeta: float | None = None,
    epsilon: float | None = None,
    eta: float | None = None,
    relative_tolerance: float | None = None,
    tie_break: TieBreak | None = None,
    converge: float | None = None,
    goal: bool | None = None,
    paper: bool = False,
    engine: Literal["threads", "ray"] = "threads",
    threads: int | None = None,
    retries: int = 3,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    checkpoint_every: float = 10.0,
    progress_bar: bool = False,
) -> ExperimentResult:
    """Compares algorithms on a known model that they do not know: the runs behind
    ``ide3al learn``, with the same defaults, the same seeds and the same bytes.

    ``model`` is an :class:`MDP` or a domain (``"double-chain"``). ``algorithms``: ideal (as recommended, with
    ``paper=True`` the paper's), paper, max-ent, count-based, random, non-iterative, ``ideal:FORMULATION``. ``engine="threads"``
    uses ``threads`` threads of this process (all cores), ``engine="ray"`` makes every run a
    task of the Ray cluster one is connected to (or a local one); a task that dies with its
    worker or node is done again, up to ``retries`` times. With ``out`` the results are written
    to a folder, with a checkpoint every ``checkpoint_every`` seconds, and ``resume=True`` goes
    on with what is there, whichever engine or the command line began it.
    """
    mdp = MDP.domain(model) if isinstance(model, str) else model
    if not isinstance(mdp, MDP):
        raise Error(f"model: expected an ide3al.MDP or the name of a domain, found {mdp!r}")
    if engine not in ("threads", "ray"):
        raise Error(f"engine = {engine!r}: must be 'threads' or 'ray'")
    if resume and overwrite:
        raise Error("resume and overwrite exclude each other")
    if retries < 0:
        raise Error(f"retries = {retries}: must not be negative")
    count = threads if threads is not None else _cores()
    if count < 1:
        raise Error(f"threads = {threads}: at least 1 is needed")
    # nothing is run if the package is missing
    ray = need("ray", "ray") if engine == "ray" else None
    given = {
        "algorithms": _names(algorithms), "runs": _whole("runs", runs),
        "iterations": _whole("iterations", iterations), "batch_size": _whole("batch_size", batch_size),
        "seed": _whole("seed", seed), "formulation": formulation, "xi": xi, "zeta": zeta,
        "epsilon": epsilon, "eta": eta, "relative_tolerance": relative_tolerance,
        "tie_break": tie_break, "converge": converge, "goal": goal,
        "paper": paper,
    }  # fmt: skip
    name = mdp._model.spec or "model"
    job = _ide3al.Experiment(mdp._model, name, given)
    result = ExperimentResult(mdp, job, name)
    progress = _Progress(result) if progress_bar else None
    if out is not None:
        entry = "resume" if resume else "overwrite" if overwrite else "new"
        if job.enter(out, entry):
            job.leave()
            return ExperimentResult(mdp, SavedExperiment(out, job), name)
    try:
        if ray is None:
            job.execute(count, checkpoint_every, progress)
        else:
            from .ray import run_on_ray

            failures = run_on_ray(ray, mdp, name, job, given, retries, checkpoint_every, progress)
            if failures:
                raise ExperimentError(
                    f"{len(failures)} runs failed, the first with: {failures[0]}", result
                )
        if out is not None:
            job.write(out)
    finally:
        job.leave()
        if progress is not None:
            progress.end()
    return result


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _names(algorithms: Sequence[str] | str | None) -> list[str] | None:
    if algorithms is None:
        return None
    return [algorithms] if isinstance(algorithms, str) else [str(name) for name in algorithms]


def _whole(name: str, value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, (bool, np.bool_)) or int(value) != value or value < 0:
        raise Error(f"{name} = {value!r}: must be a whole number, not negative")
    return int(value)


class _Progress:
    """One line on the terminal."""

    def __init__(self, result: ExperimentResult) -> None:
        given = result.parameters
        self.total = len(result.algorithms) * given["runs"] * given["iterations"]
        self.begun = time.monotonic()

    def __call__(self, done: int) -> None:
        share = min(1.0, done / self.total)
        seconds = time.monotonic() - self.begun
        left = f"{seconds * (1 - share) / share:.0f} s left" if share > 0 else ""
        sys.stderr.write(f"\r{100 * share:5.1f} % of {self.total} iterations  {left:<14}")
        sys.stderr.flush()

    def end(self) -> None:
        sys.stderr.write("\n")
