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
                       one-hot vectors, where --deep is given and it is installed; one run each
"""

import argparse
import json
import math
import os
from collections.abc import Callable, Iterator
from functools import cached_property, partial

import gymnasium
import numpy as np
import scipy.sparse
import scipy.sparse.linalg

import ide3al

DISCOUNT = 0.99
SHARE = 0.95
MOST = 100_000
#: Steps after which policies are judged, in order.
MARKS = dict.fromkeys(round(10 ** (k / 24)) for k in range(48, 121))


class Task(gymnasium.Env):
    """An enumerated environment: states by number, the rewards of the original."""

    def __init__(self, mdp: ide3al.MDP, limit: int):
        self.mdp, self.limit = mdp, limit
        self.n, self.a = mdp.n_states, mdp.n_actions
        self.rows = mdp.sparse()
        self.reward = mdp.rewards
        self.ended = np.zeros(self.n, dtype=bool)
        self.ended[mdp.terminal] = True
        self.observation_space = gymnasium.spaces.Discrete(self.n)
        self.action_space = gymnasium.spaces.Discrete(self.a)
        self.sums = np.cumsum(mdp.start)
        best = ide3al.plan(mdp, discount=DISCOUNT)
        self.optimum = best.objective

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = int(np.searchsorted(self.sums, self.np_random.random() * self.sums[-1]))
        self.steps = 0
        return self.state, {}

    def step(self, action):
        pair = self.state * self.a + int(action)
        first, after = self.rows.indptr[pair], self.rows.indptr[pair + 1]
        p = self.rows.data[first:after]
        k = int(np.searchsorted(np.cumsum(p), self.np_random.random() * p.sum()))
        self.state = int(self.rows.indices[first + min(k, len(p) - 1)])
        self.steps += 1
        over = bool(self.ended[self.state])
        cut = not over and self.steps >= self.limit
        return self.state, float(self.reward[pair]), over, cut, {}

    def value(self, actions: np.ndarray) -> float:
        """Discounted value of a deterministic policy from the start."""
        pairs = np.arange(self.n) * self.a + actions
        keep = scipy.sparse.diags_array((~self.ended).astype(float))
        chain = keep @ self.rows[pairs]
        earned = np.where(self.ended, 0.0, self.reward[pairs])
        eye = scipy.sparse.eye_array(self.n)
        values = scipy.sparse.linalg.spsolve((eye - DISCOUNT * chain).tocsc(), earned)
        return float(self.mdp.start @ values)

    def solved(self, actions: np.ndarray) -> bool:
        slack = (1 - SHARE) * abs(self.optimum)
        return self.value(actions) >= self.optimum - slack - 1e-9


def deep_sea(size: int = 20) -> ide3al.MDP:
    """A triangle: right in every row, at a small cost, is the only way to the treasure."""
    n = size * size + 1
    entries, reward = [], np.zeros((n, 2))
    for row in range(size):
        for column in range(size):
            s = row * size + column
            for action, to in ((0, max(column - 1, 0)), (1, min(column + 1, size - 1))):
                last = row == size - 1
                entries.append((s, action, n - 1 if last else (row + 1) * size + to))
                reward[s, action] = -0.01 / size if action else 0.0
    reward[size * size - 1, 1] = 1.0
    entries += [(n - 1, a, n - 1) for a in range(2)]
    s, a, t = np.array(entries).T
    P = scipy.sparse.csr_array((np.ones(len(s)), (s * 2 + a, t)), shape=(2 * n, n))
    assert (np.diff(P.indptr) == 1).all()
    return ide3al.MDP(P, start=0).with_rewards(reward, terminal=[n - 1])


def minigrid(name: str) -> Callable[[], ide3al.MDP]:
    def make() -> ide3al.MDP:
        import minigrid  # noqa: F401  (registers its environments)

        env = gymnasium.make(name)
        mdp = ide3al.MDP.from_simulator(env, on_terminal="absorb")
        # the original pays less the later the goal is reached; the discount does that here
        return mdp.with_rewards((np.asarray(mdp.rewards) > 0).astype(float))

    return make


def table(name: str) -> Callable[[], ide3al.MDP]:
    return lambda: ide3al.MDP.from_gymnasium(gymnasium.make(name), on_terminal="absorb")


#: Name: how its model is made, and the limit of its episodes.
TASKS: dict[str, tuple[Callable[[], ide3al.MDP], int]] = {
    "frozen-lake": (table("FrozenLake8x8-v1"), 200),
    "cliff-walking": (table("CliffWalking-v1"), 200),
    "taxi": (table("Taxi-v4"), 200),
    "deep-sea": (deep_sea, 20),
    "door-key": (minigrid("MiniGrid-DoorKey-6x6-v0"), 360),
    "unlock": (minigrid("MiniGrid-Unlock-v0"), 288),
    "four-rooms": (minigrid("MiniGrid-FourRooms-v0"), 100),
    "multi-room": (minigrid("MiniGrid-MultiRoom-N2-S4-v0"), 100),
    "key-corridor": (minigrid("MiniGrid-KeyCorridorS3R2-v0"), 270),
}


def settled(task: Task, found: list[tuple[int, np.ndarray]]) -> bool:
    """Whether the policy was good at the last two marks."""
    return len(found) > 1 and all(task.solved(actions) for _, actions in found[-2:])


def explore_then_plan(task: Task, seed: int) -> Iterator[tuple[int, np.ndarray]]:
    found: list[tuple[int, np.ndarray]] = []

    def at_mark(agent: ide3al.IDE3AL) -> bool:
        if agent.num_timesteps in MARKS:
            plan = agent.plan(discount=DISCOUNT)
            actions = np.array([plan.action(s) for s in range(task.n)])
            found.append((agent.num_timesteps, actions))
        return not settled(task, found)

    # one call: every call of fit begins with a new episode
    ide3al.IDE3AL(seed=seed, batch_size=1).fit(task, MOST, callback=at_mark)
    yield from found


def r_max(task: Task, seed: int) -> Iterator[tuple[int, np.ndarray]]:
    """Optimistic where a pair has fewer than m samples; plans anew when a pair becomes known."""
    certain = (np.diff(task.rows.indptr) == 1).all()
    m, top = (1 if certain else 5), float(max(task.reward.max(), 0.0)) / (1 - DISCOUNT)
    n, a, rng = task.n, task.a, np.random.default_rng(seed)
    following: dict[int, dict[int, int]] = {}
    earned, counts = np.zeros(n * a), np.zeros(n * a)
    values = np.full(n, top)
    met, ended = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)

    def plan(bold: bool) -> np.ndarray:
        nonlocal values
        rows, columns, shares = [], [], []
        for pair, after in following.items():
            if counts[pair] >= m:
                for t, c in after.items():
                    rows.append(pair), columns.append(t), shares.append(c / counts[pair])
        P = scipy.sparse.csr_array((shares, (rows, columns)), shape=(n * a, n))
        known = counts >= m
        mean = np.where(known, earned / np.maximum(counts, 1), 0.0)
        other = top if bold else min(0.0, mean.min()) / (1 - DISCOUNT)
        v = values if bold else np.zeros(n)
        for _ in range(2000):
            q = np.where(known, mean + DISCOUNT * (P @ v), other).reshape(n, a)
            new = np.where(ended, 0.0, q.max(axis=1))
            change, v = np.abs(new - v).max(), new
            if change < 1e-6 * max(top, 1.0):
                break
        if bold:
            values = v
        return q

    state, _ = task.reset(seed=seed)
    quality, taken = plan(True), 0
    for mark in MARKS:
        while taken < mark:
            row = quality[state]
            action = int(rng.choice(np.flatnonzero(row >= row.max() - 1e-9)))
            reached, reward, over, cut, _ = task.step(action)
            pair = state * a + action
            counts[pair] += 1
            earned[pair] += reward
            after = following.setdefault(pair, {})
            after[reached] = after.get(reached, 0) + 1
            fresh = counts[pair] == m or not met[reached] or (over and not ended[reached])
            met[reached], ended[reached] = True, ended[reached] or over
            state, taken = reached, taken + 1
            if over or cut:
                state, _ = task.reset()
            if fresh:
                quality = plan(True)
        yield mark, plan(False).argmax(axis=1)


def q_learning(optimistic: bool):
    def run(task: Task, seed: int) -> Iterator[tuple[int, np.ndarray]]:
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
            yield mark, q.argmax(axis=1)

    return run


def deep(name: str):
    """Stable-Baselines3 with its defaults on one-hot observations."""

    def run(task: Task, seed: int) -> Iterator[tuple[int, np.ndarray]]:
        import stable_baselines3 as sb3
        import torch
        from stable_baselines3.common.callbacks import BaseCallback

        torch.set_num_threads(1)
        found: list[tuple[int, np.ndarray]] = []

        class Marks(BaseCallback):
            """Keeps the greedy policy at every mark; stops when it is good at two in a row."""

            def _on_step(self) -> bool:
                if self.num_timesteps in MARKS:
                    actions, _ = self.model.predict(np.arange(task.n), deterministic=True)
                    found.append((self.num_timesteps, actions))
                return not settled(task, found)

        # one call, as its schedules go by the number of steps to come
        learner = getattr(sb3, name)("MlpPolicy", task, seed=seed, gamma=DISCOUNT, device="cpu")
        learner.learn(MOST, callback=Marks())
        yield from found

    return run


LEARNERS = {
    "explore, then plan": explore_then_plan,
    "R-MAX": r_max,
    "Q-learning": q_learning(False),
    "Q-learning, optimistic": q_learning(True),
}


def steps_to_solve(learner, task: Task, seed: int) -> float:
    """The first mark from which on the policy is good at two marks in a row; infinite if none."""
    good = None
    for mark, actions in learner(task, seed):
        if not task.solved(actions):
            good = None
        elif good is not None:
            return good
        else:
            good = mark
    return math.inf if good is None else good


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

    def of(self, name: str, find: Callable[[], float]) -> float:
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
            label = name if row == 0 else None
            ax.plot(middle, y, "o", color=colour, markerfacecolor=face, label=label)
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
    start = task.mdp.start
    rng = np.random.default_rng(1000 + seed)
    dense = task.rows
    known, frontier = start > 0, True
    links = dense.tocoo()
    s, t = links.row // task.a, links.col
    while frontier:
        more = known.copy()
        more[t[known[s] & ~task.ended[s]]] = True
        frontier, known = bool((more != known).any()), more
    goals = rng.choice(np.flatnonzero(known & ~task.ended & (start == 0)), 10, replace=False)
    shares = []
    for goal in goals.tolist():
        truth = task.mdp.with_rewards(np.zeros(task.mdp.n_pairs), [*task.mdp.terminal, goal])
        arrive = np.asarray(dense[:, [goal]].todense()).ravel()
        truth = truth.with_rewards(arrive)
        judge = Task(truth, task.limit)
        try:
            plan = agent.plan(goal=goal, discount=DISCOUNT)
        except ide3al.Error:
            shares.append(0.0)
            continue
        value = judge.value(np.array([plan.action(s) for s in range(task.n)]))
        shares.append(value / judge.optimum)
    return shares


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--learners", help="only these, by name; all unless given")
    parser.add_argument("--deep", action="store_true", help="DQN and PPO, too; one run each")
    parser.add_argument("--goals", default="taxi", help="task of the ten goals, or nothing")
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
    print(f"Median of {given.runs} runs: steps until the greedy policy earns 95 % of the optimum\n")
    heads = ["optimistic" if name == "Q-learning, optimistic" else name for name in learners]
    print(f"{'task':14}{'states':>8}" + "".join(f"{head:>20}" for head in heads), flush=True)
    for name in given.tasks.split(","):
        task = LazyTask(*TASKS[name])
        found[name] = {}
        for learner, run in learners.items():
            runs = 1 if learner in ("DQN", "PPO") else given.runs
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
        make, limit = TASKS[given.goals]
        task = Task(make(), limit)
        shares = ten_goals(task, 0, 20_000)
        print(
            f"\nTen goals named after 20,000 steps in {given.goals}: share of the best each earns"
        )
        print("  ".join(f"{share:.3f}" for share in shares))


if __name__ == "__main__":
    main()
