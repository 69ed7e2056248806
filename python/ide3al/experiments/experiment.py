"""Many runs of several algorithms: what ``ide3al learn`` does."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from .. import _ide3al
from .._arguments import checked_names
from .._deprecated import warn
from .._extras import need
from .._ide3al import Error
from ..models.mdp import MDP
from ..types import Engine, Formulation, TieBreak
from .result import ExperimentError, ExperimentResult
from .saved import SavedExperiment

Job = tuple[int, int]


@checked_names(threads="workers", prior="", unseen="")
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
    engine: Engine | Literal["threads"] = "local",
    workers: int | None = None,
    retries: int = 3,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    checkpoint_every: float = 10.0,
    progress_bar: bool = False,
) -> ExperimentResult:
    """Compare algorithms on a known model that they do not know.

    These are the runs behind ``ide3al learn``, with the same defaults, the same seeds and the same
    bytes.

    Parameters
    ----------
    model : MDP or str
        A model, or a domain by name.
    algorithms : str or sequence of str, optional
        ``"ideal"`` (as recommended; the paper's with ``paper=True``), ``"paper"``, ``"max-ent"``,
        ``"count-based"``, ``"random"``, ``"rmax"``, ``"rmax-levels"``, ``"rf-ucrl"``,
        ``"ent-game"``, ``"non-iterative"`` or ``"ideal:FORMULATION"``.
    runs : int, optional
        Number of runs of each algorithm.
    iterations : int, optional
        Number of updates of the policy in each run.
    batch_size : int, optional
        Number of steps between two updates.
    seed : int, optional
        The one seed that everything follows from.
    formulation : str, optional
        What IDE3AL plans for.
    xi, zeta : float, optional
        Parameters of the formulation, as in :func:`solve`.
    epsilon, eta : float, optional
        Parameters of the rivals, as in :class:`MaxEnt` and :class:`CountBased`.
    relative_tolerance : float, optional
        The gap at which each solve ends, as a share of the objective.
    tie_break : {"uniform", "none"}, optional
        Which of several optimal policies.
    converge : float, optional
        Change of the estimated model below which a run ends.
    goal : bool, optional
        Whether to measure how well a goal is learned afterwards.
    paper : bool, default False
        Whether all algorithms follow the paper to the letter.
    engine : {"local", "ray"}, default "local"
        Where runs are done: in threads of this process, or as tasks of the Ray cluster one is
        connected to (or a local one).
    workers : int, optional
        Number of threads; all cores unless given. A cluster has as many as it has.
    retries : int, default 3
        How often a task that dies with its worker or node is done again.
    out : path-like, optional
        Folder for the results.
    resume : bool, default False
        Whether to go on with what is in the folder, whoever began it.
    overwrite : bool, default False
        Whether to begin anew in a folder that holds results.
    checkpoint_every : float, default 10.0
        Seconds between two checkpoints in the folder.
    progress_bar : bool, default False
        Whether to show a line of progress.

    Returns
    -------
    ExperimentResult
        Figures of every iteration of every run.

    Raises
    ------
    Error
        If an argument is out of range, or the folder holds something else.
    ExperimentError
        If runs failed for good on the cluster; it holds the others.

    Examples
    --------
    >>> import ide3al
    >>> result = ide3al.experiment("single-chain", "random", runs=2, iterations=3, seed=1)
    >>> len(result.columns()["run"])
    8"""
    mdp = MDP.domain(model) if isinstance(model, str) else model
    if not isinstance(mdp, MDP):
        raise Error(f"model: expected an ide3al.MDP or the name of a domain, found {mdp!r}")
    if engine == "threads":
        warn("engine='threads' is now called 'local'", stacklevel=4)
        engine = "local"
    if engine not in ("local", "ray"):
        raise Error(f"engine = {engine!r}: must be 'local' or 'ray'")
    if resume and overwrite:
        raise Error("resume and overwrite exclude each other")
    if retries < 0:
        raise Error(f"retries = {retries}: must not be negative")
    count = workers if workers is not None else _cores()
    if count < 1:
        raise Error(f"workers = {workers}: at least 1 is needed")
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
    name = mdp.native.spec or "model"
    job = _ide3al.Experiment(mdp.native, name, given)
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
        self(0)

    def __call__(self, done: int) -> None:
        share = min(1.0, done / self.total)
        seconds = time.monotonic() - self.begun
        left = f"{seconds * (1 - share) / share:.0f} s left" if share > 0 else ""
        sys.stderr.write(f"\r{100 * share:5.1f} % of {self.total} iterations  {left:<14}")
        sys.stderr.flush()

    def end(self) -> None:
        sys.stderr.write("\n")
