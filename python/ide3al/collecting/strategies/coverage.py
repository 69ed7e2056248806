"""Goes for the samples that a promise still lacks, the nearest first."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _ide3al
from ...agents.algorithms import IDE3AL
from ...datasets.card import NAMED
from ...datasets.coverage import Coverage, CoverageTracker
from ...datasets.episode import Episode, TransitionFlattener
from ...encoding.masks import Mask
from ...runners.base import EpisodeRunner
from ...runners.plan import Plan, ScheduledPlan

#: Without a limit of steps a promise is given up after so many times the least that the data
# suggest, and so many steps.
BUDGET, BUDGET_STEPS = 20, 1000
#: Steps grow by this factor between two looks at the budget.
_LOOK = 1.5
#: Episodes after the first that are taken with one plan have at most this fraction (one in 40) of
# the missing samples as their steps, since episodes that go for the same pair sample it more often
# than is wanted. 10 samples of every pair of DoorKey 5x5 take 22,100 steps with one in 20, and
# 21,300 with one in 40 or fewer; 50 samples take 117,300 with one in 20, 111,400 with one in 40,
# 108,100 with one in 80, and 105,300 with a plan for each episode.
_SHARE = 40


def plans_for(until: Any, policy: Any) -> bool:
    """Whether the agent plans for a promise, rather than being followed as it is."""
    return isinstance(until, Coverage) and isinstance(policy, IDE3AL)


class CoverageStrategy:
    """IDE3AL with a promise: the explorer goes for the nearest pair, or state, that has too few
    samples.

    Each episode is taken with what was learned before it, and learns itself; where much is missing
    some are taken with the same, so that a cluster has something to do, and the data do not depend
    on who took what. Where no number of steps was given, a promise that is still short after
    ``BUDGET`` times the least number of steps that the data suggest ends with an account of what
    is missing."""

    def __init__(
        self, until: Coverage, agent: IDE3AL, runner: EpisodeRunner, steps: int | None
    ) -> None:
        n_actions = runner.actions.size
        self._tracker = CoverageTracker(until, runner.states, n_actions)
        self._until, self._agent = until, agent
        self._is_limited = steps is not None
        self._plan_info: list[dict[str, Any]] = []
        self._explorer = _ide3al.Explorer(n_actions)
        samples = until.each_pair or until.each_state or 1
        self._explorer.set_quota(samples, until.each_pair is None)
        self._flattener = TransitionFlattener(n_actions)
        #: Actions that were allowed in each state at some time, where any are masked.
        self._allowed: dict[int, Mask] = {}
        #: Episodes that the explorer was not told of yet, and how many it was told of.
        self._pending: list[Episode] = []
        self._told = 0
        self._look = 0.0
        self._least: float | None = None
        #: Pairs that had been tried when the least was estimated.
        self._tried = 0
        self._why: str | None = None

    def digest(self) -> str:
        return repr(self._agent)

    def observe(self, episode: Episode) -> None:
        self._tracker.observe(episode)
        self._pending.append(episode)

    def done(self) -> bool:
        return self._tracker.holds()

    def next_plan(self) -> ScheduledPlan | None:
        tracker = self._tracker
        if tracker.satisfied():
            self._why = self._cannot()
            return None
        if not self._is_limited and tracker.steps > 0 and tracker.steps >= self._look:
            self._look = _LOOK * tracker.steps
            self._estimate_least()
        if not self._is_limited and self._least is not None:
            if tracker.steps > BUDGET * self._least + BUDGET_STEPS:
                self._why = self._account()
                return None
        told = self._told + len(self._pending)
        info = {"steps": tracker.steps, "least": self._least, "look": self._look, "told": told}
        info["tried"] = self._tried
        self._plan_info.append(info)
        plan = self._plan(len(self._plan_info) - 1, len(self._pending))
        return ScheduledPlan(plan, 1 + self._together(told), info)

    def _together(self, episodes: int) -> int:
        """Episodes more that may be taken with the same knowledge, as long as those so far."""
        if episodes == 0:
            return 0
        missing, length = float(self._tracker.shortfall().sum()), self._tracker.steps / episodes
        return int(missing / (_SHARE * length))

    def _plan(self, number: int, more: int) -> Plan:
        """For episodes that know of so many more than those before."""
        self._explorer.record(*self._flattener.flatten(self._pending[:more]))
        for episode in self._pending[:more]:
            self._restrict(episode)
        self._told += more
        del self._pending[:more]
        nothing = np.zeros((0, self._tracker.n_actions))
        return Plan(number, nothing, explorer=self._explorer.to_bytes(), until_sampled=True)

    def _restrict(self, episode: Episode) -> None:
        """Tells the explorer which actions the states of an episode have."""
        if episode.allowed is None:
            return
        visited = episode.states.tolist()
        for state, mask in zip(visited, episode.allowed, strict=True):
            before = self._allowed.get(state)
            self._allowed[state] = mask if before is None else before | mask
        if episode.terminated:
            # nothing can be done where an episode ended
            visited.pop()
        for state in dict.fromkeys(visited):
            self._explorer.restrict(state, self._allowed[state])

    def _estimate_least(self) -> None:
        """Estimates the least number of steps. While no pair is tried for the first time, the
        estimate may only fall: a place that is never reached again looks more and more expensive,
        and a budget that grows with it would never be spent."""
        estimate = self._tracker.least()
        if estimate is None:
            return
        # without a proof the steps of the plan found stand for the least
        found = "least" if estimate["status"] == "optimal" else "planned"
        least = float(max(estimate["least"], estimate[found]))
        tried = int(np.count_nonzero(self._tracker.counts))
        if self._least is None or tried > self._tried:
            self._least = least
        else:
            self._least = min(self._least, least)
        self._tried = tried

    def _account(self) -> str:
        tracker = self._tracker
        short = tracker.shortfall()
        unit = "pairs" if self._until.each_pair else "states"
        places = np.argwhere(short > 0)[:NAMED].tolist()
        never = int(((tracker.counts == 0) & tracker.possible())[tracker.actionable].sum())
        return (
            f"the promise was given up after {tracker.steps} steps, more than {BUDGET} times the {self._least:.0f} that the estimated "
            f"model calls the least: {int((short > 0).sum())} {unit} are short, for example {places}; {never} pairs of the states "
            "met were never tried. Either what leads there is rare, or states that look alike are not the same and the model is "
            "not the environment. Give steps=... to go on for longer, or observations that say what they hide"
        )

    def _cannot(self) -> str:
        named = ", ".join(repr(state) for state in self._tracker.unmet()[:NAMED])
        samples = self._until.each_pair or self._until.each_state
        return (
            f"the promise cannot hold: never met: {named}; every {'pair' if self._until.each_pair else 'state'} of the states met has "
            f"{samples} samples, and none led there"
        )

    def resume(self, plan: Plan, info: list[dict[str, Any]]) -> Plan:
        self._plan_info = [
            {key: value for key, value in one.items() if key != "count"} for one in info
        ]
        last = self._plan_info[-1]
        self._least, self._look = last["least"], last["look"]
        self._tried = last["tried"]
        # the explorer is told of the same episodes in the same order, and no others
        return self._plan(plan.number, last["told"])

    def progress(self) -> dict[str, Any]:
        return {**self._tracker.progress(), "least": self._least}

    def plan_info(self) -> list[dict[str, Any]]:
        return self._plan_info

    def promise(self) -> dict[str, Any] | None:
        report = self._tracker.report()
        if self._why is not None:
            report["reason"] = self._why
        return report
