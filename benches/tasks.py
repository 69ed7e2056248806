"""Tasks with a sparse reward: steps until the greedy policy earns 95 % of the best.

    make tasks                                    # in the package's own environment
    python benches/tasks.py --runs 3 --tasks frozen-lake,deep-sea

Every task is an environment that users know, enumerated exactly (Gymnasium's tables; MiniGrid by
stepping copies of it), so that each policy's discounted value is computed, not sampled, and every
learner sees the same states. Learners take steps until a mark and hand over a greedy policy; the
mark counts when that policy's value is at least the optimum less 5 % of its size.

  explore, then plan   IDE3AL explores without the reward; agent.plan() afterwards
  R-MAX                plans with the reward from the first step, known after m = 1 samples where
                       outcomes are certain, else 5
  Q-learning           epsilon-greedy (0.1) from zero, and from optimistic values
  DQN, PPO             Stable-Baselines3 with its defaults, which makes numbers of states into
                       one-hot vectors, where --deep is given and it is installed

Some twenty-five minutes on one core without --deep, ten of them to enumerate MiniGrid.
"""

import argparse
import json
import math
import os
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
from task_environments import DISCOUNT, TASKS, Task

import ide3al

MOST = 100_000
#: Steps before the ten goals are named.
EXPLORED = 20_000
#: Steps after which policies are judged, in order.
MARKS = dict.fromkeys(round(10 ** (k / 24)) for k in range(48, 121))


class Judge:
    """Finds the first mark from which on the policy is good at two marks in a row."""

    def __init__(self, task: Task):
        self.task = task
        self.good: int | None = None

    def __call__(self, steps: int, actions: np.ndarray) -> bool:
        """Whether the policy after so many steps was good, and that of the mark before, too."""
        if not self.task.solved(actions):
            self.good = None
            return False
        if self.good is not None:
            return True
        self.good = steps
        return False

    @property
    def steps(self) -> float:
        return math.inf if self.good is None else self.good


Learner = Callable[[Task, int, Judge], None]


def explore_then_plan(task: Task, seed: int, judge: Judge) -> None:
    def at_mark(agent: ide3al.IDE3AL) -> bool:
        if agent.num_timesteps not in MARKS:
            return True
        plan = agent.plan(discount=DISCOUNT)
        return not judge(agent.num_timesteps, plan.policy.argmax(axis=1))

    # one call: every call of fit begins with a new episode
    ide3al.IDE3AL(seed=seed, batch_size=1).fit(task, MOST, callback=at_mark)


class Optimist:
    """The estimated model of R-MAX and its values; pairs with fewer than m samples are worth most.

    A visited state has a place in the order of first visits, so that sweeps go over these alone.
    """

    def __init__(self, task: Task, m: int):
        a, width = task.a, int(np.diff(task.rows.indptr).max())
        self.m, self.a, self.met = m, a, 0
        self.top = float(max(task.reward.max(), 0.0)) / (1 - DISCOUNT)
        self.place = np.full(task.n, -1)
        self.ended = np.zeros(task.n, dtype=bool)
        self.counts, self.earned = np.zeros(task.n * a), np.zeros(task.n * a)
        #: Places and counts of the successors of each pair.
        self.after = np.zeros((task.n * a, width), dtype=np.int64)
        self.times = np.zeros((task.n * a, width))
        self.quality = np.full((task.n, a), self.top)
        self.values = np.full(task.n, self.top)

    def at(self, state: int) -> int:
        if self.place[state] < 0:
            self.place[state] = self.met
            self.met += 1
        return int(self.place[state])

    def swept(self, values: np.ndarray, other: float) -> tuple[np.ndarray, np.ndarray]:
        """Qualities and values of the visited states, from values of theirs."""
        pairs = slice(self.met * self.a)
        counts = np.maximum(self.counts[pairs], 1)
        ahead = (self.times[pairs] * values[self.after[pairs]]).sum(axis=1)
        worth = (self.earned[pairs] + DISCOUNT * ahead) / counts
        worth = np.where(self.counts[pairs] >= self.m, worth, other).reshape(-1, self.a)
        return worth, np.where(self.ended[: self.met], 0.0, worth.max(axis=1))

    def converged(self, values: np.ndarray, other: float) -> tuple[np.ndarray, np.ndarray]:
        for _ in range(2000):
            worth, new = self.swept(values[: self.met], other)
            change, values = np.abs(new - values[: self.met]).max(), new
            if change < 1e-6 * max(self.top, 1.0):
                break
        return worth, values

    def record(self, state: int, action: int, reward: float, reached: int, over: bool) -> None:
        """Plans anew when a pair becomes known, and when a state turns out to end episodes."""
        pair, t = self.at(state) * self.a + action, self.at(reached)
        k = 0
        while self.times[pair, k] > 0 and self.after[pair, k] != t:
            k += 1
        self.after[pair, k] = t
        self.times[pair, k] += 1
        self.counts[pair] += 1
        self.earned[pair] += reward
        ends = over and not self.ended[t]
        self.ended[t] |= over
        if self.counts[pair] != self.m and not ends:
            return
        if self.m == 1 and not ends:
            # no other estimate has changed: where the state is worth as much as before, all is
            row = self.quality[pair // self.a]
            row[action] = reward + DISCOUNT * self.values[t]
            if row.max() == self.values[pair // self.a]:
                return
        worth, values = self.converged(self.values, self.top)
        self.quality[: self.met], self.values[: self.met] = worth, values

    def greedy(self, n: int) -> np.ndarray:
        """Actions of the best plan for which untried pairs earn the least that was seen."""
        known = self.counts >= self.m
        least = float((self.earned[known] / self.counts[known]).min(initial=0.0))
        worth, _ = self.converged(np.zeros(self.met), least / (1 - DISCOUNT))
        actions = np.zeros(n, dtype=np.int64)
        seen = self.place >= 0
        actions[seen] = worth.argmax(axis=1)[self.place[seen]]
        return actions


def r_max(task: Task, seed: int, judge: Judge) -> None:
    """Optimistic where a pair has fewer than m samples; plans anew when a pair becomes known."""
    certain = (np.diff(task.rows.indptr) == 1).all()
    optimist, rng = Optimist(task, 1 if certain else 5), np.random.default_rng(seed)
    state, _ = task.reset(seed=seed)
    optimist.at(state)
    taken = 0
    for mark in MARKS:
        while taken < mark:
            row = optimist.quality[optimist.at(state)]
            action = int(rng.choice(np.flatnonzero(row >= row.max() - 1e-9)))
            reached, reward, over, cut, _ = task.step(action)
            optimist.record(state, action, reward, reached, over)
            state, taken = reached, taken + 1
            if over or cut:
                state, _ = task.reset()
        if judge(mark, optimist.greedy(task.n)):
            return


def q_learning(optimistic: bool):
    def run(task: Task, seed: int, judge: Judge) -> None:
        rng = np.random.default_rng(seed)
        top = float(max(task.reward.max(), 0.0))
        q = np.full((task.n, task.a), top if optimistic else 0.0)
        q[task.ended] = 0.0
        state, _ = task.reset(seed=seed)
        taken = 0
        for mark in MARKS:
            while taken < mark:
                greedy = np.flatnonzero(q[state] >= q[state].max() - 1e-12)
                explores = not optimistic and rng.random() < 0.1
                action = int(rng.integers(task.a)) if explores else int(rng.choice(greedy))
                reached, reward, over, cut, _ = task.step(action)
                target = reward + (0.0 if over else DISCOUNT * q[reached].max())
                q[state, action] += 0.5 * (target - q[state, action])
                state, taken = reached, taken + 1
                if over or cut:
                    state, _ = task.reset()
            if judge(mark, q.argmax(axis=1)):
                return

    return run


def deep(name: str) -> Learner:
    """Stable-Baselines3 with its defaults on one-hot observations."""

    def run(task: Task, seed: int, judge: Judge) -> None:
        import stable_baselines3 as sb3
        import torch
        from stable_baselines3.common.callbacks import BaseCallback

        torch.set_num_threads(1)

        class Marks(BaseCallback):
            """Stops when the greedy policy is good at two marks in a row."""

            def _on_step(self) -> bool:
                if self.num_timesteps not in MARKS:
                    return True
                actions, _ = self.model.predict(np.arange(task.n), deterministic=True)
                return not judge(self.num_timesteps, actions)

        # one call, as its schedules go by the number of steps to come
        learner = getattr(sb3, name)("MlpPolicy", task, seed=seed, gamma=DISCOUNT, device="cpu")
        learner.learn(MOST, callback=Marks())

    return run


LEARNERS: dict[str, Learner] = {
    "explore, then plan": explore_then_plan,
    "R-MAX": r_max,
    "Q-learning": q_learning(False),
    "Q-learning, optimistic": q_learning(True),
}

#: Most runs of those that take long. Of the others the medians of 25 runs are off by half at times.
SLOW = {"Q-learning": 5, "Q-learning, optimistic": 5, "DQN": 2, "PPO": 2}


def steps_to_solve(learner: Learner, task: Task, seed: int) -> float:
    judge = Judge(task)
    learner(task, seed, judge)
    return judge.steps


class LazyTask:
    """A task that is enumerated when it is first needed."""

    def __init__(self, make: Callable[[], ide3al.MDP], limit: int):
        self.make, self.limit = make, limit

    @cached_property
    def made(self) -> Task:
        return Task(self.make(), self.limit)


class Kept:
    """Results by name, in a file if there is one, so that a run can be cut and go on."""

    def __init__(self, path: str | None):
        self.path = path
        there = path is not None and os.path.exists(path)
        self.results = json.loads(open(path).read()) if there else {}

    def of(self, name: str, find: Callable[[], Any]) -> Any:
        if name not in self.results:
            self.results[name] = find()
            if self.path:
                with open(self.path, "w") as file:
                    json.dump(self.results, file, indent=1)
        return self.results[name]


def shown(values: list[float]) -> str:
    """The median, the larger of two in the middle."""
    middle = sorted(values)[len(values) // 2]
    return f"> {MOST:,}" if math.isinf(middle) else f"{middle:,.0f}"


def draw(found: dict[str, dict[str, list[float]]], path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#505050", "#e69f00"]
    figure, ax = plt.subplots(figsize=(8, 0.5 * len(found) + 1.6), layout="constrained")
    learners = list(next(iter(found.values())))
    for k, (name, colour) in enumerate(zip(learners, colours)):
        for row, task in enumerate(found):
            values = sorted(found[task][name])
            y = row + 0.14 * (k - (len(learners) - 1) / 2)
            drawn = [min(v, 1.6 * MOST) for v in values]
            ax.plot([drawn[0], drawn[-1]], [y, y], color=colour, linewidth=1.5)
            middle = drawn[len(drawn) // 2]
            open_marker = math.isinf(values[len(values) // 2])
            face = "white" if open_marker else colour
            ax.plot(middle, y, "o", color=colour, markerfacecolor=face)
        ax.plot([], [], "o-", color=colour, label=name)
    ax.axvline(MOST, color="#999999", linestyle=":")
    ax.set(xscale="log", xlabel="steps until the greedy policy earns 95 % of the optimum")
    ax.set_yticks(range(len(found)), list(found))
    ax.invert_yaxis()
    ax.grid(axis="x", alpha=0.25)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3, fontsize="small")
    ax.set_title("Median and range over runs; open: not within 100,000 steps", fontsize="medium")
    figure.savefig(path, dpi=110)


def ten_goals(task: Task, seed: int, steps: int) -> list[float]:
    """One exploration, ten goals drawn afterwards: share of the best that each plan earns."""
    agent = ide3al.IDE3AL(seed=seed).fit(task, steps)
    # every state that can be reached, but where episodes begin and end
    known, size = task.mdp.start > 0, 0
    links = task.rows.tocoo()
    leave = ~task.ended[links.row // task.a]
    while known.sum() > size:
        size = known.sum()
        known[links.col[leave & known[links.row // task.a]]] = True
    open_states = np.flatnonzero(known & ~task.ended & (task.mdp.start == 0))
    goals = np.random.default_rng(1000 + seed).choice(open_states, 10, replace=False)
    shares = []
    for goal in goals.tolist():
        arrive = task.rows[:, [goal]].toarray().ravel()
        judge = Task(task.mdp.with_rewards(arrive, [*task.mdp.terminal, goal]), task.limit)
        try:
            plan = agent.plan(goal=goal, discount=DISCOUNT)
        except ide3al.Error:
            # the goal was never met
            shares.append(0.0)
            continue
        shares.append(judge.value(plan.policy.argmax(axis=1)) / judge.optimum)
    return shares


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--runs", type=int, default=100, help="at most 5 of Q-learning, 2 of --deep"
    )
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--learners", help="only these, by name; all unless given")
    parser.add_argument("--deep", action="store_true", help="DQN and PPO, too")
    parser.add_argument("--goals", default="taxi,four-rooms", help="tasks of the ten goals")
    parser.add_argument("--keep", metavar="FILE", help="results as JSON; what is there is not run")
    parser.add_argument("--out", default="tasks.png")
    given = parser.parse_args()
    learners = dict(LEARNERS)
    if given.deep:
        learners |= {"DQN": deep("DQN"), "PPO": deep("PPO")}
    if given.learners:
        learners = {name: learners[name] for name in given.learners.split("; ")}
    kept = Kept(given.keep)
    found: dict[str, dict[str, list[float]]] = {}
    print("Steps until the greedy policy earns 95 % of the optimum: median of")
    print(f"{given.runs} runs, of Q-learning at most 5, of DQN and PPO 1\n")
    heads = ["optimistic" if name == "Q-learning, optimistic" else name for name in learners]
    print(f"{'task':14}{'states':>8}" + "".join(f"{head:>20}" for head in heads), flush=True)
    for name in given.tasks.split(","):
        task = LazyTask(*TASKS[name])
        found[name] = {}
        for learner, run in learners.items():
            runs = min(given.runs, SLOW.get(learner, given.runs))
            solve = partial(steps_to_solve, run)
            found[name][learner] = [
                kept.of(f"{name}: {learner}: {seed}", lambda k=seed: solve(task.made, k))
                for seed in range(runs)
            ]
        states = int(kept.of(f"{name}: states", lambda: task.made.n))
        line = "".join(f"{shown(found[name][learner]):>20}" for learner in learners)
        print(f"{name:14}{states:>8}{line}", flush=True)
    draw(found, given.out)
    print(f"\npicture: {given.out}")
    if given.goals:
        print(f"\nTen goals named after {EXPLORED:,} steps: share of the best value each earns")
    for name in filter(None, given.goals.split(",")):
        task = LazyTask(*TASKS[name])
        shares = kept.of(f"{name}: goals", lambda t=task: ten_goals(t.made, 0, EXPLORED))
        print(f"{name:14}" + "  ".join(f"{share:.3f}" for share in shares), flush=True)


if __name__ == "__main__":
    main()
