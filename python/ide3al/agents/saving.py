"""Agents that are written to files, read again, copied, and sent to other processes."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any, Self

from .. import _ide3al
from .._check import file_name
from .._ide3al import Error
from ..encoding.discrete import DiscoveredStates, GrowingIndex
from ..encoding.features import Extractor
from ..encoding.history import save_history
from .attaching import AttachableEstimator
from .estimator import Estimator
from .persistence import SavedAgent, SavedPartition, damaged


class SavableEstimator(AttachableEstimator):
    """An estimator that can go on from a file or a copy as if it had never stopped."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything needed to go on to a file, whole or not at all.

        Parameters
        ----------
        path : path-like
            Name of the file.

        Raises
        ------
        Error
            If the agent has not seen anything yet, or the file cannot be written.
        """
        _ide3al.write_file(file_name("path", path), self._saved().to_bytes())

    def _saved(self) -> SavedAgent:
        text, learner = self.fitted().save()
        cells, encoder = self._saved_partition, self.encoder
        if self.partition is not None:
            assert self.partition.history is not None
            cells = SavedPartition(self.partition.save(), save_history(self.partition.history))
        # some notes are only found when they are asked for
        self.notes  # noqa: B018
        return SavedAgent(
            kind=type(self).__name__,
            seed=self.seed,
            parameters=self.parameters,
            text=text,
            learner=learner,
            states=encoder if isinstance(encoder, DiscoveredStates) else None,
            partition=cells,
            tally=self.tally,
            notes=dict(self._noted),
            beyond=tuple(encoder.beyond) if isinstance(encoder, GrowingIndex) else self._beyond,
        )

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], env: Any = None, features: Extractor | None = None
    ) -> Self:
        """Read an agent from a file.

        Parameters
        ----------
        path : path-like
            Name of the file.
        env : gymnasium.Env, optional
            The environment, to predict before fitting again.
        features : callable, optional
            The ``features`` of the agent's abstraction, if it had any, since no file holds a
            function.

        Returns
        -------
        Agent
            The agent.

        Raises
        ------
        Error
            If the file cannot be read, holds no agent, or one of another class.
        """
        name = file_name("path", path)
        agent = cls.__new__(cls)
        agent._restore(SavedAgent.read(name, features), name)
        if env is not None and not agent.is_partitioned(env):
            agent.attach(env)
        return agent

    def _restore(self, saved: SavedAgent, name: str) -> None:
        """Take over what a file holds; ``name`` is that of the file."""
        try:
            Estimator.__init__(self, seed=saved.seed, **saved.parameters)
        except (TypeError, ValueError) as problem:
            raise damaged(name, problem) from None
        if saved.kind != type(self).__name__:
            raise Error(
                f"{name}: holds an agent of class {saved.kind}; load it with "
                f"ide3al.{saved.kind}.load"
            )
        learner = self._agent = _ide3al.Agent.load(saved.text, saved.learner)
        if learner.open and saved.partition is None and not saved.beyond:
            if saved.states is None or saved.states.size < learner.n_states:
                raise damaged(name, "observations.txt")
        self.encoder, self._saved_partition = saved.states, saved.partition
        self._noted, self._beyond = dict(saved.notes), saved.beyond
        self.tally = saved.tally

    def __getstate__(self) -> dict[str, Any]:
        """Settings, what was learned, and the spaces it was learned in."""
        spaces = None
        if self.partition is not None:
            spaces = self.partition.features.space, self.partition.actions.space
        elif self.encoder is not None and self.action_encoder is not None:
            spaces = self.encoder.space, self.action_encoder.space
        return {
            "seed": self.seed,
            "parameters": self.parameters,
            "abstraction": self.abstraction,
            "asked": (self.target, self.limits),
            "content": self._saved().to_bytes() if self.is_fitted else None,
            "spaces": spaces,
            "map_shape": self.map_shape,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        abstraction, content, spaces = state["abstraction"], state["content"], state["spaces"]
        self.target, self.limits = state["asked"]
        if content is None:
            Estimator.__init__(self, seed=state["seed"], **state["parameters"])
        else:
            features = None if abstraction is None else abstraction.features
            self._restore(SavedAgent.from_bytes(content, "the copy", features), "the copy")
        self.abstraction = abstraction
        if spaces is not None:
            env = SimpleNamespace(
                observation_space=spaces[0], action_space=spaces[1], reset=None, step=None
            )
            if not self.is_partitioned(env):
                self.attach(env)
        self.map_shape = state["map_shape"]
