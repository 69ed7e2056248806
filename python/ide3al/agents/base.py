"""What learning to explore an unknown environment has in common, whatever the algorithm."""

from __future__ import annotations

import io
import json
import os
import sys
import zipfile
import zlib
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from .. import _ide3al
from .._ide3al import Error
from ..collecting.runners.vector import batch_size, elements_of, fit_vector, is_vector, numbers_of
from ..encoding.abstraction import Abstraction
from ..encoding.adaptive import Cut
from ..encoding.discrete import Found, Index, states_of
from ..encoding.features import Extractor
from ..evaluation.account import Account, account
from ..models.mdp import MDP
from ..types import Floats, Integers
from .training import explore, needs_cells, restore

Callback = Callable[["Agent"], Any]


class Agent:
    """What all exploration algorithms have in common.

    ``fit`` alternates batches of steps in the environment with learning from everything seen
    so far; batches grow with the steps so far (a tenth of them) unless ``batch_size`` is given. A terminal state belongs to the
    model: the reset that leaves it counts as a step. A truncated episode is cut without a transition; all agents but the
    paper's (``paper=True``) plan for the restarts that follow.

    Finite observation spaces of up to a million elements are numbered by place. Any other observation that can be told from
    others (numbers, strings, arrays, tuples and dictionaries of them, whatever is hashable) is numbered when it is first met:
    ``visits``, ``policy`` and ``model`` then hold the states met so far, and ``states`` lists them.

    Observations or actions that are real numbers are cut into cells and a few actions, each held for some steps, as
    ``abstraction`` says (:class:`ide3al.Abstraction`); states are the cells met then, and counts are those of decisions.
    """

    _algorithm: str

    def __init__(
        self,
        *,
        batch_size: int | None = None,
        seed: int = 0,
        abstraction: Abstraction | None = None,
        **parameters: Any,
    ) -> None:
        if batch_size is not None and batch_size < 1:
            raise Error(f"batch_size = {batch_size}: at least 1 is needed")
        if seed < 0:
            raise Error(f"seed = {seed}: must not be negative")
        self.seed = int(seed)
        self._parameters = {**parameters, "batch_size": batch_size}
        self._agent: _ide3al.Agent | None = None
        self._observations: Index | Found | None = None
        self._actions: Index | None = None
        self.abstraction = abstraction
        self._cut: Cut | None = None
        #: What a file said of the cells, until an environment is there to cut.
        self._saved_cut: tuple[dict[str, Any], bytes, Extractor | None] | None = None
        self._held: tuple[Any, int] | None = None

    def fit(
        self,
        env: Any,
        total_timesteps: int,
        progress_bar: bool = False,
        callback: Callback | None = None,
        *,
        engine: str | None = None,
        workers: int | None = None,
    ) -> Self:
        """Explores ``env`` for ``total_timesteps`` steps. ``callback(agent)`` is called after
        each batch; returning False ends the fit. Fitting again goes on from what was learned,
        with a new episode.

        ``env`` may be many environments (``gymnasium.make_vec``): they share one policy and one batched draw, and learn the same for a
        seed and a number of environments. With ``engine="ray"`` it is a function that makes an environment, and
        ``workers`` runners on a Ray cluster live whole episodes of it; one that dies is replaced, and nothing changes."""
        if total_timesteps < 1:
            raise Error(f"total_timesteps = {total_timesteps}: at least 1 is needed")
        if engine is not None or workers is not None or is_vector(env):
            return self._fit_elsewhere(
                env, total_timesteps, progress_bar, callback, engine, workers
            )
        if self._cuts(env):
            return self._fit_cells(env, total_timesteps, progress_bar, callback)
        agent, observations, actions = self._attach(env)
        agent.interrupt_trajectory()
        # the environment is seeded once: the first reset of the first fit
        first_seed: list[int] = [self.seed] if agent.steps == 0 else []

        def reset() -> int:
            observation, _ = env.reset(seed=first_seed.pop()) if first_seed else env.reset()
            return observations.number(observation)

        def step(action: int) -> tuple[int, int]:
            observation, _, terminated, truncated, _ = env.step(actions.element(action))
            return observations.number(observation), 1 if terminated else 2 if truncated else 0

        done = 0
        while done < total_timesteps:
            steps = min(agent.batch_size(total_timesteps), total_timesteps - done)
            last = done + steps == total_timesteps
            agent.iterate(reset, step, steps, last)
            done += steps
            if progress_bar:
                _show_progress(done, total_timesteps, self)
            if callback is not None and callback(self) is False:
                break
        if progress_bar:
            sys.stderr.write("\n")
        return self

    def _fit_elsewhere(
        self,
        env: Any,
        total: int,
        progress_bar: bool,
        callback: Callback | None,
        engine: str | None,
        workers: int | None,
    ) -> Self:
        """In many environments at once, or on a cluster."""
        show = _show_progress if progress_bar else None
        if engine is None:
            if workers is not None:
                raise Error(
                    'workers: only with engine="ray"; for many environments here give gymnasium.make_vec(...)'
                )
            fit_vector(self, env, total, show=show, callback=callback)
        elif engine == "ray":
            from ..collecting.strategies import fit_on_ray

            fit_on_ray(
                self, env, total, 2 if workers is None else workers, show=show, callback=callback
            )
        else:
            raise Error(
                f"engine = {engine!r}: known is 'ray'; leave it out to learn in this process"
            )
        if progress_bar:
            sys.stderr.write("\n")
        return self

    def _cuts(self, env: Any) -> bool:
        """Whether the environment is explored in cells; makes ready to cut them."""
        _check_environment(env)
        if self._saved_cut is not None:
            self._cut = restore(*self._saved_cut[:2], env, self._saved_cut[2])
            self._saved_cut = None
        if self._cut is None:
            if self._agent is not None or (self.abstraction is None and not needs_cells(env)):
                return False
            self._cut = Cut(
                self.abstraction or Abstraction(), env.observation_space, env.action_space
            )
        else:
            self._cut.check(env)
        return True

    def _fit_cells(
        self, env: Any, total_timesteps: int, progress_bar: bool, callback: Callback | None
    ) -> Self:
        cut = self._cut
        assert cut is not None
        self._held = None

        def make() -> _ide3al.Agent:
            self._agent = _ide3al.Agent(
                self._algorithm, 1, cut.actions.size, self.seed, self._parameters, True
            )
            return self._agent

        def after(done: int, _: _ide3al.Agent) -> bool:
            if progress_bar:
                _show_progress(done, total_timesteps, self)
            return callback is None or callback(self) is not False

        explore(make, self._agent, cut, env, total_timesteps, self.seed, after)
        if progress_bar:
            sys.stderr.write("\n")
        return self

    def _predict_cell(self, cut: Cut, observation: Any, deterministic: bool) -> Any:
        agent = self._fitted()
        vector = cut.vector(observation)
        if self._held is not None and self._held[1] > 0:
            action, left = self._held
        else:
            state = cut.find(vector, agent.n_states)
            best = int(np.argmax(self.policy[state])) if deterministic else agent.draw(state)
            action, left = cut.actions.element(best), cut.repeat
        self._held = action, left - 1
        return action.copy() if isinstance(action, np.ndarray) else action

    def predict(self, observation: Any, deterministic: bool = False) -> Any:
        """An action for an observation, drawn from the policy learned, or its likeliest; for a batch of observations, as
        vector environments return them, a batch of actions. In a continuous environment an action is held for ``agent.repeat``
        calls before another is drawn."""
        agent = self._fitted()
        if self._cut is not None:
            return self._predict_cell(self._cut, observation, deterministic)
        if self._observations is None or self._actions is None:
            raise Error("give env=... to load, or fit, before predicting")
        many = batch_size(self._observations.space, observation)
        if many is not None:
            return self._predict_batch(observation, many, deterministic)
        if isinstance(self._observations, Index):
            state = self._observations.number(observation)
        else:
            found = self._observations.find(observation)
            if found is None or found >= agent.n_states:
                # never met: every action is as good as any other
                return self._actions.element(agent.draw_any())
            state = found
        if deterministic:
            return self._actions.element(int(np.argmax(self.policy[state])))
        return self._actions.element(agent.draw(state))

    def _predict_batch(self, observations: Any, many: int, deterministic: bool) -> Any:
        agent, index, actions = self._fitted(), self._observations, self._actions
        assert index is not None and actions is not None
        states = numbers_of(
            index.copy() if isinstance(index, Found) else index, index.space, observations, many
        )
        known = states < agent.n_states
        chosen = np.zeros(many, dtype=np.int64)
        if deterministic:
            chosen[known] = np.argmax(self.policy, axis=1)[states[known]]
        for k in range(many):
            if not known[k]:
                chosen[k] = agent.draw_any()
            elif not deterministic:
                chosen[k] = agent.draw(int(states[k]))
        return elements_of(actions, chosen)

    @property
    def policy(self) -> Floats:
        """The policy learned, (S, A). For MaxEnt, whose result is a mixture of policies, the
        one policy with the same state-action visits in the estimated model."""
        agent = self._fitted()
        return agent.policy().reshape(agent.n_states, agent.n_actions)

    @property
    def metrics(self) -> dict[str, Any]:
        """Entropies in nats, least visited probability, spectral gap and stationary
        distribution of what was learned, in the model estimated so far."""
        return self._fitted().judge()[1]

    @property
    def model(self) -> MDP:
        """The model estimated so far."""
        return MDP._of(self._fitted().estimate())

    @property
    def visits(self) -> Integers:
        """How often each action was tried in each state, (S, A)."""
        agent = self._fitted()
        return agent.visits().reshape(agent.n_states, agent.n_actions)

    @property
    def coverage(self) -> float:
        """Share of state-action pairs tried at least once, of those declared or met."""
        return float((self.visits > 0).mean())

    @property
    def states(self) -> list[Any]:
        """What was met, by number, where observations are numbered as they are met; the numbers themselves elsewhere."""
        agent = self._fitted()
        if self._cut is not None:
            return list(self._cut.states)
        if isinstance(self._observations, Found):
            return list(self._observations.keys)
        return list(range(agent.n_states))

    @property
    def repeat(self) -> int:
        """Steps that an action is held for: 1 but in continuous environments."""
        return 1 if self._cut is None else self._cut.repeat

    @property
    def notes(self) -> list[str]:
        """What should be known of what was learned: states that look absorbing, parts that cannot be reached."""
        return self._fitted().notes()

    @property
    def num_timesteps(self) -> int:
        """Steps taken so far."""
        if self._cut is not None:
            return self._cut.steps
        return 0 if self._agent is None else self._agent.steps

    def account(self, env: Any, steps: int = 10_000, seed: int = 0) -> Account:
        """In a continuous environment: follows what was learned for some steps and compares where that leads with what the
        estimate predicted, cell by cell; see :class:`ide3al.Account`."""
        return account(self, env, steps, seed)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes everything needed to go on, whole or not at all."""
        text, learner = self._fitted().save()
        document = {
            "class": type(self).__name__,
            "seed": self.seed,
            "parameters": self._parameters,
        }
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("ide3al.json", json.dumps(document))
            archive.writestr("agent.json", text)
            archive.writestr("learner.bin", learner)
            if isinstance(self._observations, Found):
                archive.writestr("observations.txt", self._observations.save())
            if self._cut is not None:
                archive.writestr("cells.json", json.dumps(self._cut.save()))
                archive.writestr("steps.npz", self._cut.save_log())
        _ide3al.write_file(path, buffer.getvalue())

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], env: Any = None, features: Extractor | None = None
    ) -> Self:
        """Reads what :meth:`save` wrote. Give ``env`` to predict before fitting again, and the ``features`` of its abstraction,
        if it had any, since no file holds a function."""
        name = os.fspath(path)
        try:
            with zipfile.ZipFile(name) as archive:
                document = json.loads(archive.read("ide3al.json"))
                text = archive.read("agent.json").decode()
                learner = archive.read("learner.bin")
                met = None
                if "observations.txt" in archive.namelist():
                    met = Found.load(archive.read("observations.txt").decode())
                cells = None
                if "cells.json" in archive.namelist():
                    cells = (
                        json.loads(archive.read("cells.json")),
                        archive.read("steps.npz"),
                        features,
                    )
            written_by = str(document["class"])
            agent = cls.__new__(cls)
            Agent.__init__(agent, seed=int(document["seed"]), **dict(document["parameters"]))
        except OSError as problem:
            raise Error(f"{name}: cannot read: {problem}") from None
        except (
            zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError, RuntimeError,
            SyntaxError, TypeError, ValueError,
        ) as problem:  # fmt: skip
            raise Error(
                f"{name}: this is no agent saved by ide3al, or it is damaged: {problem}"
            ) from None
        if written_by != cls.__name__:
            raise Error(f"{name}: holds a {written_by}; load it with ide3al.{written_by}.load")
        agent._agent = _ide3al.Agent.load(text, learner)
        if (
            agent._agent.open
            and cells is None
            and (met is None or met.size < agent._agent.n_states)
        ):
            raise Error(
                f"{name}: this is no agent saved by ide3al, or it is damaged: observations.txt"
            )
        agent._observations, agent._saved_cut = met, cells
        if env is not None and not agent._cuts(env):
            agent._attach(env)
        return agent

    def _attach(
        self, env: Any, numbered: Index | Found | None = None
    ) -> tuple[_ide3al.Agent, Index | Found, Index]:
        _check_environment(env)
        single = "single_" if is_vector(env) else ""
        space = getattr(env, f"{single}observation_space")
        observations = states_of(space) if numbered is None else numbered
        actions = Index(getattr(env, f"{single}action_space"))
        found = isinstance(observations, Found)
        if self._agent is None:
            states = 1 if found else observations.size
            self._agent = _ide3al.Agent(
                self._algorithm, states, actions.size, self.seed, self._parameters, found
            )
        elif found and isinstance(self._observations, Found) and numbered is None:
            # goes on with what was met before
            observations = self._observations
        known = self._agent.n_states, self._agent.n_actions
        same = found == self._agent.open and (found or observations.size == known[0])
        if not same or actions.size != known[1]:
            size = "any number of" if found else observations.size
            raise Error(
                f"this agent has learned {known[0]} states and {known[1]} actions; the environment has "
                f"{size} and {actions.size}"
            )
        self._observations, self._actions = observations, actions
        return self._agent, observations, actions

    def _fitted(self) -> _ide3al.Agent:
        if self._agent is None:
            raise Error(f"this {type(self).__name__} has not seen anything yet; call fit first")
        return self._agent

    def __repr__(self) -> str:
        given = {k: v for k, v in self._parameters.items() if v is not None}
        listed = "".join(f"{name}={value!r}, " for name, value in given.items())
        return f"<{type(self).__name__}({listed}seed={self.seed}): {self.num_timesteps} steps>"


def _check_environment(env: Any) -> None:
    for kind in ("observation_space", "action_space"):
        if not hasattr(env, kind):
            raise Error(f"{env!r} is no Gymnasium environment: it has no {kind}")


def _show_progress(done: int, total: int, agent: Agent) -> None:
    filled = 30 * done // total
    sys.stderr.write(
        f"\r[{'#' * filled}{'.' * (30 - filled)}] {done}/{total} steps, "
        f"{100 * agent.coverage:.1f} % of pairs tried"
    )
    sys.stderr.flush()
