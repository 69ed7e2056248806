"""Agents side by side in one environment, over several runs."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arguments import checked_names
from .._check import check_environment, real_number, seed_of, whole_number
from .._display import html_table, text_table
from .._extras import need
from .._ide3al import Error, look
from ..agents.base import Agent
from ..collecting.recording import recorded
from ..datasets.dataset import Data
from ..encoding.abstraction import Abstraction, spaces_of
from ..encoding.adaptive import AdaptivePartition
from ..encoding.raw import elements
from ..types import Engine, Floats, Integers
from .making import maker_of

#: Points of the curves.
POINTS = 20
#: Quantiles of Student's t for 95 % intervals, by degrees of freedom.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
#: What is compared, in the words of the tables and pictures.
METRICS = {"effective_states": "effective states", "distinct_states": "distinct states"}


@dataclass(frozen=True, repr=False)
class Comparison:
    """Agents side by side: effective states (the exponential of the entropy of the visits) and
    distinct states in the data that each has learned from, run by run.

    Attributes
    ----------
    environment : str
        Name of the environment.
    agents : list of str
        The agents, by name.
    total_timesteps : int
        Steps of each run.
    seeds : list of int
        Seed of each run.
    steps : numpy.ndarray of int
        Steps after which the curves have their points.
    values : dict
        For each metric an array (agents, runs, points).
    """

    environment: str
    agents: list[str]
    total_timesteps: int
    seeds: list[int]
    steps: Integers
    values: dict[str, Floats]

    def interval(self, metric: str = "effective_states") -> list[tuple[float, float]]:
        """Mean and half the 95 % interval (Student's t) at the end of the runs.

        Parameters
        ----------
        metric : str, default "effective_states"
            What is compared; the other is "distinct_states".

        Returns
        -------
        list of tuple
            One pair for each agent; the second is infinite where there is one run only.

        Raises
        ------
        Error
            If there is no such metric.
        """
        last = self._values(metric)[:, :, -1]
        return [(float(row.mean()), float(_half(row))) for row in last]

    def to_pandas(self) -> Any:
        """One row for each agent, run and point of the curves.

        Returns
        -------
        pandas.DataFrame
            The table.
        """
        pandas = need("pandas", "pandas")
        rows = [
            {"agent": agent, "seed": seed, "steps": int(step)}
            | {metric: float(values[a, r, p]) for metric, values in self.values.items()}
            for a, agent in enumerate(self.agents)
            for r, seed in enumerate(self.seeds)
            for p, step in enumerate(self.steps.tolist())
        ]
        return pandas.DataFrame(rows)

    def plot(self, metric: str = "effective_states", *, ax: Any = None) -> Any:
        """Draw the mean over runs with its 95 % interval against the steps. Needs Matplotlib.

        Parameters
        ----------
        metric : str, default "effective_states"
            What is compared; the other is "distinct_states".
        ax : matplotlib.axes.Axes, optional
            Where to draw.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Raises
        ------
        Error
            If there is no such metric.
        """
        values = self._values(metric)
        ax = need("matplotlib.pyplot", "plot").subplots()[1] if ax is None else ax
        for place, agent in enumerate(self.agents):
            mean = values[place].mean(axis=0)
            half = np.array([_half(column) for column in values[place].T])
            colour, dash, _ = look(agent, place)
            style = (0, [float(d) / 1.5 for d in dash.split()]) if dash else "-"
            if len(self.seeds) > 1:
                ax.fill_between(
                    self.steps, mean - half, mean + half, color=colour, alpha=0.15, linewidth=0
                )
            ax.plot(self.steps, mean, label=agent, color=colour, linestyle=style, linewidth=1.5)
        runs = len(self.seeds)
        band = f"mean of {runs} runs, 95 % interval" if runs > 1 else "one run"
        ax.set(xlabel="steps", ylabel=METRICS[metric], title=f"{self.environment}: {band}")
        ax.set_xlim(left=0)
        ax.set_ylim(bottom=0)
        ax.grid(alpha=0.25)
        ax.legend()
        return ax

    def _values(self, metric: str) -> Floats:
        if metric not in self.values:
            raise Error(f"metric = {metric!r}: known are {', '.join(self.values)}")
        return self.values[metric]

    def _rows(self) -> list[tuple[str, str]]:
        columns = {metric: self.interval(metric) for metric in self.values}
        return [
            (
                agent,
                "; ".join(
                    f"{_written(*columns[metric][k])} {METRICS[metric]}" for metric in self.values
                ),
            )
            for k, agent in enumerate(self.agents)
        ]

    @property
    def _title(self) -> str:
        runs = len(self.seeds)
        return f"{self.environment}, {self.total_timesteps} steps, {runs} run{'s' * (runs > 1)}"

    def __repr__(self) -> str:
        return text_table(self._title, self._rows())

    def _repr_html_(self) -> str:
        return html_table(self._title, self._rows())


@checked_names()
def compare(
    env: Any,
    agents: Sequence[Agent] | Mapping[str, Agent],
    total_timesteps: int = 10_000,
    runs: int = 5,
    *,
    seed: int | None = 0,
    engine: Engine = "local",
    workers: int | None = None,
) -> Comparison:
    """Compare agents in one environment, over several runs with a seed of their own.

    Every agent learns for the same steps. What is counted are the states of the data it learned
    from; in a continuous environment cells that are the same for all agents, laid where any of them
    went.

    Parameters
    ----------
    env : str, gymnasium.Env or callable
        Id of an environment, an environment, or a function that makes one.
    agents : sequence or mapping of Agent
        Agents that have learned nothing yet; by name, if given as a mapping.
    total_timesteps : int, default 10_000
        Steps of each run.
    runs : int, default 5
        Runs of each agent.
    seed : int, default 0
        Seed of the first run; the others follow.
    engine : {"local", "ray"}, default "local"
        Where runs are done: on the cores of this machine, or on a Ray cluster.
    workers : int, optional
        Runs at once; as many as there are cores unless given.

    Returns
    -------
    Comparison
        Table, intervals, curves and picture.

    Raises
    ------
    Error
        If an argument is out of range, or an agent has learned already.

    Examples
    --------
    >>> import ide3al
    >>> agents = [ide3al.IDE3AL(), ide3al.Random()]
    >>> result = ide3al.compare("FrozenLake-v1", agents, 500, runs=2, workers=1)
    >>> result.agents
    ['IDE3AL', 'Random']
    """
    named = _named(agents)
    steps, runs = whole_number("total_timesteps", total_timesteps), whole_number("runs", runs)
    first = seed_of(seed)
    seeds = list(range(first, first + runs))
    maker = maker_of(env)
    shown = maker()
    check_environment(shown)
    jobs = [(maker, agent.clone(), one, steps) for agent in named.values() for one in seeds]
    parts = _all(jobs, engine, workers)
    numbered = _numbered(parts, spaces_of(shown), named)
    points = np.unique(np.linspace(0, steps, POINTS + 1).astype(np.int64))[1:]
    size = (len(named), runs, len(points))
    values = {metric: np.zeros(size) for metric in METRICS}
    for k, states in enumerate(numbered):
        a, r = divmod(k, runs)
        values["effective_states"][a, r], values["distinct_states"][a, r] = _curves(states, points)
    name = str(getattr(getattr(shown, "spec", None), "id", None) or type(shown.unwrapped).__name__)
    shown.close()
    return Comparison(name, list(named), steps, seeds, points, values)


def _named(agents: Sequence[Agent] | Mapping[str, Agent]) -> dict[str, Agent]:
    if isinstance(agents, Agent):
        agents = [agents]
    if not isinstance(agents, Mapping):
        if not isinstance(agents, Sequence):
            raise Error(f"agents = {agents!r}: a list is needed, such as [ide3al.IDE3AL()]")
        names = [type(agent).__name__ for agent in agents]
        numbers = [names[: k + 1].count(name) for k, name in enumerate(names)]
        agents = {
            name if names.count(name) == 1 else f"{name} {number}": agent
            for name, number, agent in zip(names, numbers, agents, strict=True)
        }
    if not agents:
        raise Error("agents: give at least one, such as ide3al.IDE3AL()")
    for name, agent in agents.items():
        if not isinstance(name, str):
            raise Error(f"agents: {name!r} is no name; a string is needed")
        if not isinstance(agent, Agent):
            raise Error(f"agents: {agent!r} is none; give such as ide3al.IDE3AL()")
        if agent.is_fitted:
            raise Error(f"agents: {name} has learned already; give agent.clone()")
    return dict(agents)


def run_job(job: tuple[Any, Agent, int, int]) -> Data:
    """One run: the steps that an agent learned from."""
    maker, agent, seed, steps = job
    made = type(agent)(**{**agent.get_params(), "seed": seed})
    return recorded(maker(), made, steps)


def _all(jobs: list[Any], engine: str, workers: int | None) -> list[Data]:
    if engine == "ray":
        ray = need("ray", "ray")
        task = ray.remote(run_job)
        return list(ray.get([task.remote(job) for job in jobs]))
    if engine != "local":
        raise Error(f"engine = {engine!r}: 'local' and 'ray' are known")
    many = whole_number("workers", workers) if workers is not None else os.cpu_count() or 1
    first = _elsewhere(jobs[0]) if many > 1 and len(jobs) > 1 else None
    if first is None:
        return [run_job(job) for job in jobs]
    with ThreadPoolExecutor(many) as pool:
        # each thread waits for a process of its own
        rest = list(pool.map(_elsewhere, jobs[1:]))
    return [
        run_job(job) if part is None else part
        for job, part in zip(jobs, [first, *rest], strict=True)
    ]


def _elsewhere(job: Any) -> Data | None:
    """A run in an interpreter of its own; nothing where it cannot be handed over."""
    try:
        content = pickle.dumps(job)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None
    code = (
        "import pickle, sys; from ide3al.experiments.comparison import run_job; "
        "job = pickle.load(sys.stdin.buffer); out = sys.stdout; sys.stdout = sys.stderr; "
        "out.buffer.write(pickle.dumps(run_job(job).replace(dataset=None)))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, "-c", code], input=content, capture_output=True, env=environment
    )
    # whatever went wrong there shows again here, with its own message
    return pickle.loads(done.stdout) if done.returncode == 0 else None


def _numbered(
    parts: list[Data], spaces: tuple[Any, Any], agents: Mapping[str, Agent]
) -> list[Integers]:
    """The states visited, step by step, with the same numbers for all agents."""
    if parts[0].raw is None:
        known: dict[Any, int] = {}
        numbered = []
        for part in parts:
            numbers: Integers = np.arange(part.n_states)
            if part.keys is not None:
                found = [known.setdefault(key, len(known)) for key in part.keys]
                numbers = np.array(found, dtype=np.int64)
            numbered.append(numbers[part.next_observations])
        return numbered
    abstraction = next((a.abstraction for a in agents.values() if a.abstraction), None)
    cells = AdaptivePartition(abstraction or Abstraction(), *spaces)
    vectors = []
    for part in parts:
        assert part.raw is not None
        vectors.append(
            [
                np.array([cells.vector(o) for o in elements(episode.observations)])
                for episode in part.raw.episodes()
            ]
        )
    cells.lay([one for part in vectors for one in part])
    # an episode's first observation is no step's outcome
    return [np.concatenate([cells.cell_keys(one[1:]) for one in part]) for part in vectors]


def _curves(states: Integers, points: Integers) -> tuple[list[float], list[float]]:
    """Effective and distinct states after so many steps."""
    effective, distinct = [], []
    for point in points.tolist():
        _, counts = np.unique(states[:point], return_counts=True)
        shares = counts / counts.sum()
        effective.append(float(np.exp(-(shares * np.log(shares)).sum())))
        distinct.append(float(len(counts)))
    return effective, distinct


def _half(values: Floats) -> float:
    """Half the 95 % interval of a mean."""
    n = len(values)
    if n < 2:
        return math.inf
    quantile = _T[n - 2] if n - 2 < len(_T) else 1.96 + 2.4 / (n - 1)
    return real_number("half", quantile * float(np.std(values, ddof=1)) / math.sqrt(n))


def _written(mean: float, half: float) -> str:
    digits = 0 if mean >= 100 else 1
    return f"{mean:.{digits}f}" + ("" if math.isinf(half) else f" ± {half:.{digits}f}")
