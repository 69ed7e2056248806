"""Models."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _ide3al
from .._display import html_picture, html_table
from .._ide3al import Error
from ..types import Floats, Integers

Rows = tuple[Integers, Integers, Floats]


class MDP:
    """A finite Markov decision process without rewards.

    ``P`` is one of

    - an array of shape (S, A, S), ``P[s, a, t]`` the probability of reaching t;
    - a SciPy sparse matrix of shape (S * A, S), row ``s * A + a``;
    - a list of A sparse matrices of shape (S, S), one per action;
    - with ``s_indices`` and ``a_indices``, QuantEcon's state-action pairs: an array or sparse
      matrix with one row per pair.

    A row without any entry is an action that the state does not have. ``start`` is a
    distribution over states or one state; uniform when left out. Nothing sparse is made
    dense.
    """

    __slots__ = ("native",)
    #: The compiled model, for the modules of this package.
    native: _ide3al.Model

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
        if (s_indices is None) != (a_indices is None):
            raise Error("state-action pairs: give both s_indices and a_indices")
        if s_indices is not None and a_indices is not None:
            model = _from_pairs(P, s_indices, a_indices, start)
        elif isinstance(P, (list, tuple)):
            model = _from_list(P, start)
        elif _is_sparse(P):
            model = _from_tall(P, start)
        else:
            model = _from_dense(P, start)
        if state_names is not None or action_names is not None:
            model = model.named(
                None if state_names is None else [str(n) for n in state_names],
                None if action_names is None else [str(n) for n in action_names],
            )
        self.native = model

    @classmethod
    def from_native(cls, model: _ide3al.Model) -> MDP:
        mdp = cls.__new__(cls)
        mdp.native = model
        return mdp

    @classmethod
    def domain(cls, spec: str, **parameters: Any) -> MDP:
        """A built-in domain: ``MDP.domain("garnet", states=1000, seed=3)``, or as on the
        command line ``MDP.domain("garnet:states=1000,seed=3")``, ``"grid:FILE"`` or
        ``"graph:FILE"``.
        :func:`domains` lists them."""
        if parameters:
            given = ",".join(f"{name}={value}" for name, value in parameters.items())
            spec = f"{spec}{',' if ':' in spec else ':'}{given}"
        return cls.from_native(_ide3al.Model.domain(spec))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> MDP:
        """Reads a model file (.json, .npz, .tra or .umb)."""
        return cls.from_native(_ide3al.Model.load(path))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a model file (.json, .npz, .tra or .umb), whole or not at all."""
        self.native.save(path)

    @classmethod
    def from_gymnasium(
        cls,
        env: Any,
        on_terminal: str = "reset",
        start: npt.ArrayLike | int | None = None,
    ) -> MDP:
        """The model in ``env.unwrapped.P`` (FrozenLake, CliffWalking, Taxi, ...).

        A state that some transition enters with ``terminated`` is terminal. With
        ``on_terminal="reset"`` every action there leads to the initial distribution, as for
        an agent that counts the reset as a step; with ``"absorb"`` it leads nowhere else.
        ``start`` replaces the environment's ``initial_state_distrib``.
        """
        if on_terminal not in ("reset", "absorb"):
            raise Error(f"on_terminal = {on_terminal!r}: must be 'reset' or 'absorb'")
        base = getattr(env, "unwrapped", env)
        table = getattr(base, "P", None)
        if table is None:
            raise Error(
                f"{_name(env)} has no transition table P; learn from its steps with "
                "ide3al.IDE3AL(...).fit(env) instead"
            )
        n_states, n_actions = (
            _finite(getattr(base, f"{kind}_space", None), kind, env)
            for kind in ("observation", "action")
        )
        if start is None:
            start = getattr(base, "initial_state_distrib", None)
            if start is None:
                raise Error(
                    f"{_name(env)} has no initial_state_distrib; say where it starts: "
                    "from_gymnasium(env, start=...)"
                )
        distribution = _start(start, n_states)
        assert distribution is not None
        reset = on_terminal == "reset"
        return cls.from_native(
            _ide3al.Model.from_table(table, n_states, n_actions, distribution, reset)
        )

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
    ) -> tuple[MDP, list[Hashable]]:
        """Enumerates an environment without ``P``, breadth first, by stepping copies of it.
        Returns the model and the key of each state.

        ``key(env, observation)`` says which states are the same; by default MiniGrid's grid
        with the agent's place, direction and load, for others the observation. ``seeds`` are
        the resets to begin from, equally likely. Time limits are ignored.

        The environment must be deterministic: every step is made at least twice, and one whose
        steps differ is refused. With ``samples`` it may be random: every step is made that many
        times, and the probabilities are the shares of what followed. They are estimates, with
        errors of about ``0.5 / samples ** 0.5``, and what did not happen in any try has
        probability zero (states may be missing); the randomness must come from the
        environment's ``np_random``. The same call gives the same model.
        """
        from .enumeration import enumerate_states

        model, keys = enumerate_states(env, key, on_terminal, seeds, max_states, samples)
        return cls.from_native(model), keys

    @property
    def n_states(self) -> int:
        return self.native.n_states

    @property
    def n_actions(self) -> int:
        """Largest number of an action, plus one."""
        return self.native.n_action_labels

    @property
    def n_pairs(self) -> int:
        """Number of state-action pairs."""
        return self.native.n_pairs

    @property
    def nnz(self) -> int:
        """Number of stored transitions."""
        return self.native.nnz

    @property
    def start(self) -> Floats:
        """The start distribution."""
        return self.native.start

    @property
    def state_names(self) -> list[str] | None:
        return self.native.state_names

    @property
    def action_names(self) -> list[str] | None:
        return self.native.action_names

    @property
    def times(self) -> Floats | None:
        """Travel time of each state-action pair, if the model has them."""
        return self.native.times

    def with_times(self, times: npt.ArrayLike) -> MDP:
        """The same model with travel times: one positive number per state-action pair, or (S, A)."""
        array = _numbers(times, "travel times")
        if array.shape == (self.n_states, self.n_actions):
            states, actions = self.pairs
            array = array[states, actions]
        return MDP.from_native(self.native.with_times(np.ascontiguousarray(array.ravel())))

    def by_the_clock(self) -> MDP:
        """The model in which shares are shares of time: what is solved and proven on it holds of
        the time spent instead of the number of visits. :meth:`choices` turns its policies into
        those to choose by."""
        return MDP.from_native(self.native.by_the_clock())

    def choices(self, policy: Any) -> Floats | list[Floats]:
        """The policy to choose by, once per visit, that shares the time of each state as
        ``policy``, one of the model :meth:`by_the_clock`, does."""
        return shaped(self, self.native.choices(probabilities(self, policy)))

    @property
    def layout(self) -> Integers | None:
        """(S, 2) row and column of each state on the model's map, if it has one."""
        layout = self.native.layout
        if layout is None:
            return None
        _, columns, cells = layout
        return np.stack(np.divmod(np.asarray(cells, dtype=np.int64), columns), axis=1)

    def actions(self, state: int) -> Integers:
        """The actions that a state has."""
        if not 0 <= state < self.n_states:
            raise Error(
                f"state {state} is out of range: there are {self.n_states}, numbered from 0"
            )
        first = self.native.first_pair
        return self.native.actions[first[state] : first[state + 1]]

    @property
    def pairs(self) -> tuple[Integers, Integers]:
        """State and action of each pair, in the order of the rows."""
        first = self.native.first_pair
        states = np.repeat(np.arange(self.n_states, dtype=np.int64), np.diff(first))
        return states, self.native.actions

    @property
    def is_even(self) -> bool:
        """Whether every state has every action."""
        return self.n_pairs == self.n_states * self.n_actions

    def rows(self) -> Rows:
        """One compressed row per pair: offsets, next states, probabilities."""
        offsets, indices, values, spread = self.native.rows()
        if spread.any():
            raise Error(
                "this model is an estimate with uniform rows for pairs never tried, which "
                "compressed rows would fill in; use dense(), or solve it as it is"
            )
        return offsets, indices, values

    def sparse(self) -> Any:
        """The rows as a ``scipy.sparse.csr_array`` of shape (pairs, S)."""
        from .._extras import need

        offsets, indices, values = self.rows()
        sparse = need("scipy.sparse", "all")
        return sparse.csr_array((values, indices, offsets), shape=(self.n_pairs, self.n_states))

    def dense(self) -> Floats:
        """The array (S, A, S); actions that a state does not have are rows of zeros."""
        offsets, indices, values, spread = self.native.rows()
        states, actions = self.pairs
        dense = np.zeros((self.n_states, self.n_actions, self.n_states))
        if spread.size:
            dense[states, actions] = spread[:, None] / self.n_states
        row = np.repeat(np.arange(self.n_pairs), np.diff(offsets))
        dense[states[row], actions[row], indices] += values
        return dense

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MDP) and self.native == other.native

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        model = self.native
        arguments = (
            model.first_pair, model.actions, *model.rows(), self.start,
            self.state_names, self.action_names, model.layout, model.spec, model.times,
        )  # fmt: skip
        return _restore, arguments

    def __repr__(self) -> str:
        spec = f" {self.native.spec!r}" if self.native.spec else ""
        return (
            f"<MDP{spec}: {self.n_states} states, {self.n_pairs} state-action pairs, "
            f"{self.nnz} transitions>"
        )

    def _repr_html_(self) -> str:
        states, starts = self.n_states, int(np.count_nonzero(self.start))
        rows = [
            ("states", str(states)),
            ("actions", f"up to {self.n_actions}, {self.n_pairs} state-action pairs"),
            ("transitions", str(self.nnz)),
            ("starts in", "any state" if starts == states else f"{starts} of the states"),
        ]
        table = html_table(f"Model {self.native.spec}".strip(), rows)
        svg = _ide3al.heat_map(self.native, self.start, "Start", "probability of starting here")
        return table + html_picture(svg, "Where walks start")


def domains() -> dict[str, dict[str, str]]:
    """The built-in domains: each name with its parameters and their defaults."""
    return {name: dict(parameters) for name, _, parameters in _ide3al.domains()}


def probabilities(mdp: MDP, policy: Any) -> Floats:
    """One probability per pair, from an array (S, A), rows per state, or such a list already."""
    if isinstance(policy, str):
        if policy != "uniform":
            raise Error(f"policy {policy!r}: give an array (S, A), or 'uniform'")
        counts = np.diff(mdp.native.first_pair)
        return np.repeat(1.0 / counts, counts)
    if isinstance(policy, (list, tuple)) and not mdp.is_even:
        if len(policy) != mdp.n_states:
            raise Error(f"policy: expected {mdp.n_states} rows, one per state, found {len(policy)}")
        rows = [_numbers(row, "policy").ravel() for row in policy]
        lengths = np.diff(mdp.native.first_pair)
        for state, (row, length) in enumerate(zip(rows, lengths, strict=True)):
            if row.size != length:
                raise Error(f"policy, state {state}: {row.size} probabilities for {length} actions")
        return np.concatenate(rows)
    array = _numbers(policy, "policy")
    if array.shape == (mdp.n_pairs,):
        return array
    if array.shape != (mdp.n_states, mdp.n_actions):
        raise Error(
            f"policy: expected shape ({mdp.n_states}, {mdp.n_actions}), found {array.shape}"
        )
    states, actions = mdp.pairs
    flat = array[states, actions]
    lacking = ~np.isclose(array.sum(axis=1), np.add.reduceat(flat, mdp.native.first_pair[:-1]))
    if lacking.any():
        state = int(np.argmax(lacking))
        raise Error(f"policy, state {state}: gives weight to an action that the state lacks")
    return np.ascontiguousarray(flat)


def shaped(mdp: MDP, flat: Floats) -> Floats | list[Floats]:
    """(S, A) where every state has every action, else one row per state."""
    if mdp.is_even:
        return flat.reshape(mdp.n_states, mdp.n_actions)
    return np.split(flat, mdp.native.first_pair[1:-1])


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
) -> MDP:
    rows = (offsets, indices, values)
    model = _ide3al.Model.from_rows(first_pair, actions, rows, spread, start)
    model = model.named(state_names, action_names, layout, spec)
    return MDP.from_native(model if times is None else model.with_times(times))


def _is_sparse(matrix: Any) -> bool:
    """SciPy's matrices and arrays, without importing SciPy."""
    return hasattr(matrix, "tocsr") and hasattr(matrix, "nnz")


def _name(env: Any) -> str:
    spec = getattr(env, "spec", None)
    return getattr(spec, "id", None) or type(env).__name__


def _finite(space: Any, kind: str, env: Any) -> int:
    if not hasattr(space, "n") or getattr(space, "start", 0) != 0:
        raise Error(f"{_name(env)}: its {kind} space is {space}, not Discrete(n) from 0")
    return int(space.n)


def _numbers(values: Any, what: str) -> Floats:
    try:
        array = np.asarray(values)
        if np.iscomplexobj(array) or array.dtype.kind not in "biufO":
            raise TypeError(f"numbers of type {array.dtype}")
        return np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise Error(f"{what}: cannot be read as an array of real numbers: {problem}") from None


def _integers(values: Any, what: str) -> Integers:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise Error(f"{what}: expected a list of whole numbers, found {array.dtype} {array.shape}")
    return np.ascontiguousarray(array, dtype=np.int64)


def _start(start: npt.ArrayLike | int | None, n_states: int) -> Floats | None:
    if start is None:
        return None
    if np.ndim(start) == 0:
        state = np.asarray(start)
        if state.dtype.kind not in "iu" or not 0 <= int(state) < n_states:
            raise Error(
                f"start = {start}: give a state from 0 to {n_states - 1}, or a distribution"
            )
        one = np.zeros(n_states)
        one[int(state)] = 1.0
        return one
    array = _numbers(start, "start distribution")
    if array.shape != (n_states,):
        raise Error(f"start distribution: expected shape ({n_states},), found {array.shape}")
    if not (array >= 0).all() or abs(array.sum() - 1) > 1e-6:
        raise Error(
            f"start distribution: it sums to {array.sum()} with least entry {array.min()}; give S "
            "probabilities that sum to 1, or one state index"
        )
    return array


def _csr(matrix: Any, what: str) -> Rows:
    if np.dtype(matrix.dtype).kind not in "biuf":
        raise Error(f"{what}: its entries are of type {matrix.dtype}, not real numbers")
    rows = matrix.tocsr()
    return (
        np.ascontiguousarray(rows.indptr, dtype=np.int64),
        np.ascontiguousarray(rows.indices, dtype=np.int64),
        np.ascontiguousarray(rows.data, dtype=np.float64),
    )


def _from_dense(P: Any, start: npt.ArrayLike | int | None) -> _ide3al.Model:
    array = _numbers(P, "P")
    if array.ndim != 3 or array.shape[0] != array.shape[2]:
        hint = ""
        if array.ndim == 3 and array.shape[1] == array.shape[2]:
            hint = "; this one looks like (A, S, S): pass P.swapaxes(0, 1)"
        raise Error(f"P: expected shape (S, A, S), found {array.shape}{hint}")
    return _ide3al.Model.from_dense(array, _start(start, array.shape[0]))


def _from_tall(P: Any, start: npt.ArrayLike | int | None) -> _ide3al.Model:
    if len(P.shape) != 2 or P.shape[1] == 0 or P.shape[0] % P.shape[1]:
        raise Error(f"P: expected a sparse matrix of shape (S * A, S), found {P.shape}")
    n_states = int(P.shape[1])
    return _ide3al.Model.from_sparse(n_states, [_csr(P, "P")], _start(start, n_states))


def _from_list(P: Sequence[Any], start: npt.ArrayLike | int | None) -> _ide3al.Model:
    if not P or not any(_is_sparse(matrix) for matrix in P):
        return _from_dense(P, start)
    shapes = {tuple(np.shape(matrix)) for matrix in P}
    if not all(_is_sparse(matrix) for matrix in P):
        raise Error("P: a list of matrices, one per action: all must be sparse, or none")
    if len(shapes) != 1 or len({*shapes.copy().pop()}) != 1:
        raise Error(f"P: expected A sparse matrices of one shape (S, S), found {sorted(shapes)}")
    n_states = int(P[0].shape[0])
    matrices = [_csr(matrix, f"P[{a}]") for a, matrix in enumerate(P)]
    return _ide3al.Model.from_sparse(n_states, matrices, _start(start, n_states))


def _from_pairs(
    P: Any,
    s_indices: npt.ArrayLike,
    a_indices: npt.ArrayLike,
    start: npt.ArrayLike | int | None,
) -> _ide3al.Model:
    states, actions = _integers(s_indices, "s_indices"), _integers(a_indices, "a_indices")
    if _is_sparse(P):
        shape, rows = P.shape, _csr(P, "P")
    else:
        array = _numbers(P, "P")
        shape = array.shape
        if array.ndim == 2:
            row, column = np.nonzero(array)
            offsets = np.searchsorted(row, np.arange(shape[0] + 1)).astype(np.int64)
            rows = offsets, column.astype(np.int64), array[row, column]
    if len(shape) != 2:
        raise Error(f"P: state-action pairs need shape (pairs, S), found {shape}")
    n_states = int(shape[1])
    return _ide3al.Model.from_pairs(n_states, states, actions, rows, _start(start, n_states))
