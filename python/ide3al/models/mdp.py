"""Finite Markov decision processes: where models come from, and what they are turned into."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import _ide3al
from .._check import file_name
from .._deprecated import warn
from ..types import Floats, Integers
from .arrays import ModelArrays
from .construction import model_from, model_from_gymnasium, numbers
from .enumeration import enumerate_states
from .policies import probabilities, shaped


class MDP(ModelArrays):
    """A finite Markov decision process, with the rewards that it came with, if any.

    A row without any entry is an action that the state does not have. Nothing sparse is made dense.

    Parameters
    ----------
    P : array_like, sparse matrix or list of sparse matrices
        Transition probabilities: an array (S, A, S), ``P[s, a, t]`` the probability of reaching t;
        a sparse matrix (S * A, S) with row ``s * A + a``; A sparse matrices (S, S), one per action;
        or, with ``s_indices`` and ``a_indices``, an array or sparse matrix with one row per pair,
        as in QuantEcon.
    start : array_like of shape (S,) or int, optional
        Distribution over the states to start in, or one state; uniform unless given.
    s_indices, a_indices : array_like of int, optional
        State and action of each row.
    state_names, action_names : sequence of str, optional
        Names for reports and pictures.

    Raises
    ------
    Error
        If rows are no distributions, or shapes do not fit together.

    Examples
    --------
    >>> import ide3al, numpy as np
    >>> P = np.array([[[0.5, 0.5], [0.0, 1.0]], [[1.0, 0.0], [0.5, 0.5]]])
    >>> ide3al.MDP(P, start=0).n_pairs
    4
    """

    __slots__ = ()

    def __init__(
        self,
        P: Any,
        start: npt.ArrayLike | int | None = None,
        *,
        s_indices: npt.ArrayLike | None = None,
        a_indices: npt.ArrayLike | None = None,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
    ) -> None:
        model = model_from(P, start, s_indices, a_indices)
        if state_names is not None or action_names is not None:
            model = model.named(
                None if state_names is None else [str(n) for n in state_names],
                None if action_names is None else [str(n) for n in action_names],
            )
        self.native, self.state_keys = model, None

    @classmethod
    def from_native(cls, model: _ide3al.Model, state_keys: list[Hashable] | None = None) -> MDP:
        """Wrap a compiled model.

        Parameters
        ----------
        model : ide3al._ide3al.Model
            The compiled model.
        state_keys : list, optional
            What each state was enumerated as.

        Returns
        -------
        MDP
            The model.
        """
        mdp = cls.__new__(cls)
        mdp.native, mdp.state_keys = model, state_keys
        return mdp

    @classmethod
    def domain(cls, spec: str, **parameters: Any) -> MDP:
        """Build one of the built-in domains; :func:`domains` lists them.

        Parameters
        ----------
        spec : str
            Name of the domain, with parameters as on the command line where wanted:
            ``"garnet:states=1000,seed=3"``, ``"grid:FILE"`` or ``"graph:FILE"``.
        **parameters
            Parameters by name: ``MDP.domain("garnet", states=1000, seed=3)``.

        Returns
        -------
        MDP
            The model.

        Raises
        ------
        Error
            If there is no such domain, or a parameter is out of range.
        """
        if parameters:
            given = ",".join(f"{name}={value}" for name, value in parameters.items())
            spec = f"{spec}{',' if ':' in spec else ':'}{given}"
        return cls.from_native(_ide3al.Model.domain(spec))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> MDP:
        """Read a model from a file.

        Parameters
        ----------
        path : path-like
            Name of the file, which ends in ``.json``, ``.npz``, ``.tra`` or ``.umb``.

        Returns
        -------
        MDP
            The model.

        Raises
        ------
        Error
            If the file cannot be read or holds no model.
        """
        return cls.from_native(_ide3al.Model.load(file_name("path", path)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, whole or not at all.

        Parameters
        ----------
        path : path-like
            Name of the file, which ends in ``.json``, ``.npz``, ``.tra`` or ``.umb``.

        Raises
        ------
        Error
            If the file cannot be written.
        """
        self.native.save(file_name("path", path))

    @classmethod
    def from_gymnasium(
        cls,
        env: Any,
        on_terminal: str = "reset",
        start: npt.ArrayLike | int | None = None,
    ) -> MDP:
        """Take the model in ``env.unwrapped.P`` (FrozenLake, CliffWalking, Taxi, ...).

        A state that some transition enters with ``terminated`` is terminal.

        Parameters
        ----------
        env : gymnasium.Env
            The environment.
        on_terminal : {"reset", "absorb"}, default "reset"
            Where the actions of terminal states lead: to the initial distribution, as for an agent
            that counts the reset as a step, or nowhere else.
        start : array_like or int, optional
            Takes the place of the environment's ``initial_state_distrib``.

        Returns
        -------
        MDP
            The model.

        Raises
        ------
        Error
            If the environment has no table of transitions, or does not say where it starts.
        """
        return cls.from_native(model_from_gymnasium(env, on_terminal, start))

    @classmethod
    def from_simulator(
        cls,
        env: Any,
        *,
        key: Callable[[Any, Any], Hashable] | None = None,
        on_terminal: str = "reset",
        seeds: Sequence[int] = (0,),
        max_states: int = 100_000,
        samples: int | None = None,
    ) -> MDP:
        """Enumerate an environment without ``P``, breadth first, by stepping copies of it.

        The environment must be deterministic unless ``samples`` is given: every step is made at
        least twice, and one whose steps differ is refused. Time limits are ignored. The same call
        gives the same model; :attr:`state_keys` says what its states are.

        Parameters
        ----------
        env : gymnasium.Env
            The environment; its randomness must come from its ``np_random``.
        key : callable, optional
            Function from (env, observation) to what distinguishes a state from others. Unless given
            it is MiniGrid's grid with the agent's position, direction and load, for other
            environments the observation.
        on_terminal : {"reset", "absorb"}, default "reset"
            Where the actions of terminal states lead.
        seeds : sequence of int, default (0,)
            Seeds of the resets to begin from, equally likely.
        max_states : int, default 100000
            Number of states beyond which the environment is refused.
        samples : int, optional
            Number of times that every step is made in a random environment. Probabilities are the
            shares of what followed, with errors of about ``0.5 / samples ** 0.5``; what did not
            happen in any try has probability zero, so that states may be missing.

        Returns
        -------
        MDP
            The model.

        Raises
        ------
        Error
            If the environment is random, or has too many states.
        """
        model, keys = enumerate_states(env, key, on_terminal, seeds, max_states, samples)
        return cls.from_native(model, keys)

    @classmethod
    def from_dataset(
        cls,
        dataset: Any,
        *,
        env: Any = None,
        states: Any = None,
        on_terminal: Literal["reset", "absorb"] = "reset",
    ) -> MDP:
        """Make the model that a data set suggests, rewards included; see :meth:`Data.model`.

        Parameters
        ----------
        dataset : str, path, dict or Data
            What :func:`ide3al.audit` reads: the id of a Minari data set, ``.npz``, ``.parquet``,
            the folder of a collection, arrays.
        env, states : optional
            What numbers the observations, as in :func:`ide3al.audit`.
        on_terminal : {"reset", "absorb"}
            What follows a terminal state, as in :meth:`Data.model`.

        Returns
        -------
        MDP
            The model.

        Raises
        ------
        Error
            If the data set cannot be read.
        """
        # data sets are made of models, so that they cannot be imported above
        reading = importlib.import_module("ide3al.datasets.reading")
        model: MDP = reading.read(dataset, env=env, states=states).model(on_terminal)
        return model

    def with_rewards(self, rewards: npt.ArrayLike, terminal: Sequence[int] | None = None) -> MDP:
        """Give the same model with rewards.

        Parameters
        ----------
        rewards : array_like
            (S,) for every step taken in a state, (S, A) or one per state-action pair, (S, A, S) or
            one per stored transition.
        terminal : list of int, optional
            States in which episodes end; the model's own when left out.

        Returns
        -------
        MDP
            The model with rewards.

        Raises
        ------
        Error
            If the numbers fit neither states, pairs nor transitions, or are not finite.
        """
        array = np.ascontiguousarray(numbers(rewards, "rewards").ravel())
        each = _ide3al.expected_rewards(self.native, array)
        ends = self.terminal if terminal is None else [int(s) for s in terminal]
        return MDP.from_native(_ide3al.model_with_rewards(self.native, each, ends), self.state_keys)

    def with_times(self, times: npt.ArrayLike) -> MDP:
        """Give the same model with travel times.

        Parameters
        ----------
        times : array_like
            One positive number per state-action pair, or an array (S, A).

        Returns
        -------
        MDP
            The model.

        Raises
        ------
        Error
            If a time is not positive, or there are not as many as pairs.
        """
        array = numbers(times, "travel times")
        if array.shape == (self.n_states, self.n_actions):
            states, actions = self.pairs
            array = array[states, actions]
        return MDP.from_native(self.native.with_times(np.ascontiguousarray(array.ravel())))

    def by_the_clock(self) -> MDP:
        """Give the model in which shares are shares of time.

        What is solved and proven on it holds of the time spent instead of the number of visits.
        :meth:`choices` turns its policies into those to choose by.

        Returns
        -------
        MDP
            The model.
        """
        return MDP.from_native(self.native.by_the_clock())

    def choices(self, policy: Any) -> Floats | list[Floats]:
        """Turn a policy by the clock into the one to choose by, once per visit.

        Parameters
        ----------
        policy : array_like
            A policy of the model :meth:`by_the_clock`.

        Returns
        -------
        ndarray or list
            Probabilities (S, A), or one row per state, that share the time of each state as
            ``policy`` does.
        """
        return shaped(self.native, self.native.choices(probabilities(self.native, policy)))

    def __iter__(self) -> Iterator[Any]:
        """Unpack into the model and its keys, as ``from_simulator`` once returned them."""
        if self.state_keys is None:
            raise TypeError("an MDP cannot be iterated over")
        warn("from_simulator now returns the model alone, its keys are model.state_keys: unpacking")
        return iter((self, self.state_keys))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MDP) and self.native == other.native

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        model = self.native
        arguments = (
            model.first_pair, model.actions, *model.rows(), self.start,
            self.state_names, self.action_names, model.layout, model.spec, model.times,
            self.state_keys, self.rewards, self.terminal,
        )  # fmt: skip
        return _restore, arguments


def _restore(
    first_pair: Integers,
    actions: Integers,
    offsets: Integers,
    indices: Integers,
    values: Floats,
    spread: Floats,
    start: Floats,
    state_names: list[str] | None,
    action_names: list[str] | None,
    layout: tuple[int, int, list[int]] | None,
    spec: str,
    times: Floats | None = None,
    state_keys: list[Hashable] | None = None,
    rewards: Floats | None = None,
    terminal: Sequence[int] = (),
) -> MDP:
    rows = (offsets, indices, values)
    model = _ide3al.Model.from_rows(first_pair, actions, rows, spread, start)
    model = model.named(state_names, action_names, layout, spec)
    model = model if times is None else model.with_times(times)
    model = _ide3al.model_with_rewards(model, rewards, list(terminal))
    return MDP.from_native(model, state_keys)
