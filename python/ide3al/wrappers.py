"""Continuous observations as finite ones. Needs Gymnasium."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._extras import need
from ._ide3al import Error

need("gymnasium", "gymnasium")
import gymnasium  # noqa: E402  (after the message for those who lack it)


class Discretize(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Sorts each number of a ``Box`` observation into bins with names.

    All observations in one bin become one state. What follows such a state depends on where in the
    bin the environment really was, so that the result is in general no Markov decision process, and
    what is proven of a policy holds for the estimated model only. More bins lose less and need more
    steps.

    Parameters
    ----------
    env : gymnasium.Env
        An environment whose observations are a ``Box``.
    bins : mapping from str to sequence of float
        For every number of the observation, in order, its name and the edges *between* its bins: n
        edges make n + 1 bins, the outer ones open-ended; an empty list leaves the number out of
        sight.

    Raises
    ------
    Error
        If there is not one entry per number, or edges do not ascend.

    Examples
    --------
    >>> import gymnasium
    >>> from ide3al.wrappers import Discretize
    >>> env = Discretize(gymnasium.make("MountainCar-v0"), {"position": [-0.6, 0], "velocity": [0]})
    >>> env.observation_space
    MultiDiscrete([3 2])
    """

    def __init__(self, env: Any, bins: Mapping[str, Sequence[float]]) -> None:
        super().__init__(env)
        space = env.observation_space
        if type(space).__name__ != "Box":
            raise Error(f"Discretize sorts Box observations; this environment has {space}")
        size = int(np.prod(space.shape))
        if len(bins) != size:
            raise Error(
                f"bins: {len(bins)} names for {size} numbers per observation; give one entry each, "
                "an empty list for a number to leave out"
            )
        self.names = list(bins)
        self.edges = [np.asarray(edges, dtype=np.float64) for edges in bins.values()]
        for name, edges in zip(self.names, self.edges, strict=True):
            if edges.ndim != 1 or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
                raise Error(f"bins, {name}: edges must be finite numbers in ascending order")
        self.observation_space = gymnasium.spaces.MultiDiscrete(
            [edges.size + 1 for edges in self.edges]
        )

    def observation(self, observation: Any) -> Any:
        """Sort an observation into its bins.

        Parameters
        ----------
        observation : ndarray
            An observation of the wrapped environment.

        Returns
        -------
        ndarray of int
            The number of the bin of each number.

        Raises
        ------
        Error
            If a number is NaN.
        """
        values = np.ravel(observation)
        if np.isnan(values).any():
            raise Error(f"observation {observation} is not a number: no bin holds it")
        return np.array(
            [
                np.searchsorted(edges, value, side="right")
                for edges, value in zip(self.edges, values, strict=True)
            ],
            dtype=np.int64,
        )

    def describe(self, bins: Sequence[int]) -> dict[str, tuple[float, float]]:
        """Give the interval of each number.

        Parameters
        ----------
        bins : sequence of int
            An observation of this environment.

        Returns
        -------
        dict
            Lower and upper end by name: ``{"position": (0.0, 1.0), ...}``.
        """
        described = {}
        for name, edges, k in zip(self.names, self.edges, bins, strict=True):
            ends = np.concatenate([[-np.inf], edges, [np.inf]])
            described[name] = float(ends[int(k)]), float(ends[int(k) + 1])
        return described
