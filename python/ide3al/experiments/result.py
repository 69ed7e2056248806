"""The results of an experiment: figures of every iteration of every run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import _ide3al
from .._check import file_name
from .._display import html_table, text_table
from .._extras import need
from .._ide3al import Error
from ..callbacks import summary_writer
from ..models.mdp import MDP
from ..models.policies import shaped
from ..types import Floats
from .saved import SavedExperiment

#: Figures of every iteration, as named in runs.csv; entropies in nats and as shares.
METRICS = _ide3al.metrics()


class ExperimentError(Error):
    """Some runs failed for good; :attr:`result` holds those that did not.

    Parameters
    ----------
    message : str
        What went wrong.
    result : ExperimentResult
        The other runs.
    """

    def __init__(self, message: str, result: ExperimentResult) -> None:
        super().__init__(message)
        self.result = result


class ExperimentResult:
    """Figures of every iteration of every run; :func:`experiment` gives one.

    Parameters
    ----------
    mdp : MDP
        The model.
    experiment : object
        The compiled experiment, or a saved one.
    name : str
        Name of the model in reports.
    """

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
        """Names of the algorithms."""
        return self._experiment.labels

    @property
    def missing(self) -> list[tuple[str, int]]:
        """Algorithm and number of the runs that are not done."""
        labels = self.algorithms
        return [(labels[k], run) for k, run in self._experiment.missing()]

    @property
    def complete(self) -> bool:
        """Whether all runs are done."""
        return not self._experiment.missing()

    def columns(self) -> dict[str, Any]:
        """Give tidy columns, one row per algorithm, run and iteration.

        Returns
        -------
        dict of ndarray
            ``algorithm``, ``run``, ``iteration``, ``samples`` and the figures; NaN where one was
            not computed.
        """
        if self._columns is None:
            self._columns = self._experiment.columns()
        return dict(self._columns)

    def to_pandas(self) -> Any:
        """Convert the columns to a frame of pandas.

        Returns
        -------
        pandas.DataFrame
            The columns.
        """
        return need("pandas", "pandas").DataFrame(self.columns())

    def to_polars(self) -> Any:
        """Convert the columns to a frame of Polars.

        Returns
        -------
        polars.DataFrame
            The columns; what was not computed is null.
        """
        return need("polars", "polars").DataFrame(self.columns()).fill_nan(None)

    def scores(
        self, metric: str = "entropy_normalized", *, curve: bool = False
    ) -> dict[str, Floats]:
        """Give arrays as rliable takes them; for several models see :func:`scores`.

        Parameters
        ----------
        metric : str, default "entropy_normalized"
            Name of the figure.
        curve : bool, default False
            Whether to give all iterations instead of the last one.

        Returns
        -------
        dict of ndarray
            For each algorithm (runs, 1), or (runs, 1, iterations + 1). A run that converged keeps
            its last figure.
        """
        return scores([self], metric, curve=curve)

    @property
    def summary(self) -> dict[str, Any]:
        """What ``summary.json`` holds: mean, 95 % interval and interquartile mean of every
        figure, by algorithm and iteration."""
        if self._summary is None:
            self._summary = self._experiment.summary()
        return self._summary

    def policy(self, algorithm: str, run: int = 0) -> Floats | list[Floats]:
        """Give the policy that a run learned.

        Parameters
        ----------
        algorithm : str
            Name of the algorithm.
        run : int, default 0
            Number of the run.

        Returns
        -------
        ndarray or list
            Probabilities (S, A), or one row per state.

        Raises
        ------
        Error
            If there is no such run.
        """
        flat = self._experiment.policy(self._index(algorithm), run)
        return shaped(self.mdp.native, flat)

    def runs_csv(self) -> str:
        """Give ``runs.csv`` as the command line writes it, byte for byte.

        Returns
        -------
        str
            The table.
        """
        return self._experiment.runs_csv()

    def goal_csv(self) -> str | None:
        """Give ``goal.csv``, where ``goal=True`` was asked for.

        Returns
        -------
        str or None
            The table.
        """
        return self._experiment.goal_csv()

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write runs.csv, data.csv, goal.csv, summary.json and policies/ as the command line does.

        Parameters
        ----------
        folder : path-like
            Where to; each file is written whole or not at all.

        Raises
        ------
        Error
            If a file cannot be written.
        """
        name = file_name("folder", folder)
        Path(name).mkdir(parents=True, exist_ok=True)
        self._experiment.write(name)

    def to_tensorboard(self, folder: str | os.PathLike[str]) -> None:
        """Write every run as a TensorBoard run ``folder/algorithm/run``.

        Parameters
        ----------
        folder : path-like
            Where to.

        Raises
        ------
        Error
            If ``folder`` is no name.
        """
        columns, place = self.columns(), Path(file_name("folder", folder))
        names = np.asarray(columns["algorithm"], dtype=object)
        for label in self.algorithms:
            mine = names == label
            for run in np.unique(columns["run"][mine]):
                rows = np.flatnonzero(mine & (columns["run"] == run))
                with summary_writer(place / label.replace(":", "-") / str(run)) as writer:
                    for row in rows:
                        for metric in METRICS:
                            value = columns[metric][row]
                            if np.isfinite(value):
                                writer.add_scalar(metric, value, int(columns["samples"][row]))

    def _index(self, algorithm: str) -> int:
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
    """Give the figures of several results as rliable takes them, one column per result (a task).

    Parameters
    ----------
    results : sequence or mapping of ExperimentResult
        Results with the same algorithms and number of runs.
    metric : str, default "entropy_normalized"
        Name of the figure.
    curve : bool, default False
        Whether to give all iterations instead of the last one.

    Returns
    -------
    dict of ndarray
        For each algorithm (runs, tasks), or (runs, tasks, iterations + 1).

    Raises
    ------
    Error
        If results are incomplete or do not fit together.

    Examples
    --------
    >>> import ide3al
    >>> result = ide3al.experiment("single-chain", "random", runs=2, iterations=3, seed=1)
    >>> ide3al.scores([result])["random"].shape
    (2, 1)
    """
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
