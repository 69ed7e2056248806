"""Do the error bars of plans hold? Random environments, explored without a reward.

    python benches/intervals.py                      # all three, some ten minutes on one core
    python benches/intervals.py --models 100 --runs 20

1. Intervals. Environments of 3 to 8 states and 2 or 3 actions with random rows are explored by
   IDE3AL for 100 to 3,200 steps. Then a reward is drawn, agent.plan() plans for it, and the value
   of its policy in the true environment is computed. In half of them the reward is a table that is
   given, in the other half the environment pays 0 or 1 at random and the agent has seen some of
   it.
2. Width: the same environments explored for four and sixteen times as long.
3. Accuracy: data are collected until every reward can be planned for within a share of the largest
   value, with probability 0.9; a run fails if one of all rewards of zeros and ones loses more.
   Beside it the steps after which RF-UCRL (Kaufmann et al. 2021) stops with the same promise in the
   same environments, in episodes of ten steps; what the discount leaves of later ones, 0.1 % of the
   largest value, is not held against it.
"""

import argparse
import itertools
import math

import gymnasium
import numpy as np

import ide3al
import ide3al.envs

DISCOUNT = 0.9
CONFIDENCE = 0.9


class Paying(ide3al.envs.ModelEnv):
    """A model that pays 1 with a probability of each state and action, else 0."""

    def __init__(self, mdp: ide3al.MDP, chances: np.ndarray):
        super().__init__(mdp)
        self.chances = chances

    def reset(self, **options):
        self.here, info = super().reset(**options)
        return self.here, info

    def step(self, action):
        reward = float(self.np_random.random() < self.chances[self.here, action])
        self.here, _, over, cut, info = super().step(action)
        return self.here, reward, over, cut, info


def random_model(rng: np.random.Generator, n: int, actions: int) -> np.ndarray:
    """Two to four successors of each pair, the next state among them."""
    P = np.zeros((n, actions, n))
    for s, a in itertools.product(range(n), range(actions)):
        after = rng.choice(n, min(n, rng.integers(1, 4)), replace=False)
        P[s, a, after] += rng.uniform(0.1, 1.0, after.size)
        P[s, a, (s + 1) % n] += rng.uniform(0.1, 0.5)
    return P / P.sum(axis=2, keepdims=True)


def value(P: np.ndarray, reward: np.ndarray, actions: np.ndarray, discount: float) -> float:
    """What a deterministic policy is worth from state 0."""
    s = np.arange(len(P))
    chain = np.eye(len(P)) - discount * P[s, actions]
    return float(np.linalg.solve(chain, reward[s, actions])[0])


def planned(P: np.ndarray, reward: np.ndarray, given: bool, steps: int, seed: int):
    """The plan after so many steps of exploring."""
    env = Paying(ide3al.MDP(P, start=0), reward)
    agent = ide3al.IDE3AL(seed=seed).fit(gymnasium.wrappers.TimeLimit(env, 25), steps)
    how = {"reward": reward} if given else {"reward_range": (0, 1)}
    return agent.plan(discount=DISCOUNT, confidence=CONFIDENCE, **how)


def one_model(seed: int):
    rng = np.random.default_rng(seed)
    P = random_model(rng, int(rng.integers(3, 9)), int(rng.integers(2, 4)))
    return P, rng.random(P.shape[:2])


def at_least(successes: int, runs: int) -> float:
    """Lower end of the 95 % interval of a share (Wilson)."""
    z, p = 1.96, successes / runs
    middle = p + z * z / (2 * runs)
    half = z * math.sqrt(p * (1 - p) / runs + z * z / (4 * runs * runs))
    return (middle - half) / (1 + z * z / runs)


def intervals(models: int) -> None:
    print(f"Intervals that hold with probability {CONFIDENCE}, discount {DISCOUNT}\n")
    heads = f"{'models':>8}{'inside':>8}{'share at least':>16}{'optimum below bound':>21}"
    print(f"{'reward':12}{heads}")
    for given, name in ((True, "given"), (False, "sampled")):
        inside = below = 0
        for seed in range(models // 2):
            P, reward = one_model(seed if given else models + seed)
            plan = planned(P, reward, given, 100 << (seed % 6), seed)
            chosen = np.array([plan.action(s) for s in range(len(P))])
            truth = value(P, reward, chosen, DISCOUNT)
            best = ide3al.plan(ide3al.MDP(P, start=0), reward, discount=DISCOUNT).objective
            low, high = plan.interval
            inside += low - 1e-9 <= truth <= high + 1e-9
            below += best <= plan.optimum_bound + 1e-9
        runs = models // 2
        share = at_least(inside, runs)
        print(f"{name:12}{runs:>8}{inside:>8}{share:>16.3f}{below:>21}", flush=True)


def widths(models: int) -> None:
    print("\nWidth of the interval, geometric mean (the largest value is 10)\n")
    print(f"{'reward':12}" + "".join(f"{steps:>14,} steps" for steps in WIDTHS))
    for given, name in ((True, "given"), (False, "sampled")):
        table = []
        for seed in range(models):
            P, reward = one_model(seed)
            plans = [planned(P, reward, given, steps, seed) for steps in WIDTHS]
            table.append([plan.interval[1] - plan.interval[0] for plan in plans])
        means = np.exp(np.log(table).mean(axis=0))
        print(f"{name:12}" + "".join(f"{width:>20.3f}" for width in means))
        ratios = " and ".join(f"{a / b:.2f}" for a, b in itertools.pairwise(means))
        print(f"{'':12}four times the data: narrower by {ratios}", flush=True)


WIDTHS = (20_000, 80_000, 320_000)


def rf_ucrl(P: np.ndarray, rng: np.random.Generator, discount: float, lost: float) -> int:
    """Steps until RF-UCRL stops: until its bound on the error at the start is half of `lost`."""
    n, a, _ = P.shape
    horizon, start = 10, 0
    left = np.cumsum(discount ** np.arange(horizon))[::-1] - 1  # discount sigma_{H-h}
    sums, counts, here = np.cumsum(P, axis=2), np.zeros_like(P), start
    for episode in itertools.count():
        tries = counts.sum(axis=2)
        share = counts / np.maximum(tries, 1)[..., None]
        radius = np.log(2 * n * a * horizon / (1 - CONFIDENCE))
        radius = radius + (n - 1) * (1 + np.log1p(tries / (n - 1)))
        wide = np.sqrt(2 * radius / np.maximum(tries, 1e-9))
        errors, plan = np.zeros((n, a)), []
        for most in left[::-1]:
            after = discount * share @ errors.max(axis=1)
            errors = np.minimum(most, most * wide + after)
            plan.insert(0, (errors + 1e-9 * rng.random(errors.shape)).argmax(axis=1))
        if errors[start].max() <= lost / 2:
            return episode * horizon
        here = start
        for actions in plan:
            action = actions[here]
            reached = int(
                np.searchsorted(sums[here, action], rng.random() * sums[here, action, -1])
            )
            counts[here, action, reached] += 1
            here = reached
    raise AssertionError("the loop ends by returning")


def accuracy(runs: int) -> None:
    promise = ide3al.Accuracy(0.3, confidence=0.9, discount=0.5)
    failures, steps, losses, others = 0, [], [], []
    for seed in range(runs):
        rng = np.random.default_rng(10_000 + seed)
        P = random_model(rng, 3, 2)
        truth = ide3al.MDP(P, start=0)
        env = gymnasium.wrappers.TimeLimit(ide3al.envs.ModelEnv(truth), 25)
        data = ide3al.collect(env, ide3al.Random(seed=seed), 1_000_000, until=promise, seed=seed)
        assert data.about["promise"]["holds"]
        model, lost = data.model(), 0.0
        for zeros_and_ones in itertools.product((0.0, 1.0), repeat=6):
            reward = np.reshape(zeros_and_ones, (3, 2))
            plan = ide3al.plan(model, reward, discount=promise.discount)
            chosen = np.array([plan.action(s) for s in range(3)])
            best = ide3al.plan(truth, reward, discount=promise.discount).objective
            worth = value(P, reward, chosen, promise.discount)
            lost = max(lost, (best - worth) * (1 - promise.discount))
        failures += lost > promise.epsilon
        steps.append(len(data))
        losses.append(lost)
        allowed = promise.epsilon / (1 - promise.discount)
        others.append(rf_ucrl(P, rng, promise.discount, allowed))
    print(f"\nAccuracy({promise.epsilon}, confidence=0.9, discount=0.5), {runs} runs")
    print(f"failed: {failures}, at most {0.1 * runs:g} are allowed")
    print(f"largest loss of a run, mean {np.mean(losses):.4f}, most {np.max(losses):.4f}")
    print(f"steps: {np.mean(steps):,.0f} on average; RF-UCRL with the same promise stops after")
    ratio = np.exp(np.mean(np.log(np.divide(others, steps))))
    print(f"{np.mean(others):,.0f}, {ratio:.2f} times as many (geometric mean)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--widths", type=int, default=10, help="models of the second table")
    parser.add_argument("--runs", type=int, default=200, help="runs of the third")
    given = parser.parse_args()
    if given.models:
        intervals(given.models)
    if given.widths:
        widths(given.widths)
    if given.runs:
        accuracy(given.runs)


if __name__ == "__main__":
    main()
