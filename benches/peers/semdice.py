"""The most even policy from data, against SEMDICE on its authors' tabular instances.

    python benches/peers/semdice.py --seeds 3 --trajectories 1000

Lee, Sun and Abbeel (2025), "SEMDICE", ICLR, code at github.com/secury/semdice: 20 states, 4
actions, 4 successors of each pair (Dirichlet(1)), discount 0.95, trajectories of 100 steps gathered
by each method's own policy mixed with the uniform one (1/k after k trajectories). Both start from
the same draws. The score is the entropy of the discounted visits of the policy in the true model, 0
for the uniform policy and 1 for the best.

Ours: State Entropy with restarts of probability 0.05 in the model of the counts, solved anew after
a tenth more trajectories. Theirs, written anew from the paper: 100 gradient steps (0.01) on the
dual with alpha 0.1 after every trajectory.
"""

import argparse

import numpy as np

import ide3al

STATES, ACTIONS, SUCCESSORS, DISCOUNT, STEPS, ALPHA, RATE = 20, 4, 4, 0.95, 100, 0.1, 0.01
MARKS = (10, 30, 100, 300, 1000, 3000, 10000)


def instance(seed: int) -> np.ndarray:
    """The transitions that the authors' generator draws for a seed."""
    np.random.seed(seed * 10000)
    P = np.zeros((STATES, ACTIONS, STATES))
    for s in range(STATES):
        for a in range(ACTIONS):
            row = np.r_[np.random.dirichlet(np.ones(SUCCESSORS)), [0] * (STATES - SUCCESSORS)]
            np.random.shuffle(row)
            P[s, a] = row
    return P


def visits(P: np.ndarray, policy: np.ndarray) -> np.ndarray:
    """Discounted visits from state 0, (S, A)."""
    chain = np.einsum("sa,sat->st", policy, P)
    start = np.eye(STATES)[0]
    d = np.linalg.solve(np.eye(STATES) - DISCOUNT * chain.T, (1 - DISCOUNT) * start)
    return d[:, None] * policy


def entropy(P: np.ndarray, policy: np.ndarray) -> float:
    d = visits(P, policy).sum(axis=1)
    return float(-(d[d > 0] * np.log(d[d > 0])).sum())


def even(P: np.ndarray) -> np.ndarray:
    """The policy whose discounted visits of states are most even."""
    mdp = ide3al.MDP(P, start=0)
    return ide3al.solve(mdp, "state-entropy", xi=0.0, discount=DISCOUNT, compare="never").policy


class Ours:
    def __init__(self) -> None:
        self.policy, self.due = np.full((STATES, ACTIONS), 1 / ACTIONS), 1

    def update(self, k: int, model: np.ndarray) -> None:
        if k >= self.due:
            self.due = int(np.ceil(1.1 * k)) + 1
            self.policy = even(model)


class Semdice:
    def __init__(self) -> None:
        self.policy = np.full((STATES, ACTIONS), 1 / ACTIONS)
        self.nu, self.mu = np.zeros(STATES), np.zeros(STATES)

    def update(self, k: int, model: np.ndarray) -> None:
        rows = model.reshape(-1, STATES)
        data = visits(model, self.policy).ravel()
        start = np.eye(STATES)[0]
        for _ in range(100):
            own = np.repeat(self.mu - self.nu, ACTIONS) + DISCOUNT * rows @ self.nu
            weight = data * np.maximum(own / ALPHA + 1, 0)
            of_state = weight.reshape(STATES, ACTIONS).sum(axis=1)
            low = np.exp(-self.mu - (-self.mu).max())
            self.mu, self.nu = (
                self.mu - RATE * (of_state - low / low.sum()),
                self.nu - RATE * ((1 - DISCOUNT) * start + DISCOUNT * rows.T @ weight - of_state),
            )
        own = np.repeat(self.mu - self.nu, ACTIONS) + DISCOUNT * rows @ self.nu
        d = ((np.maximum(own / ALPHA + 1, 0) + 1e-10) * data).reshape(STATES, ACTIONS)
        self.policy = d / d.sum(axis=1, keepdims=True)


def run(method, seed: int, most: int) -> dict[int, float]:
    P = instance(seed)
    uniform = np.full((STATES, ACTIONS), 1 / ACTIONS)
    worst, best = entropy(P, uniform), entropy(P, even(P))
    counts, scores = np.full((STATES, ACTIONS, STATES), 1e-10), {}
    sums = P.cumsum(axis=2)
    for k in range(1, most + 1):
        share = 1 / k
        follow = (share * uniform + (1 - share) * method.policy).cumsum(axis=1)
        rng = np.random.default_rng([seed, k])
        state = 0
        for x, y in rng.random((STEPS, 2)):
            action = min(int(np.searchsorted(follow[state], x)), ACTIONS - 1)
            reached = min(int(np.searchsorted(sums[state, action], y)), STATES - 1)
            counts[state, action, reached] += 1
            state = reached
        method.update(k, counts / counts.sum(axis=2, keepdims=True))
        if k in MARKS:
            scores[k] = (entropy(P, method.policy) - worst) / (best - worst)
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--trajectories", type=int, default=1000)
    given = parser.parse_args()
    print("Score between the uniform policy (0) and the best (1), mean over instances\n")
    marks = [mark for mark in MARKS if mark <= given.trajectories]
    print(f"{'trajectories':16}" + "".join(f"{mark:>9}" for mark in marks))
    for name, method in (("ide3al", Ours), ("SEMDICE", Semdice)):
        found = [run(method(), seed, given.trajectories) for seed in range(given.seeds)]
        means = [np.mean([scores[mark] for scores in found]) for mark in marks]
        print(f"{name:16}" + "".join(f"{mean:9.3f}" for mean in means), flush=True)


if __name__ == "__main__":
    main()
