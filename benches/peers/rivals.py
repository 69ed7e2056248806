"""The rivals rf-ucrl and ent-game against their authors' programs on the authors' environments.

    python benches/peers/rivals.py [--ucrl FOLDER] [--entropy FOLDER] [--runs N] [CASE ...]

FOLDER are checkouts of github.com/omardrwch/reward-free-ucrl (Kaufmann et al. 2021) and of
github.com/d-tiapkin/max-entropy-exploration (Tiapkin et al. 2023, whose environments are those of
the first); they are cloned to target/checkouts unless given. Environment, horizon, discount and the
number of samples of each CASE are read from the authors' configuration. The authors' agent runs as
it is. Ours is the agent of the package in the same model, with a time limit of the horizon.

Table: means over the runs with 95 % intervals, and for the visits of each state the total variation
between the means of the two programs, beside what two halves of the authors' runs differ by. Exit
code 1 if any mean differs by more than chance explains (Welch's test, one in a thousand: there are
fifteen).
"""

import argparse
import importlib
import multiprocessing
import os
import sys
import tempfile

import gymnasium
import numpy as np
import scipy.stats
from environment import checkout

import ide3al

UCRL, ENTROPY = "omardrwch/reward-free-ucrl", "d-tiapkin/max-entropy-exploration"
#: name: checkout, configuration, module and class of the authors' agent, ours
CASES = {
    "rf-ucrl, chain": (UCRL, "double_chain", "rf_ucrl", "RF_UCRL", ide3al.RFUCRL),
    "rf-ucrl, grid": (UCRL, "gridworld", "rf_ucrl", "RF_UCRL", ide3al.RFUCRL),
    "ent-game, chain": (ENTROPY, "double_chain", "entgame", "EntGame", ide3al.EntGame),
}
CHANCE = 1e-3
FIGURES = ("entropy of visits", "states met", "pairs tried", "least visits", "at the start")


class Chain(gymnasium.Env):
    """A model as an environment that is cut after so many steps."""

    def __init__(self, P, start, horizon):
        n_states, n_actions = P.shape[:2]
        self.observation_space = gymnasium.spaces.Discrete(n_states)
        self.action_space = gymnasium.spaces.Discrete(n_actions)
        self.bounds, self.first, self.horizon = P.cumsum(axis=2), start, horizon

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state, self.steps = self.first, 0
        return self.state, {}

    def step(self, action):
        row = self.bounds[self.state, action]
        self.state = int(np.searchsorted(row, self.np_random.random() * row[-1], side="right"))
        self.steps += 1
        return self.state, 0.0, False, self.steps >= self.horizon, {}


def load(case, folders):
    """The authors' agent and its parameters."""
    repository, configuration, module, name, _ = CASES[case]
    # the second program has the first one's environments, but not in its repository
    sys.path[:0] = [str(folders[repository]), str(folders[UCRL])]
    with tempfile.TemporaryDirectory() as folder:
        here = os.getcwd()
        os.chdir(folder)
        path = folders[repository] / "configs" / f"{configuration}.json"
        load_config = importlib.import_module("utils.configuration").load_config
        parameters = load_config(str(path))
        os.chdir(here)
    return getattr(importlib.import_module(f"agents.{module}"), name), parameters


def visits(job):
    """Visits of pairs in one run, by the authors' program or by ours."""
    case, folders, ours, seed = job
    agent_class, parameters = load(case, folders)
    env, samples = parameters["env"], parameters["occupancies_samples"]
    if not ours:
        np.random.seed(seed)
        agent = agent_class(**parameters)
        agent.run(samples)
        return agent.N_sa
    horizon = parameters["horizon"]
    chosen = {} if CASES[case][-1] is ide3al.EntGame else {"discount": parameters["gamma"]}
    agent = CASES[case][-1](horizon=horizon, seed=seed, **chosen)
    return agent.fit(Chain(env.P, env.reset(), horizon), samples).visits


def figures(found, start):
    states = found.sum(axis=1)
    d = states[states > 0] / states.sum()
    entropy = -(d * np.log(d)).sum() / np.log(len(states))
    return entropy, (states > 0).sum(), (found > 0).sum(), states.min(), states[start]


def distance(runs, others):
    """Total variation between mean visits of states."""
    means = [np.mean([n.sum(axis=1) / n.sum() for n in some], axis=0) for some in (runs, others)]
    return 0.5 * np.abs(means[0] - means[1]).sum()


def compare(case, folders, runs, pool):
    jobs = [(case, folders, ours, seed) for ours in (False, True) for seed in range(runs)]
    found = pool.map(visits, jobs, chunksize=1)
    theirs, ours = found[:runs], found[runs:]
    print(f"\n{case}: {runs} runs of {int(theirs[0].sum()):,} steps")
    print(f"  {'':20} {'authors':>20} {'ide3al':>20}")
    agrees = True
    start = int(np.argmax(np.mean([n.sum(axis=1) for n in theirs], axis=0)))
    columns = [np.array([figures(n, start) for n in some], dtype=float) for some in (theirs, ours)]
    for k, name in enumerate(FIGURES):
        if name == "at the start":
            name = f"visits of state {start}"
        a, b = columns[0][:, k], columns[1][:, k]
        cells = []
        for sample in (a, b):
            half = scipy.stats.t.ppf(0.975, runs - 1) * sample.std(ddof=1) / np.sqrt(runs)
            cells.append(f"{sample.mean():.4g} ± {half:.2g}")
        if a.std() + b.std() > 0:
            same = scipy.stats.ttest_ind(a, b, equal_var=False).pvalue > CHANCE
        else:
            same = a[0] == b[0]
        agrees &= bool(same)
        print(f"  {name:20} {cells[0]:>20} {cells[1]:>20}{'' if same else '   differs'}")
    noise = distance(theirs[::2], theirs[1::2])
    print(
        f"  total variation of mean visits {distance(theirs, ours):.3f}, of their halves {noise:.3f}"
    )
    return agrees


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--ucrl", metavar="FOLDER")
    parser.add_argument("--entropy", metavar="FOLDER")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    given = parser.parse_args()
    folders = {UCRL: checkout(given.ucrl, UCRL), ENTROPY: checkout(given.entropy, ENTROPY)}
    agrees = True
    # both programs have modules of the same names: every case has processes of its own
    for case in [c for c in CASES if not given.cases or any(g in c for g in given.cases)]:
        with multiprocessing.get_context("spawn").Pool(given.jobs) as pool:
            agrees &= compare(case, folders, given.runs, pool)
    sys.exit(0 if agrees else 1)


if __name__ == "__main__":
    main()
