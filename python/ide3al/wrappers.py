"""Environments seen in other ways: sorted into bins, as complete states, by the agent that follows
them. Needs Gymnasium."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ._check import check_environment, seed_of
from ._extras import need
from ._ide3al import Error
from .encoding.discrete import DiscoveredStates, is_continuous, state_encoder

need("gymnasium", "gymnasium")
import gymnasium  # noqa: E402  (after the message for those who lack it)


def _check_single(env: Any) -> None:
    """Refuses all but one environment of Gymnasium."""
    check_environment(env)
    if not isinstance(env, gymnasium.Env):
        raise Error(f"{env!r}: one environment is needed, such as gymnasium.make returns")


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


class State(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Shows the complete state of a simulator instead of what its agent sees.

    Made for MiniGrid and simulators like it: the observation is everything that decides what
    follows, as one array of whole numbers (the whole grid, where the agent is and looks, what it
    carries), so that agents number each state when they first meet it. Atari's is the memory of the
    console. For any other simulator a function says what the state is.

    Parameters
    ----------
    env : gymnasium.Env
        The environment.
    key : callable, optional
        Function from the unwrapped environment and its observation to the state: a number, a
        string, an array, or a tuple of them.
    seed : int, optional
        Seed of every reset, for layouts that would be drawn anew otherwise.

    Raises
    ------
    Error
        If no key is given, and the simulator is of no kind that is known.

    Examples
    --------
    >>> import gymnasium, ide3al, ide3al.wrappers, minigrid
    >>> env = ide3al.wrappers.State(gymnasium.make("MiniGrid-Empty-5x5-v0"), seed=0)
    >>> agent = ide3al.IDE3AL().fit(env, 1_000)
    >>> agent.states[0].shape
    (81,)
    """

    def __init__(
        self,
        env: Any,
        key: Callable[[Any, Any], Any] | None = None,
        *,
        seed: int | None = None,
    ) -> None:
        _check_single(env)
        super().__init__(env)
        self._key = _known_simulator(env.unwrapped) if key is None else key
        self._seed = None if seed is None else seed_of(seed)
        env.reset(seed=self._seed)
        shown = self._key(env.unwrapped, None) if key is None else None
        self.observation_space = _Anything() if shown is None else _space_of(shown)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Begin an episode.

        Parameters
        ----------
        seed : int, optional
            Seed of the environment; without effect where the wrapper has one.
        options : dict, optional
            Options of the environment.

        Returns
        -------
        tuple
            The state, and what the environment tells besides.
        """
        return super().reset(seed=seed if self._seed is None else self._seed, options=options)

    def observation(self, observation: Any) -> Any:
        """Give the state.

        Parameters
        ----------
        observation : object
            What the agent sees.

        Returns
        -------
        object
            The state, as an array of whole numbers, or as the key says.
        """
        return self._key(self.unwrapped, observation)


class Follow(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Tells an agent when an episode begins, so that an action that it holds is let go.

    Parameters
    ----------
    env : gymnasium.Env
        The environment that the agent's predictions are for.
    agent : Agent
        The agent.

    Examples
    --------
    >>> import gymnasium, ide3al, ide3al.wrappers
    >>> env = gymnasium.make("Pendulum-v1")
    >>> agent = ide3al.Random().fit(env, 600)
    >>> env = ide3al.wrappers.Follow(env, agent)
    >>> observation, _ = env.reset(seed=1)  # also calls agent.reset()
    >>> outcome = env.step(agent.predict(observation))
    """

    def __init__(self, env: Any, agent: Any) -> None:
        super().__init__(env)
        if not callable(getattr(agent, "reset", None)):
            raise Error(f"agent = {agent!r}: an agent is needed, such as ide3al.IDE3AL()")
        self._agent = agent

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Begin an episode, and tell the agent.

        Parameters
        ----------
        seed : int, optional
            Seed of the environment.
        options : dict, optional
            Options of the environment.

        Returns
        -------
        tuple
            What the environment returns.
        """
        self._agent.reset()
        return super().reset(seed=seed, options=options)


class _Anything(gymnasium.Space[Any]):
    """A space of whatever a key returns."""

    def __init__(self) -> None:
        super().__init__(None, None)

    def contains(self, x: Any) -> bool:
        """Anything is."""
        return True


def _space_of(state: Any) -> Any:
    """The space of arrays of whole numbers like one."""
    return gymnasium.spaces.Box(
        np.iinfo(state.dtype).min, np.iinfo(state.dtype).max, state.shape, state.dtype
    )


def _known_simulator(base: Any) -> Callable[[Any, Any], Any]:
    if callable(getattr(getattr(base, "grid", None), "encode", None)) or hasattr(base, "agent_pos"):
        return _minigrid_state
    if callable(getattr(getattr(base, "ale", None), "getRAM", None)):
        return lambda env, _: np.array(env.ale.getRAM(), dtype=np.uint8)
    raise Error(
        f"{type(base).__name__}: which state this simulator is in is not known; say it with "
        "State(env, key=lambda env, observation: ...)"
    )


def _minigrid_state(env: Any, _: Any) -> Any:
    """The whole grid, where the agent is, where it looks, and what it carries."""
    carried = env.carrying
    thing = (0, 0, 0) if carried is None else carried.encode()
    where = np.array([*env.agent_pos, env.agent_dir, *thing], dtype=np.int16)
    return np.concatenate([env.grid.encode().ravel().astype(np.int16), where])


class Novelty(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Adds an intrinsic reward for states seldom visited, ``scale / sqrt(visits)``.

    Visits are those of all episodes together. The reward of the environment and the bonus are kept
    apart in ``info["extrinsic"]`` and ``info["novelty"]``.

    Parameters
    ----------
    env : gymnasium.Env
        The environment.
    scale : float
        Bonus of the first visit to a state.
    agent : Agent, optional
        One that was fitted in the environment: visits are counted in its cells, and those that it
        made count. Needed where observations are continuous.
    extrinsic : bool
        Whether the environment's own reward is added; without it only novelty counts.

    Raises
    ------
    Error
        If observations are continuous and no agent is given, or the scale is not positive.

    Examples
    --------
    >>> import gymnasium
    >>> from ide3al.wrappers import Novelty
    >>> env = Novelty(gymnasium.make("FrozenLake-v1", is_slippery=False), scale=0.5)
    >>> _ = env.reset(seed=0)
    >>> env.step(2)[1]
    0.5
    """

    def __init__(
        self, env: Any, scale: float = 1.0, agent: Any = None, extrinsic: bool = True
    ) -> None:
        super().__init__(env)
        if not (np.isfinite(scale) and scale > 0):
            raise Error(f"scale = {scale}: a number above 0 is needed")
        self.scale, self.extrinsic = float(scale), bool(extrinsic)
        self._partition = None if agent is None else agent.partition
        self._encoder = None
        if self._partition is None:
            if is_continuous(env.observation_space):
                raise Error(
                    f"{env.observation_space} is not finite: give agent=..., one that was fitted "
                    "here, whose cells are counted"
                )
            self._encoder = state_encoder(env.observation_space)
        else:
            self._partition.check(env)
        #: Visits of each state, by number.
        self.visits: dict[int, int] = {}
        if agent is not None:
            if isinstance(agent.encoder, DiscoveredStates):
                self._encoder = agent.encoder.copy()
            counts = agent.visits.sum(axis=1)
            self.visits = {int(s): int(counts[s]) for s in np.flatnonzero(counts)}

    def step(self, action: Any) -> Any:
        """Take a step, and add the bonus of where it leads.

        Parameters
        ----------
        action : object
            An action of the environment.

        Returns
        -------
        tuple
            Observation, reward with the bonus, terminated, truncated and info.
        """
        observation, reward, terminated, truncated, info = self.env.step(action)
        if self._partition is not None:
            # an agent's cells are not added to: a cell never met counts as the nearest one
            vector = self._partition.vector(observation)
            state = self._partition.find(vector, len(self._partition.states), bool(terminated))
        else:
            assert self._encoder is not None
            state = self._encoder.number(observation)
        self.visits[state] = self.visits.get(state, 0) + 1
        bonus = self.scale / float(np.sqrt(self.visits[state]))
        info = {**info, "extrinsic": float(reward), "novelty": bonus}
        total = (float(reward) if self.extrinsic else 0.0) + bonus
        return observation, total, terminated, truncated, info
