"""Pictures. Needs Matplotlib: ``pip install "ide3al[plot]"``; imported only when asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._extras import need
from .._ide3al import Error, look
from ..agents.base import Agent
from ..datasets.dataset import Data
from ..experiments.result import ExperimentResult
from ..models.mdp import MDP
from ..models.policies import probabilities
from ..solving.solution import Solution
from .continuous import plot_steps
from .maps import GridMap, draw_arrows, draw_ground, map_of_model, map_of_observations, map_of_shape


def plot_visitation(
    mdp: MDP | Agent | Data | Solution,
    visits: npt.ArrayLike | None = None,
    *,
    shape: tuple[int, int] | None = None,
    ax: Any = None,
    **options: Any,
) -> Any:
    """Draw the share of time per state. Needs Matplotlib.

    A heat map where there is a map: the model's, the environment's, one of observations that are
    coordinates, or a ``shape`` that is given; bars otherwise. An agent and a data set are drawn by
    their own visits; an agent of a continuous environment by its steps over two of their numbers.

    Parameters
    ----------
    mdp : MDP, Agent or Data
        A model, an agent, or a data set.
    visits : array_like, optional
        Counts or probabilities, per state or per state and action. An agent and a data set have
        their own.
    shape : (int, int), optional
        Rows and columns of a map whose states are numbered row by row (FrozenLake, CliffWalking).
    ax : matplotlib.axes.Axes, optional
        Where to draw.
    **options
        For agents of continuous environments: ``numbers`` (which two, by index or name), ``parts``
        (pictures side by side, of equal stretches of time), ``cells`` (whether to draw them) and
        ``trajectories`` (how many of the last episodes to draw as lines).

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    Error
        If there are no visits, or not one per state.

    Examples
    --------
    >>> import ide3al
    >>> mdp = ide3al.MDP.domain("four-rooms")
    >>> axes = ide3al.plot_visitation(mdp, ide3al.solve(mdp).chain.stationary)
    """
    if isinstance(mdp, Agent) and mdp.partition is not None:
        if visits is not None or shape is not None:
            raise Error(
                "visits, shape: a continuous agent is drawn by its own steps; leave them out"
            )
        return plot_steps(mdp.partition, ax=ax, **options)
    if options:
        raise Error(f"{', '.join(options)}: only for agents of continuous environments")
    if isinstance(mdp, Data):
        return _draw_visits(
            mdp.counts if visits is None else visits, mdp.n_states, _of_data(mdp, shape), ax
        )
    if isinstance(mdp, Solution):
        visits = mdp.chain.stationary if visits is None else visits
        mdp = mdp.mdp
    grid = _map(mdp, shape)
    if isinstance(mdp, Agent):
        visits = mdp.visits if visits is None else visits
        mdp = mdp.model
    if visits is None:
        raise Error("visits: counts or probabilities are needed, one per state")
    return _draw_visits(visits, mdp.n_states, grid, ax)


def _draw_visits(visits: npt.ArrayLike, n_states: int, grid: GridMap | None, ax: Any) -> Any:
    values = np.asarray(visits, dtype=np.float64)
    if values.ndim == 2 and values.shape[0] == n_states:
        values = values.sum(axis=1)
    if values.shape != (n_states,):
        raise Error(f"visits: expected {n_states} numbers, one per state, found {values.shape}")
    if not np.isfinite(values).all() or (values < 0).any() or values.sum() <= 0:
        raise Error("visits: expected counts or probabilities, not all zero")
    values = values / values.sum()
    ax = _axes(ax)
    if grid is None:
        ax.bar(np.arange(n_states), values)
        ax.axhline(1 / n_states, linestyle=":", color="black", label="even")
        ax.set(xlabel="state", ylabel="share of time")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.legend()
        return ax
    image = ax.imshow(grid.sums(values), cmap="viridis", vmin=0, interpolation="none")
    ax.set_facecolor("lightgray")
    ax.set(xticks=[], yticks=[])
    ax.figure.colorbar(image, ax=ax, label="share of time")
    return ax


def _of_data(data: Data, shape: tuple[int, int] | None) -> GridMap | None:
    """The map of a data set: its card's, or that of observations that are coordinates."""
    if shape is not None:
        return map_of_shape(shape, data.n_states)
    cells = data.about.get("cells")
    if cells is not None:
        return GridMap(int(cells[0]), int(cells[1]), np.asarray(cells[2], dtype=np.int64))
    return map_of_observations(data.states)


def _map(mdp: MDP | Agent, shape: tuple[int, int] | None) -> GridMap | None:
    """The map of a model, or of what an agent has learned."""
    if not isinstance(mdp, MDP | Agent):
        raise Error(
            f"mdp: found {type(mdp).__name__}; an agent, a model or a solution is needed, and a "
            "table goes behind the agent or the model that it is for"
        )
    if not isinstance(mdp, Agent):
        return map_of_model(mdp, shape)
    observed = mdp.states
    if shape is None and mdp.map_shape is not None:
        shape = mdp.map_shape
    if shape is not None:
        return map_of_model(mdp.model, shape)
    return map_of_observations(observed)


def plot_policy(
    mdp: MDP | Agent | Solution,
    policy: Any = None,
    *,
    shape: tuple[int, int] | None = None,
    ax: Any = None,
) -> Any:
    """Draw the probability of every action in every state. Needs Matplotlib.

    Arrows on a map where there is one, each pointing to where its action leads on average, as long
    and dark as it is probable; a dot stands for an action that stays. A table of actions and states
    otherwise.

    Parameters
    ----------
    mdp : MDP, Agent or Solution
        A model, an agent, or a solution.
    policy : array_like, optional
        Probabilities (S, A), or one row per state; actions that a state lacks stay blank. An agent
        and a solution have their own.
    shape : (int, int), optional
        Rows and columns of a map whose states are numbered row by row (FrozenLake, CliffWalking).
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    Error
        If there is no policy, or it does not fit the model.

    Examples
    --------
    >>> import ide3al
    >>> axes = ide3al.plot_policy(ide3al.solve(ide3al.MDP.domain("four-rooms")))
    """
    if isinstance(mdp, Solution):
        policy = mdp.policy if policy is None else policy
        mdp = mdp.mdp
    grid = _map(mdp, shape)
    if isinstance(mdp, Agent):
        policy = mdp.policy if policy is None else policy
        mdp = mdp.model
    if policy is None:
        raise Error(
            "policy: probabilities are needed, (S, A); an agent and a solution have their own"
        )
    if isinstance(policy, np.ndarray) and not mdp.is_even and policy.ndim == 2:
        states, actions = mdp.pairs
        policy = policy[states, actions]
    flat = probabilities(mdp.native, policy)
    ax = _axes(ax)
    if grid is not None:
        draw_ground(ax, grid)
        arrows = draw_arrows(ax, mdp, grid, flat)
        ax.figure.colorbar(arrows, ax=ax, label="probability")
        return ax
    states, actions = mdp.pairs
    picture = np.full((mdp.n_actions, mdp.n_states), np.nan)
    picture[actions, states] = flat
    image = ax.imshow(picture, aspect="auto", cmap="viridis", vmin=0, vmax=1, interpolation="none")
    names = mdp.action_names or [str(a) for a in range(mdp.n_actions)]
    ax.set(xlabel="state", ylabel="action", yticks=range(mdp.n_actions))
    ax.set_yticklabels(names[: mdp.n_actions])
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.figure.colorbar(image, ax=ax, label="probability")
    return ax


#: Matplotlib's names of the markers of the pictures that the command line draws.
_MARKERS = {
    "circle": "o", "square": "s", "triangle": "^", "cross": "x",
    "diamond": "D", "plus": "+", "wedge": "v", "star": (6, 2, 0),
}  # fmt: skip

_LABELS = {
    "entropy": "state entropy, nats",
    "entropy_normalized": "state entropy, share of the largest",
    "state_action_entropy": "state-action entropy, nats",
    "state_action_entropy_normalized": "state-action entropy, share of the largest",
    "min_probability": "least visited state, share of time",
    "spectral_gap": "spectral gap",
    "model_error": "model error, Frobenius norm",
}


def plot_curves(
    result: ExperimentResult, metric: str = "entropy_normalized", *, ax: Any = None
) -> Any:
    """Draw the mean over runs with its 95 % interval, against the number of samples. Needs
    Matplotlib.

    There is one line per algorithm, in the colours, dashes and markers of the command line's
    reports.

    Parameters
    ----------
    result : ExperimentResult
        The runs.
    metric : str, default "entropy_normalized"
        Name of the figure.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    Error
        If there is no such figure.

    Examples
    --------
    >>> import ide3al
    >>> result = ide3al.experiment("single-chain", "random", runs=2, iterations=3, seed=1)
    >>> axes = ide3al.plot_curves(result)
    """
    if metric not in _LABELS:
        raise Error(f"metric {metric!r}: known are {', '.join(_LABELS)}")
    if not isinstance(result, ExperimentResult):
        raise Error(
            f"result: found {type(result).__name__}; what ide3al.experiment returns is needed (a "
            "comparison draws its own curves, with its method plot)"
        )
    algorithms = result.summary["algorithms"]
    ax = _axes(ax)
    for place, label in enumerate(result.algorithms):
        # what is computed in some iterations only has points there
        points = [p for p in algorithms[label]["curve"] if p[metric]["mean"] is not None]
        samples = [point["samples"] for point in points]
        mean, low, high = (
            np.array([point[metric][name] for point in points], dtype=np.float64)
            for name in ("mean", "low", "high")
        )
        colour, dash, marker = look(label, place)
        ax.fill_between(samples, low, high, color=colour, alpha=0.15, linewidth=0)
        ax.plot(
            samples, mean, label=label, color=colour, linewidth=1.5,
            linestyle=(0, [float(d) / 1.5 for d in dash.split()]) if dash else "-",
            marker=_MARKERS[marker], markersize=5, markevery=max(1, len(points) // 8),
        )  # fmt: skip
    runs = int(result.parameters["runs"])
    band = f"mean of {runs} runs, 95 % interval" if runs > 1 else "one run"
    ax.set(xlabel="samples", ylabel=_LABELS[metric], title=f"{result.name}: {band}")
    ax.set_xlim(left=0)
    ax.grid(alpha=0.25)
    ax.legend()
    return ax


def _axes(ax: Any) -> Any:
    return ax if ax is not None else need("matplotlib.pyplot", "plot").subplots()[1]
