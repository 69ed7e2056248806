"""The built-in domains as Gymnasium environments: ``ide3al/DoubleChain-v0`` and so on.

Needs Gymnasium: ``pip install "ide3al[gymnasium]"``.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import gymnasium
import numpy as np

from ._ide3al import Error
from .mdp import MDP, Floats, domains

_VERSION = 0


class ModelEnv(gymnasium.Env[Any, Any]):
    """Steps through a model; no reward, no end. Parameters are the domain's.

    Has ``P`` in the format of Gymnasium's toy environments (built when first asked for) and
    ``initial_state_distrib``.
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
        self._offsets, self._indices, self._values = self.mdp.rows()
        self._state: int | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, dict[str, Any]]:
        super().reset(seed=seed)
        self._state = self._draw(self.initial_state_distrib)
        return np.int64(self._state), {}

    def step(self, action: Any) -> tuple[np.int64, float, bool, bool, dict[str, Any]]:
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


def environment_id(domain: str) -> str:
    """``double-chain`` -> ``ide3al/DoubleChain-v0``."""
    return f"ide3al/{''.join(part.title() for part in domain.split('-'))}-v{_VERSION}"


def register() -> None:
    """Registers every built-in domain; done once, whoever asks."""
    for name in domains():
        identifier = environment_id(name)
        if identifier not in gymnasium.registry:
            gymnasium.register(
                id=identifier,
                entry_point="ide3al.envs:ModelEnv",
                kwargs={"model": name},
            )
