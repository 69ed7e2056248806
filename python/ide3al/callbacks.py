"""Ready-made callbacks of ``fit``."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ._check import check_callback, file_name, whole_number
from ._extras import need
from .agents.base import Agent


def summary_writer(folder: str | os.PathLike[str]) -> Any:
    """A writer of TensorBoard's event files."""
    return need("tensorboardX", "tensorboard").SummaryWriter(
        file_name("folder", folder), write_to_disk=True
    )


class TensorBoard:
    """Logs what an agent learns, as a callback of ``fit``. Needs tensorboardX.

    Scalars per number of steps: entropies in nats of what was learned (in the estimated model), the
    least visited probability, the spectral gap, and the share of state-action pairs tried.

    Parameters
    ----------
    folder : path-like
        Where to log.
    every : int, default 1
        Number of batches between two entries, since evaluating costs more than a step.
    then : callable, optional
        Another callback to call after each batch.

    Raises
    ------
    Error
        If ``every`` is below 1, or an argument is of another kind.

    Examples
    --------
    >>> import gymnasium, ide3al
    >>> log = ide3al.callbacks.TensorBoard("logs/run-1")
    >>> agent = ide3al.Random().fit(gymnasium.make("FrozenLake-v1"), 200, callback=log)
    >>> log.close()
    """

    def __init__(self, folder: str | os.PathLike[str], *, every: int = 1, then: Any = None) -> None:
        self.every = whole_number("every", every)
        check_callback(then, "then")
        self.then = then
        self._batches = 0
        self._writer = summary_writer(folder)

    def __call__(self, agent: Agent) -> Any:
        if self._batches % self.every == 0:
            steps = agent.num_timesteps
            for name, value in agent.metrics.items():
                if np.ndim(value) == 0 and np.isfinite(value):
                    self._writer.add_scalar(name, float(value), steps)
            self._writer.add_scalar("coverage", agent.coverage, steps)
            self._writer.flush()
        self._batches += 1
        return None if self.then is None else self.then(agent)

    def close(self) -> None:
        """End the file; also done when the object goes away."""
        self._writer.close()
