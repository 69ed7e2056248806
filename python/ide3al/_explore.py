"""Exploring an environment by its name: agent, data set, card and report in a folder, stretch by
stretch, so that the same command goes on after an interruption."""

from __future__ import annotations

import base64
import html
import importlib
import io
import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from . import _ide3al
from ._check import seed_of, whole_number
from ._extras import need
from ._ide3al import Error
from .agents.algorithms import IDE3AL
from .collecting.journal import collection_folder
from .collecting.recording import recorded
from .collecting.unlabelled import labelled
from .datasets.card import card_page
from .datasets.dataset import Data, joined
from .datasets.grid_layout import grid_cells
from .datasets.reading import read
from .encoding.discrete import DiscoveredStates
from .encoding.partitioned import PartitionEncoder

#: Stretches that a run is made of: what is lost when it is interrupted is at most one of them.
STRETCHES = 10
#: Packages that register environments when they are imported, tried where a name is unknown.
PACKAGES = ("minigrid", "highway_env", "gymnasium_robotics", "ale_py", "mo_gymnasium")
#: Called with the steps done, the steps in all, and the agent.
Show = Callable[[int, int, Any], None]


def make_environment(name: str, settings: dict[str, Any]) -> Any:
    """The environment of a name, as ``gymnasium.make`` takes it; packages that are installed and
    register environments are imported where the name is unknown."""
    gymnasium = need("gymnasium", "gymnasium")
    try:
        return gymnasium.make(name, **settings)
    except gymnasium.error.UnregisteredEnv:
        for package in PACKAGES:
            try:
                loaded = importlib.import_module(package)
            except ImportError:
                continue
            register = getattr(gymnasium, "register_envs", None)
            if callable(register):
                register(loaded)
    except (TypeError, ValueError, ImportError, gymnasium.error.Error) as problem:
        raise Error(f"{name}: {problem}") from None
    try:
        return gymnasium.make(name, **settings)
    except (TypeError, ValueError, ImportError, gymnasium.error.Error) as problem:
        raise Error(
            f"{name}: {problem}; give the id of an environment, with the module that registers it "
            "in front if it is not installed with Gymnasium: module:Id-v0"
        ) from None


class _SeededEnv:
    """Seeds the first reset: every stretch begins the same, whether or not the run was
    interrupted before it."""

    def __init__(self, env: Any, seed: int) -> None:
        self.env, self._seed = env, [seed]
        self.observation_space, self.action_space = env.observation_space, env.action_space

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)

    def reset(self, **options: Any) -> Any:
        """Begins an episode."""
        if self._seed:
            options["seed"] = self._seed.pop()
        return self.env.reset(**options)

    def step(self, action: Any) -> Any:
        """Takes an action."""
        return self.env.step(action)


def explore(
    name: str,
    steps: int,
    out: str | Path,
    *,
    seed: int | None = 0,
    settings: dict[str, Any] | None = None,
    show: Show | None = None,
) -> Data:
    """Explores an environment and writes ``agent.zip``, ``data.npz``, ``card.json``, ``card.html``
    and ``report.html`` to a folder. A folder that was begun by the same call is gone on with.

    Parameters
    ----------
    name : str
        Id of the environment, as ``gymnasium.make`` takes it.
    steps : int
        Number of steps to take.
    out : path-like
        The folder.
    seed : int, default 0
        Seed of the agent and of the environment.
    settings : dict, optional
        Further arguments of ``gymnasium.make``.
    show : callable, optional
        Function that is called with the steps done, the steps in all and the agent.

    Returns
    -------
    Data
        The steps that were learned from.
    """
    steps, folder = whole_number("steps", steps), collection_folder(out)
    settings = {} if settings is None else settings
    run = _Run(folder, {"environment": name, "steps": steps, "settings": settings}, seed)
    bounds = np.linspace(0, steps, min(STRETCHES, max(1, steps // 500)) + 1).astype(int).tolist()
    env = make_environment(name, settings)
    agent = run.agent(env)
    for k, (first, after) in enumerate(zip(bounds[:-1], bounds[1:], strict=True)):
        if k < run.done:
            continue
        stretch = _SeededEnv(
            env, int(np.random.SeedSequence((run.seed, k)).generate_state(1)[0] >> 1)
        )

        def shown(now: Any, first: int = first) -> None:
            if show is not None:
                show(min(max(now.num_timesteps, first), steps), steps, now)

        part = recorded(stretch, agent, after - first, shown)
        run.keep(k, agent, part)
    data = run.joined(env, agent)
    run.finish(data, agent)
    env.close()
    return data


class _Run:
    """The folder of a run: what was asked for, the stretches done, and the results."""

    def __init__(self, folder: Path, wanted: dict[str, Any], seed: int | None) -> None:
        self.folder, self._parts = folder, folder / "stretches"
        self._state = folder / "run.json"
        self.done = 0
        if (folder / "report.html").exists():
            raise Error(f"out = {str(folder)!r}: a report is there already; choose another folder")
        if self._state.exists():
            known = self._read()
            self.seed, self.done = int(known.pop("seed")), int(known.pop("done"))
            if known != wanted or seed not in (None, self.seed):
                raise Error(
                    f"{self._state}: this run was begun with other settings: {known}, seed "
                    f"{self.seed}; use the same, or another folder"
                )
        else:
            self.seed = seed_of(seed)
        self._wanted = wanted

    def _read(self) -> dict[str, Any]:
        try:
            known = dict(json.loads(self._state.read_text()))
            return {**known, "seed": int(known["seed"]), "done": int(known["done"])}
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise Error(f"{self._state}: damaged: {problem!r}; delete the folder") from None

    def agent(self, env: Any) -> IDE3AL:
        """The agent, with what it has learned so far."""
        if self.done == 0:
            return IDE3AL(seed=self.seed)
        return IDE3AL.load(self._parts / f"agent-{self.done - 1}.zip", env=env)

    def keep(self, k: int, agent: IDE3AL, part: Data) -> None:
        """A stretch is done when this returns."""
        try:
            self._parts.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise Error(f"{self._parts}: cannot make the folder: {problem.strerror}") from None
        agent.save(self._parts / f"agent-{k}.zip")
        part.save(self._parts / f"data-{k}.npz")
        state = {**self._wanted, "seed": self.seed, "done": k + 1}
        # written last: what it counts is whole
        _ide3al.write_file(self._state, json.dumps(state).encode())
        (self._parts / f"agent-{k - 1}.zip").unlink(missing_ok=True)

    def joined(self, env: Any, agent: IDE3AL) -> Data:
        """All stretches, with one numbering of states: in a continuous environment that of the
        agent's final cells."""
        files = sorted(self._parts.glob("data-*.npz"), key=lambda path: int(path.stem[5:]))
        parts = [read(path) for path in files]
        about = {name: value for name, value in parts[-1].about.items() if name != "cells"}
        about |= {"seed": self.seed, "notes": agent.notes}
        if agent.partition is not None:
            return self._in_cells(agent, parts, about)
        episodes, encoder = [], DiscoveredStates(env.observation_space)
        for part in parts:
            numbers = np.arange(part.n_states)
            if part.keys is not None:
                numbers = np.array([encoder.take(key) for key in part.keys], dtype=np.int64)
            for episode in part.episodes():
                episodes.append(_renumbered(episode, numbers))
        keys = None if parts[0].keys is None else tuple(encoder.keys)
        size = parts[0].n_states if keys is None else len(keys)
        spaces = env.observation_space, env.action_space
        data = joined(episodes, size, parts[0].n_actions, keys, about, spaces)
        return data.replace(about={**about, "cells": grid_cells(env, data, None)})

    def _in_cells(self, agent: IDE3AL, parts: Sequence[Data], about: dict[str, Any]) -> Data:
        assert agent.partition is not None
        view = PartitionEncoder(agent.partition)
        episodes, keys = labelled([one for part in parts for one in part.episodes()], view)
        data = joined(episodes, len(keys), parts[0].n_actions, keys, about, None)
        if view.flat:
            cells = grid_cells(None, data, view.grid_position)
            data = data.replace(about={**about, "cells": cells})
        return data

    def finish(self, data: Data, agent: IDE3AL) -> None:
        """Writes the results; the report comes last, so that it says that all is there."""
        agent.save(self.folder / "agent.zip")
        data.save(self.folder / "data.npz")
        data.save_card(self.folder)
        page = report_page(data, agent, self._wanted["environment"])
        _ide3al.write_file(self.folder / "report.html", page.encode())
        shutil.rmtree(self._parts, ignore_errors=True)
        self._state.unlink(missing_ok=True)


def _renumbered(episode: Any, numbers: Any) -> Any:
    return replace(episode, states=numbers[episode.states], found=())


def report_page(data: Data, agent: IDE3AL, name: str) -> str:
    """One page that needs nothing else: figures, notes, pictures, and how to go on."""
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in agent.notes)
    code = (
        "import gymnasium, ide3al\n\n"
        f"env = gymnasium.make({name!r})\n"
        'agent = ide3al.IDE3AL.load("agent.zip", env=env)\n'
        "observation, _ = env.reset()\n"
        "agent.predict(observation)              # an action that explores\n"
        'data = ide3al.audit("data.npz", env=env)  # the steps: arrays, card\n'
        f'data.to_minari("{_slug(name)}/explored-v0", env)'
    )
    section = (
        _pictures(data, agent)
        + (f"<h2>What should be known</h2><ul>{notes}</ul>" if notes else "")
        + f"<h2>How to go on</h2><pre>{html.escape(code)}</pre>"
    )
    written = time.strftime("%Y-%m-%d")
    page = card_page(data.card)
    start = page.index("<body>") + len("<body>")
    title = f"<h1>{html.escape(name)}</h1><p>Explored by IDE3AL, {written}</p>"
    return page[:start] + title + section + page[start:]


def _slug(name: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in name.split(":")[-1].lower()).strip("-")


def _pictures(data: Data, agent: IDE3AL) -> str:
    """Where the steps went and where the policy leads, where Matplotlib is installed."""
    try:
        figures = need("matplotlib.figure", "plot")
    except ImportError:
        return '<p>Pictures need Matplotlib: pip install "ide3al[plot]"</p>'
    from .plotting.models import plot_policy, plot_visitation

    drawn = []
    for what, draw in (
        ("Share of the steps", lambda ax: plot_visitation(_drawn(data, agent), ax=ax)),
        ("The policy learned", lambda ax: _policy(plot_policy, agent, ax)),
    ):
        figure = figures.Figure(figsize=(6.0, 4.4), layout="constrained")
        try:
            if draw(figure.add_subplot()) is None:  # type: ignore[no-untyped-call]
                continue
        except Error:
            # nothing to be drawn of this environment
            continue
        content = io.BytesIO()
        figure.savefig(content, format="png", dpi=110)
        encoded = base64.b64encode(content.getvalue()).decode()
        drawn.append(
            f'<figure><img alt="{what}" style="max-width:100%" '
            f'src="data:image/png;base64,{encoded}"><figcaption>{what}.</figcaption></figure>'
        )
    return "".join(drawn)


def _drawn(data: Data, agent: IDE3AL) -> Any:
    """A continuous environment is drawn by the numbers that its cells are cut from."""
    return data if agent.partition is None or len(agent.partition.used) < 2 else agent


def _policy(draw: Any, agent: IDE3AL, ax: Any) -> Any:
    """Tables of more states than can be read are left out."""
    known = agent.partition is None and (agent.map_shape is not None or len(agent.states) <= 60)
    return draw(agent, ax=ax) if known else None
