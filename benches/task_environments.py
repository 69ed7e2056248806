"""The environments of `tasks.py`, enumerated, and the exact value of a policy in each."""

from collections.abc import Callable

import gymnasium
import numpy as np
import scipy.sparse
import scipy.sparse.linalg

import ide3al

DISCOUNT = 0.99
#: Share of the optimum that a policy must earn.
SHARE = 0.95


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
