"""Runs as tasks of a Ray cluster. Only schedules: a task is one run, done by the library."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .. import _ide3al
from .._ide3al import Error
from ..models.mdp import MDP


def _one_run(mdp: MDP, name: str, given: dict[str, Any], algorithm: int, run: int) -> bytes:
    """What a worker does: everything follows from the arguments, so that it can be repeated."""
    return _ide3al.Experiment(mdp.native, name, given).execute_one(algorithm, run)


def run_on_ray(
    ray: Any,
    mdp: MDP,
    name: str,
    experiment: _ide3al.Experiment,
    given: dict[str, Any],
    retries: int,
    checkpoint_every: float,
    progress: Callable[[int], None] | None,
) -> list[str]:
    """Does what is missing; returns what could not be done, in words."""
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False)
    # Ray repeats tasks whose worker or node died; what is left after that is asked for again
    task = ray.remote(num_cpus=1, max_retries=retries)(_one_run)
    model = ray.put(mdp)
    waiting: dict[Any, tuple[int, int]] = {}
    tries: dict[tuple[int, int], int] = {}
    failures: list[str] = []
    labels, iterations = experiment.labels, int(experiment.parameters["iterations"])

    def submit(job: tuple[int, int]) -> None:
        tries[job] = tries.get(job, 0) + 1
        waiting[task.remote(model, name, given, *job)] = job

    jobs = experiment.missing()
    total = len(labels) * int(experiment.parameters["runs"])
    saved = time.monotonic()
    try:
        for job in jobs:
            submit(job)
        while waiting:
            # with a time limit, so that Ctrl-C is noticed
            ready, _ = ray.wait(list(waiting), num_returns=1, timeout=1.0)
            for reference in ready:
                job = waiting.pop(reference)
                try:
                    experiment.adopt(*job, ray.get(reference))
                except ray.exceptions.RayTaskError as problem:
                    # the run itself raised: it would again
                    failures.append(f"{labels[job[0]]}, run {job[1]}: {problem.cause}")
                except (ray.exceptions.RayError, Error) as problem:
                    # died too often, its result was lost on the way, or arrived damaged
                    if tries[job] <= retries:
                        submit(job)
                    else:
                        failures.append(f"{labels[job[0]]}, run {job[1]}: {problem}")
            if progress is not None:
                progress((total - len(experiment.missing())) * iterations)
            if time.monotonic() - saved >= checkpoint_every:
                experiment.save_checkpoint()
                saved = time.monotonic()
    finally:
        for reference in waiting:
            ray.cancel(reference)
        if experiment.missing():
            experiment.save_checkpoint()
    return failures
