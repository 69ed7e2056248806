"""The best policy of a known model for a reward or a goal."""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from .. import _ide3al
from .._check import file_name
from .._display import html_picture, html_table, text_table
from .._ide3al import Error
from ..models.construction import numbers
from ..models.mdp import MDP
from ..models.policies import shaped
from ..solving.time_dependent import timed_shape
from ..types import Floats

#: Worth of a reward one step later unless told otherwise: looks about a hundred steps ahead.
DISCOUNT = 0.99

Answer = tuple[Floats, float, int | None, Floats, Floats | None, dict[str, Any]]


class Plan:
    """A policy for a reward or a goal, what it is worth, and the proof.

    Attributes
    ----------
    mdp : MDP
        The model that was planned in.
    criterion : str
        What was maximised, in words.
    values : ndarray
        The best value of every state, to within :attr:`error`; of a goal, the probability of
        reaching it.
    error : float
        No value is wrong by more than this.
    policy : ndarray or list
        Probabilities (S, A), or (T, S, A) for a number of steps; rows where states have different
        actions.
    steps : ndarray or None
        Of a goal, the mean number of steps until it is reached, when it is.
    """

    def __init__(self, mdp: MDP, criterion: str, answer: Answer) -> None:
        self.mdp, self.criterion = mdp, criterion
        self.values, self.error, tables, self._flat, self.steps, self._certificate = answer
        self._timed = tables is not None

    @property
    def policy(self) -> Any:
        if self._timed:
            return timed_shape(self.mdp, self._flat)
        return shaped(self.mdp.native, self._flat)

    @property
    def objective(self) -> float:
        """What the policy is worth from the start."""
        return float(self._certificate["objective"])

    @property
    def bound(self) -> float:
        """No policy is worth more than this."""
        return float(self._certificate["bound"])

    @property
    def gap(self) -> float:
        """Distance between the two."""
        return float(self._certificate["gap"])

    @property
    def status(self) -> str:
        """optimal, iteration_limit, time_limit, interrupted or stalled."""
        return str(self._certificate["status"])

    @property
    def iterations(self) -> int:
        """Sweeps over all pairs."""
        return int(self._certificate["iterations"])

    @property
    def seconds(self) -> float:
        """Wall-clock seconds."""
        return float(self._certificate["seconds"])

    def action(self, state: int, step: int = 0) -> int:
        """Give the action chosen in a state.

        Parameters
        ----------
        state : int
            The state.
        step : int, default 0
            The step, counted from 0, where the policy depends on it.

        Returns
        -------
        int
            Number of the action.

        Raises
        ------
        Error
            If there is no such state, or the step is negative.
        """
        native = self.mdp.native
        if not 0 <= state < native.n_states:
            raise Error(f"state {state} is out of range: there are {native.n_states}, from 0")
        if step < 0:
            raise Error(f"step = {step}: steps are counted from 0")
        first, n = native.first_pair, native.n_pairs
        offset = min(step, len(self._flat) // n - 1) * n if self._timed else 0
        pairs = slice(offset + int(first[state]), offset + int(first[state + 1]))
        return int(native.actions[int(first[state]) + int(np.argmax(self._flat[pairs]))])

    def save_policy(self, path: str | os.PathLike[str]) -> None:
        """Write the policy.

        Parameters
        ----------
        path : path-like
            File ending in ``.json``, ``.npz`` or ``.npy``.

        Raises
        ------
        Error
            If the file cannot be written, or the policy depends on the step.
        """
        if self._timed:
            raise Error(
                "save_policy: this policy depends on the step; write it with 'ide3al plan --within'"
            )
        _ide3al.write_policy(file_name("path", path), self.mdp.native, self._flat)

    def _rows(self) -> list[tuple[str, str]]:
        rows = [
            ("maximised", self.criterion),
            ("worth", f"{self.objective:.7g} from the start"),
            ("bound", f"{self.bound:.7g} (no policy has more)"),
            ("gap", f"{self.gap:.1e} ({self.status.replace('_', ' ')})"),
        ]
        if self.steps is not None and self.objective > 0:
            weights = self.mdp.start * self.values
            reached = weights > 0
            mean = weights[reached] @ self.steps[reached] / weights.sum()
            rows.append(("steps", f"{mean:.5g} on average until the goal, when it is reached"))
        return rows

    def __repr__(self) -> str:
        return text_table(f"Plan in {self.mdp!r}", self._rows())

    def _repr_html_(self) -> str:
        table = html_table(f"Plan in {self.mdp!r}", self._rows())
        svg = _ide3al.heat_map(self.mdp.native, self.values, "Values", "value of each state")
        return table + html_picture(svg, "The value of each state")


def plan_in(
    mdp: MDP,
    rewards: list[Floats],
    discount: float | None,
    average: bool,
    within: int | None,
    limits: tuple[float, int, float | None],
) -> tuple[str, list[Answer]]:
    """What is maximised, in words, and the library's answers; rewards have one number per pair."""
    given = [
        name
        for name, there in (
            ("discount", discount is not None),
            ("average", average),
            ("within", within is not None),
        )
        if there
    ]
    if len(given) > 1:
        raise Error(f"{' and '.join(given)}: these are different things to maximise; give one")
    within = _steps(within)
    if not average and within is None:
        discount = DISCOUNT if discount is None else number_of(discount, "discount")
        said = f"rewards discounted by {discount:g} per step"
    else:
        said = "average reward in the long run" if average else f"rewards of {within} steps"
    return said, _ide3al.plan_rewards(mdp.native, rewards, discount, within, limits)


def plan_to(
    mdp: MDP,
    goal: Any,
    avoid: Any,
    within: int | None,
    limits: tuple[float, int, float | None],
) -> tuple[str, Answer]:
    """The same for a goal."""
    within = _steps(within)
    reach, shun = _states(goal, "goal"), _states(avoid, "avoid")
    said = "probability of reaching the goal" + (
        ", then speed" if within is None else f" within {within} steps"
    )
    return said, _ide3al.plan_goal(mdp.native, reach, shun, within, limits)


def limits_of(
    tolerance: Any, max_iterations: Any, time_limit: Any
) -> tuple[float, int, float | None]:
    """When to stop, as the library takes it."""
    most = _whole(max_iterations, "max_iterations")
    if not 0 <= most < 2**63:
        raise Error(f"max_iterations = {most}: a number of sweeps is needed, 0 or more")
    seconds = None if time_limit is None else number_of(time_limit, "time_limit")
    return number_of(tolerance, "tolerance"), most, seconds


def _steps(within: Any) -> int | None:
    if within is None:
        return None
    steps = _whole(within, "within")
    if steps < 1:
        raise Error(f"within = {steps}: at least one step is needed")
    if steps >= 2**63:
        raise Error(f"within = {steps}: a policy for each of so many steps does not fit")
    return steps


def _whole(given: Any, what: str) -> int:
    try:
        return operator.index(given)
    except TypeError:
        raise Error(f"{what} = {given!r}: a whole number is needed") from None


def number_of(given: Any, what: str) -> float:
    try:
        return float(given)
    except (TypeError, ValueError, OverflowError):
        raise Error(f"{what} = {given!r}: a number is needed") from None


def _states(given: Any, what: str) -> list[int]:
    try:
        array = np.atleast_1d(np.asarray(() if given is None else given))
    except ValueError:
        # lists of different lengths
        array = np.zeros((1, 1))
    if array.size == 0:
        return []
    if array.dtype.kind not in "iu" or array.ndim != 1 or array.min() < 0:
        raise Error(f"{what} = {given!r}: give a state by its number from 0, or a list of such")
    return [int(state) for state in array]


def expected(mdp: MDP, reward: npt.ArrayLike) -> Floats:
    """One expected reward per pair, from any array of rewards."""
    array = numbers(reward, "reward")
    n, n_actions = mdp.n_states, mdp.n_actions
    if array.ndim > 1 and array.shape not in ((n, n_actions), (n, n_actions, n)):
        raise Error(
            f"reward: expected shape ({n},), ({n}, {n_actions}), ({n}, {n_actions}, {n}), or one "
            f"number per state-action pair or transition, found {array.shape}"
        )
    return _ide3al.expected_rewards(mdp.native, np.ascontiguousarray(array.ravel()))


@overload
def plan(
    mdp: MDP,
    reward: Sequence[npt.ArrayLike],
    *,
    several: bool,
    discount: float | None = None,
    average: bool = False,
    within: int | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 1_000_000,
    time_limit: float | None = None,
) -> list[Plan]: ...


@overload
def plan(
    mdp: MDP,
    reward: npt.ArrayLike | None = None,
    *,
    goal: int | Sequence[int] | None = None,
    avoid: int | Sequence[int] | None = None,
    discount: float | None = None,
    average: bool = False,
    within: int | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 1_000_000,
    time_limit: float | None = None,
) -> Plan: ...


def plan(
    mdp: MDP,
    reward: Any = None,
    *,
    goal: int | Sequence[int] | None = None,
    avoid: int | Sequence[int] | None = None,
    discount: float | None = None,
    average: bool = False,
    within: int | None = None,
    several: bool = False,
    tolerance: float = 1e-9,
    max_iterations: int = 1_000_000,
    time_limit: float | None = None,
) -> Plan | list[Plan]:
    """Find the best policy of a known model for a reward or a goal.

    Parameters
    ----------
    mdp : MDP
        The model.
    reward : array_like, optional
        Expected rewards: (S,) for every step taken in a state, (S, A) or one per state-action pair,
        (S, A, S) or one per stored transition. The model's own when left out.
    goal, avoid : int or list of int, optional
        Instead of a reward: states to reach with the highest probability, and then soonest; states
        never to enter on the way.
    discount : float, optional
        Worth of a reward one step later, at least 0 and less than 1; 0.99 when nothing else is
        maximised.
    average : bool
        Maximise the long-run average reward.
    within : int, optional
        Maximise what the first so many steps earn, or the probability of reaching the goal in them;
        the policy then depends on the step.
    several : bool
        ``reward`` is a list of rewards; a list of plans is returned. In small models several are
        planned for at once, on all cores.
    tolerance : float
        Wanted width of the bounds of the values.
    max_iterations : int
        Most sweeps over all pairs.
    time_limit : float, optional
        Most seconds.

    Returns
    -------
    Plan or list of Plan
        The policy, the values and their bounds.

    Raises
    ------
    Error
        If rewards have the wrong shape or are not finite, or arguments contradict one another.

    Notes
    -----
    In the model's terminal states (:attr:`MDP.terminal`) nothing more is earned, but for the
    average, which goes on with the next episode.

    Examples
    --------
    >>> import ide3al
    >>> mdp = ide3al.MDP.domain("river-swim")
    >>> best = ide3al.plan(mdp, [5, 0, 0, 0, 0, 10_000], average=True)
    >>> best.status
    'optimal'
    >>> ide3al.plan(mdp, goal=5).objective
    1.0
    """
    if not isinstance(mdp, MDP):
        raise Error(f"mdp = {mdp!r}: an ide3al.MDP is needed; a plan from data is agent.plan(...)")
    limits = limits_of(tolerance, max_iterations, time_limit)
    if goal is not None:
        for name, value in (
            ("reward", reward),
            ("discount", discount),
            ("average", average or None),
            ("several", several or None),
        ):
            if value is not None:
                raise Error(f"{name}: a goal takes none; leave it out, or leave out goal")
        return Plan(mdp, *plan_to(mdp, goal, avoid, within, limits))
    if avoid is not None:
        raise Error("avoid: goes with a goal; give goal=..., or rewards that are low there")
    if several:
        given = list(reward) if np.iterable(reward) else []
        if not given:
            raise Error("several: give a list of rewards")
        rewards = [expected(mdp, one) for one in given]
    elif reward is not None:
        rewards = [expected(mdp, reward)]
    else:
        own = mdp.rewards
        if own is None:
            raise Error("this model has no rewards; give reward=... or goal=...")
        rewards = [own]
    said, answers = plan_in(mdp, rewards, discount, average, within, limits)
    plans = [Plan(mdp, said, answer) for answer in answers]
    return plans if several else plans[0]
