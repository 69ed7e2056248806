"""Plans from what was explored: for any reward or goal, with an interval for their value."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from .. import _ide3al
from .._check import file_name
from .._display import plain
from .._ide3al import Error
from ..datasets.tally import TransitionTally
from ..models.mdp import MDP
from .decoder import Decoder
from .plan import DISCOUNT, Answer, Plan, limits_of, number_of, plan_in
from .rewards import Earned, Wanted, earned_by, reward_range_of, wanted_of
from .rollout import Evaluation, roll_out
from .storage import StoredPlan, check_spaces, plan_bytes, read_plan

Untried = Literal["worthless", "optimistic"]

#: Most steps of an episode that is followed to evaluate a plan, unless told otherwise.
LONGEST = 10_000


class LearnedPlan(Plan):
    """A plan in the model of what was explored, for the environment it was explored in.

    :attr:`interval` is where its value lies in the true environment. :meth:`predict` takes
    observations, :meth:`evaluate` follows the plan in the environment, :meth:`save` keeps it.
    """

    def __init__(
        self,
        mdp: MDP,
        criterion: str,
        answer: Answer,
        decoder: Decoder,
        details: dict[str, Any],
        seed: int,
        reward: Wanted | None = None,
    ) -> None:
        super().__init__(mdp, criterion, answer)
        self.decoder, self.details = decoder, details
        self._rng = np.random.default_rng(seed)
        self._earned: Earned | None = None if reward is None else reward.earned
        self._table = None if reward is None else reward.table
        self._goal = {int(s) for s in details.get("goal", ())}
        self._step, self._held, self._left = 0, 0, 0

    @property
    def policy(self) -> Any:
        """Probabilities (S, A), or (T, S, A); actions that were never tried have none."""
        states, actions = self.mdp.pairs
        tables = self._flat.reshape(-1, self.mdp.n_pairs)
        whole = np.zeros((len(tables), self.mdp.n_states, int(self.details["n_actions"])))
        whole[:, states, actions] = tables
        return whole if self._timed else whole[0]

    @property
    def interval(self) -> tuple[float, float] | None:
        """Lower and upper bound of the plan's value in the true environment, from the start; they
        hold with probability :attr:`confidence` where the environment is Markov and its rewards
        lie in the plan's ``reward_range``. None for the average and for a number of steps, and
        where nobody said in which range the environment's own rewards lie."""
        found = self.details.get("interval")
        return None if found is None else (float(found[0]), float(found[1]))

    @property
    def optimum_bound(self) -> float | None:
        """With the same probability no policy has more in the true environment."""
        found = self.details.get("interval")
        return None if found is None else float(found[2])

    @property
    def confidence(self) -> float:
        """Probability with which :attr:`interval` holds."""
        return float(self.details["confidence"])

    def predict(self, observation: Any, deterministic: bool = True) -> Any:
        """Give the action for an observation.

        In a continuous environment an action is held for some calls before another is chosen.

        Parameters
        ----------
        observation : object
            As the environment returns it; where it was never met any action will do.
        deterministic : bool, default True
            Without effect: plans are deterministic. For those who call agents of other libraries.

        Returns
        -------
        object
            An action of the environment.
        """
        if self._left > 0:
            self._left -= 1
            return self.decoder.action(self._held)
        state = self.decoder.state(observation)
        size = int(self.details["n_actions"])
        if state is None:
            number = int(self._rng.integers(size))
        else:
            number = self.action(state, self._step)
        self._step += 1
        self._held, self._left = number, self.decoder.repeat - 1
        return self.decoder.action(number)

    def reset(self) -> None:
        """Begin an episode: for plans that depend on the step, and for actions that are held."""
        self._step = self._left = 0

    def evaluate(
        self,
        env: Any,
        episodes: int = 100,
        max_steps: int = LONGEST,
        seed: int = 0,
        reward: Any = None,
    ) -> Evaluation:
        """Follow the plan for some episodes in an environment.

        Parameters
        ----------
        env : gymnasium.Env
            The environment, or one like it.
        episodes : int
            Number of episodes.
        max_steps : int
            Most steps of an episode.
        seed : int
            Of the first reset.
        reward : array_like or callable, optional
            What is earned, as in :meth:`ide3al.IDE3AL.plan`; what was planned for when left out. A
            plan that was loaded does not know the function that it was made for.

        Returns
        -------
        Evaluation
            Returns, lengths, and how often an episode was finished. With a goal, the reward is one
            for reaching it, and episodes end there.

        Raises
        ------
        Error
            If the environment is unlike the one that was explored, or the reward is not known.
        """
        check_spaces(env, self.decoder)
        earned = self._earned
        if reward is not None:
            earned = earned_by(reward, self.decoder, int(self.details["n_actions"]))
        elif earned is None and self.details.get("function"):
            raise Error("this plan was made for a function that no file holds; give reward=...")
        reached = None
        discount = self.details.get("discount")
        if self._goal and reward is None:

            def reached(observation: Any) -> bool:
                return self.decoder.state(observation) in self._goal

        return roll_out(
            env, lambda observation, _: self.predict(observation), self.reset, reached,
            None if earned is None else lambda s, a, t: earned(s, self._held, a, t),
            1.0 if discount is None else float(discount), episodes, max_steps, seed,
        )  # fmt: skip

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan, whole or not at all.

        Parameters
        ----------
        path : path-like
            The file.

        Raises
        ------
        Error
            If it cannot be written.
        """
        _ide3al.write_file(path, plan_bytes(self._stored(), self.decoder))

    def _stored(self) -> StoredPlan:
        answer = (
            self.values, self.error, len(self._flat) // self.mdp.n_pairs if self._timed else None,
            self._flat, self.steps, self._certificate,
        )  # fmt: skip
        return StoredPlan(self.mdp, self.criterion, answer, self.details, self._table)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        env: Any = None,
        features: Callable[[Any], Any] | None = None,
    ) -> LearnedPlan:
        """Read what :meth:`save` wrote.

        Parameters
        ----------
        path : path-like
            The file.
        env : gymnasium.Env, optional
            Needed to predict: it says what observations and actions look like.
        features : callable, optional
            Of a plan in cells the function of its abstraction, which no file can hold.

        Returns
        -------
        LearnedPlan
            The plan.

        Raises
        ------
        Error
            If the file cannot be read, or the environment is another one.
        """
        stored, decoder = read_plan(file_name("path", path), env, features)
        known = None
        if stored.table is not None:
            earned = earned_by(stored.table, decoder, int(stored.details["n_actions"]))
            known = Wanted(np.zeros(1), None, earned=earned, table=stored.table)
        plan = cls(stored.mdp, stored.criterion, stored.answer, decoder, stored.details, 0, known)
        if env is not None:
            check_spaces(env, decoder)
        return plan

    def _rows(self) -> list[tuple[str, str]]:
        rows = super()._rows()
        if self.interval is not None:
            low, high = self.interval
            share = f"{100 * self.confidence:g} %"
            rows.append(("in truth", f"between {low:.4g} and {high:.4g}, with probability {share}"))
        elif "discount" in self.details:
            said = "not known: give reward_range=(least, most), whatever may be earned in a step"
            rows.append(("in truth", said))
        rows.append(("explored", f"{self.details['samples']} steps, {self.details['met']} states"))
        return rows


def plan_learned(
    tally: TransitionTally,
    decoder: Decoder,
    n_actions: int,
    reward: Any = None,
    goal: Any = None,
    *,
    avoid: Any = None,
    discount: float | None = None,
    average: bool = False,
    within: int | None = None,
    untried: Untried = "worthless",
    confidence: float = 0.95,
    reward_range: tuple[float, float] | None = None,
    tolerance: float = 1e-9,
    time_limit: float | None = None,
    seed: int = 0,
) -> LearnedPlan:
    """The plan of :meth:`ide3al.IDE3AL.plan`, from a tally of what was tried."""
    tally.check()
    if untried not in ("worthless", "optimistic"):
        raise Error(f"untried = {untried!r}: known are 'worthless' and 'optimistic'")
    if isinstance(confidence, str) or not 0 < confidence < 1:
        raise Error(f"confidence = {confidence}: a probability between 0 and 1 is needed")
    if goal is not None and reward is not None:
        raise Error("reward and goal: give one of them")
    if goal is not None and average:
        raise Error("average: a goal ends the episode and has no average; leave one of them out")
    limits = limits_of(tolerance, 1_000_000, time_limit)
    if avoid is not None and goal is None:
        raise Error("avoid: goes with a goal; give goal=..., or rewards that are low there")
    rows, n = tally.rows, decoder.n_states
    met = sorted({*rows[:, 0].tolist(), *rows[:, 2].tolist()})
    terminal: list[int] = []
    details: dict[str, Any] = {}
    values = None
    if goal is not None:
        reach = decoder.matching(goal, "goal", met)
        if not reach:
            raise Error(f"goal: no state that was met is one; {decoder.summary(met)}")
        shun = [] if avoid is None else decoder.matching(avoid, "avoid", met)
        if both := {*reach} & {*shun}:
            observation = plain(decoder.observation(min(both)))
            raise Error(f"{observation} is both the goal and to be avoided")
        wanted = Wanted(np.isin(rows[:, 2], reach).astype(np.float64), (0.0, 1.0))
        terminal, values = [*reach, *shun], (0.0, 1.0)
        details["goal"] = reach
    else:
        wanted = wanted_of(reward, tally, decoder, n_actions)
        details["function"] = callable(reward)
    span = reward_range_of(reward_range, wanted)
    high = (span or wanted.seen)[1]
    best = None if untried == "worthless" else max(high, 0.0)
    if best is not None and goal is not None and within is None:
        # reached by the next step, once
        best = 1 - (DISCOUNT if discount is None else number_of(discount, "discount"))
    model = MDP.from_native(
        tally.model(
            n, n_actions, reward=wanted.outcome, terminal=terminal, untried=best, resets=average
        )
    )
    own = model.rewards
    assert own is not None
    criterion, (answer,) = plan_in(model, [own], discount, average, within, limits)
    if goal is not None:
        criterion = f"reaching the goal, {criterion.replace('rewards', 'a reward of 1')}"
    if not average and within is None:
        details["discount"] = DISCOUNT if discount is None else float(discount)
    plan = LearnedPlan(model, criterion, answer, decoder, details, seed, wanted)
    details |= {
        "n_actions": n_actions,
        "confidence": float(confidence),
        "reward_range": None if span is None else [*span],
        "samples": len(tally),
        "met": len(met),
        "untried": untried,
    }
    if "discount" in details and span is not None:
        tried = tally.tried(n, n_actions, decoder.declared)
        counts = {(int(s), int(a)) for s, a in rows[:, :2].tolist()}
        chosen = [plan.action(s) for s in range(n)]
        actions = [a if (s, a) in counts else -1 for s, a in enumerate(chosen)]
        given = None if wanted.sampled else wanted.outcome.tolist()
        details["interval"] = tried.value_interval(
            actions, given, details["discount"], span, confidence, terminal, values
        )
    return plan
