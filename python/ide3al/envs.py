"""The built-in domains as Gymnasium environments: ``ide3al/DoubleChain-v0`` and so on.

Needs Gymnasium: ``pip install "ide3al[gymnasium]"``.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ._extras import need
from ._ide3al import Error
from .models.mdp import MDP
from .registration import environment_id, register
from .types import Floats, Integers

need("gymnasium", "gymnasium")
import gymnasium  # noqa: E402  (after the message for those who lack it)

__all__ = ["ModelEnv", "ModelVectorEnv", "environment_id", "register"]


class ModelEnv(gymnasium.Env[Any, Any]):
    """Steps through a model; no reward, no end.

    Has ``P`` in the format of Gymnasium's toy environments (built when first asked for) and
    ``initial_state_distrib``.

    Parameters
    ----------
    model : MDP or str, default "double-chain"
        A model in which every state has every action, or a built-in domain.
    render_mode : str, optional
        Without effect: there is nothing to see.
    **parameters
        Parameters of the domain.

    Raises
    ------
    Error
        If states of the model have different actions.

    Examples
    --------
    >>> import gymnasium, ide3al.envs
    >>> ide3al.envs.register()  # not needed where Gymnasium was imported first
    >>> env = gymnasium.make("ide3al/SingleChain-v0", states=12)
    >>> int(env.observation_space.n)
    12
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self, model: str | MDP = "double-chain", render_mode: str | None = None, **parameters: Any
    ) -> None:
        if isinstance(model, MDP) and parameters:
            raise Error("parameters belong to a built-in domain, not to a model")
        self.mdp = model if isinstance(model, MDP) else MDP.domain(model, **parameters)
        if not self.mdp.is_even:
            raise Error(
                "states of this model have different actions, which Discrete cannot express"
            )
        self.render_mode = render_mode
        self.observation_space = gymnasium.spaces.Discrete(self.mdp.n_states)
        self.action_space = gymnasium.spaces.Discrete(self.mdp.n_actions)
        self.initial_state_distrib = self.mdp.start
        self.rows = self.mdp.rows()
        self._offsets, self._indices, self._values = self.rows
        self._state: int | None = None
        self._closed = False

    def close(self) -> None:
        """Refuse all further steps."""
        self._closed = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, dict[str, Any]]:
        """Begin an episode.

        Parameters
        ----------
        seed : int, optional
            Seed of the generator.
        options : dict, optional
            Without effect.

        Returns
        -------
        tuple
            The state to start from, and an empty dictionary.

        Raises
        ------
        gymnasium.error.ClosedEnvironmentError
            If the environment was closed.
        """
        _check_open(self._closed)
        super().reset(seed=seed)
        self._state = self._draw(self.initial_state_distrib)
        return np.int64(self._state), {}

    def step(self, action: Any) -> tuple[np.int64, float, bool, bool, dict[str, Any]]:
        """Take an action.

        Parameters
        ----------
        action : int
            Number of the action.

        Returns
        -------
        tuple
            The next state, reward 0, never terminated, never truncated, and an empty dictionary.

        Raises
        ------
        gymnasium.error.ResetNeeded
            If no episode was begun.
        """
        _check_open(self._closed)
        if self._state is None:
            raise gymnasium.error.ResetNeeded("call reset before the first step")
        if not self.action_space.contains(action):
            raise gymnasium.error.InvalidAction(f"{action!r} is not in {self.action_space}")
        pair = self._state * self.mdp.n_actions + int(action)
        row = slice(self._offsets[pair], self._offsets[pair + 1])
        self._state = int(self._indices[row][self._draw(self._values[row])])
        return np.int64(self._state), 0.0, False, False, {}

    def _draw(self, probabilities: Floats) -> int:
        sums = np.cumsum(probabilities)
        x = self.np_random.random() * sums[-1]
        return int(min(np.searchsorted(sums, x, side="right"), sums.size - 1))

    @cached_property
    def P(self) -> dict[int, dict[int, list[tuple[float, int, float, bool]]]]:
        """``P[s][a]``: a list of (probability, next state, reward, terminated)."""
        n_actions = self.mdp.n_actions
        offsets = self._offsets.tolist()
        entries = [
            (p, t, 0.0, False)
            for p, t in zip(self._values.tolist(), self._indices.tolist(), strict=True)
        ]
        return {
            s: {
                a: entries[offsets[pair] : offsets[pair + 1]]
                for a, pair in enumerate(range(s * n_actions, (s + 1) * n_actions))
            }
            for s in range(self.mdp.n_states)
        }


class ModelVectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Many copies of a model, all stepped at once.

    Parameters
    ----------
    num_envs : int, default 1
        Number of copies.
    model : MDP or str, default "double-chain"
        A model in which every state has every action, or a built-in domain.
    **parameters
        Parameters of the domain.

    Raises
    ------
    Error
        If states of the model have different actions.

    Examples
    --------
    >>> from ide3al.envs import ModelVectorEnv
    >>> envs = ModelVectorEnv(3, "single-chain")
    >>> envs.reset(seed=0)[0].shape
    (3,)
    """

    metadata: dict[str, Any] = {"render_modes": []}
    if hasattr(gymnasium.vector, "AutoresetMode"):
        # Gymnasium 1.0, which d3rlpy needs, knows no other
        metadata["autoreset_mode"] = gymnasium.vector.AutoresetMode.NEXT_STEP

    def __init__(
        self, num_envs: int = 1, model: str | MDP = "double-chain", **parameters: Any
    ) -> None:
        single = ModelEnv(model, **parameters)
        if num_envs < 1:
            raise Error(f"num_envs = {num_envs}: at least 1 is needed")
        self.num_envs = num_envs
        self.mdp = single.mdp
        self.single_observation_space = single.observation_space
        self.single_action_space = single.action_space
        batch = gymnasium.vector.utils.batch_space
        self.observation_space = batch(single.observation_space, num_envs)
        self.action_space = batch(single.action_space, num_envs)
        self._offsets, self._indices, values = single.rows
        # row k takes the interval from k to k + 1: one search serves all rows
        ends = np.cumsum(values)
        before = np.concatenate([[0.0], ends])[self._offsets]
        rows = np.repeat(np.arange(self.mdp.n_pairs), np.diff(self._offsets))
        self._ends = rows + (ends - before[rows]) / np.diff(before)[rows]
        self._start = np.cumsum(self.mdp.start)
        self._states: Integers | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in every copy.

        Parameters
        ----------
        seed : int, optional
            Seed of the generator.
        options : dict, optional
            Without effect.

        Returns
        -------
        tuple
            The states to start from, and an empty dictionary.

        Raises
        ------
        gymnasium.error.ClosedEnvironmentError
            If the environment was closed.
        """
        _check_open(self.closed)
        super().reset(seed=seed)
        draws = self.np_random.random(self.num_envs) * self._start[-1]
        found = np.searchsorted(self._start, draws, side="right")
        self._states = np.minimum(found, self.mdp.n_states - 1).astype(np.int64)
        return self._states.copy(), {}

    def step(self, actions: Any) -> tuple[Any, Floats, Any, Any, dict[str, Any]]:
        """Take an action in every copy.

        Parameters
        ----------
        actions : ndarray of int
            Numbers of the actions.

        Returns
        -------
        tuple
            The next states, rewards 0, never terminated, never truncated, and an empty dictionary.

        Raises
        ------
        gymnasium.error.ResetNeeded
            If no episode was begun.
        """
        _check_open(self.closed)
        if self._states is None:
            raise gymnasium.error.ResetNeeded("call reset before the first step")
        if not self.action_space.contains(actions):
            raise gymnasium.error.InvalidAction(f"{actions!r} is not in {self.action_space}")
        pairs = self._states * self.mdp.n_actions + actions
        found = np.searchsorted(self._ends, pairs + self.np_random.random(self.num_envs), "right")
        # rounding must not lead into a neighbouring row
        found = np.clip(found, self._offsets[pairs], self._offsets[pairs + 1] - 1)
        self._states = self._indices[found]
        no = np.zeros(self.num_envs, dtype=np.bool_)
        return self._states.copy(), np.zeros(self.num_envs), no, no.copy(), {}


def _check_open(closed: bool) -> None:
    if closed:
        raise gymnasium.error.ClosedEnvironmentError(
            "this environment is closed; make another with gymnasium.make"
        )
