"""The published comparison that has an IDE3AL in it, with the policy of that IDE3AL read rightly.

    python benches/peers/multi_reward.py [--checkout FOLDER] [--runs N] [--jobs N]
        [--agent NAME ...] [--environment NAME ...]

Russo and Vannella (2024), "Multi-Reward Best Policy Identification", NeurIPS: four small
environments, 50,000 steps without resets, discount 0.9. FOLDER is a checkout of
github.com/rssalessio/Multi-Reward-Best-Policy-Identification, cloned to target/checkouts unless
given; environments, their agents with their parameters, the estimate of the model (a prior of one
count for each next state) and the two errors, averaged over the rewards of one pair each and 30
random ones, are the authors':

  policy  share of the policies optimal in the estimate or in the truth that are not so in both
  value   mean difference of the optimal values

Their IDE3AL (Column Sum) multiplies `pi.flatten()`, which CVXPY reads column by column, by rows of
the model that NumPy laid out row by row: probabilities are paired with transitions of other states
and actions. The mended one is given the rows in the order in which the policy is read; nothing else
is changed. Their IDE3AL and RF-UCRL plan as they do; `ide3al` and the second RF-UCRL are ours.
Means with 95 % intervals (Student).
"""

import argparse
import importlib
import json
import multiprocessing
import os
import sys
import time

import gymnasium
import numpy as np
import scipy.stats
from environment import ROOT, checkout

import ide3al

REPOSITORY = "rssalessio/Multi-Reward-Best-Policy-Identification"
MARKS = (5_000, 50_000)
AGENTS = {
    "IDE3AL, as published": "IDE3AL",
    "IDE3AL, order mended": "IDE3AL",
    "RF-UCRL, theirs": "RF-UCRL",
    "MR-NaS": "MR-NaS",
    "RF-UCRL, ours": lambda seed: ide3al.RFUCRL(horizon=10, discount=0.9, seed=seed),
    "ide3al": lambda seed: ide3al.IDE3AL(seed=seed),
    "ide3al, model error": lambda seed: ide3al.IDE3AL(formulation="model-error", seed=seed),
}


def load(folder):
    """The authors' configuration and makers. Their Cython is compiled on first use."""
    sys.path.insert(0, str(folder))
    # a name that NumPy 2 no longer has
    np.infty = np.inf
    pyximport = importlib.import_module("pyximport")
    # in the parent first, so that no two processes compile the same
    setup, cache = {"include_dirs": np.get_include()}, ROOT / "target" / "cython"
    pyximport.install(setup_args=setup, build_dir=str(cache), language_level=3)
    config = importlib.import_module("tabular.config").CONFIG
    makers = [
        importlib.import_module("tabular." + name)
        for name in ("make_agent", "simulation_parameters")
    ]
    return config, makers[0].make_agent, makers[1].make_env


def mended(agent):
    """Gives the rows of the model action by action, as their program reads its policy."""
    problem, variables = agent._pi_problem["problem"], agent._pi_problem["variables"]

    def update():
        rows = agent.empirical_transition(prior_p=1).transpose(1, 0, 2)
        variables["P"].value = rows.reshape(agent.ns * agent.na, agent.ns)
        problem.solve(solver="CLARABEL")
        agent.pi = variables["pi"].value

    agent._update_pi = update
    return agent


class Counted(gymnasium.Env):
    """One of their environments, which remembers its transitions at the marks."""

    def __init__(self, env):
        self.env = env
        n_states, n_actions = env.dim_state, env.dim_action
        self.observation_space = gymnasium.spaces.Discrete(n_states)
        self.action_space = gymnasium.spaces.Discrete(n_actions)
        self.counts = np.zeros((n_states, n_actions, n_states))
        self.at_marks, self.state = [], 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = self.env.reset()
        return self.state, {}

    def step(self, action):
        following, _ = self.env.step(action)
        self.counts[self.state, action, following] += 1
        self.state = int(following)
        if self.counts.sum() in MARKS:
            self.at_marks.append(self.counts.copy())
        return self.state, 0.0, False, False, {}


def run(job):
    """What was run, its errors of policy and value at the marks, and seconds without judging."""
    folder, place, name, seed = job
    config, make_agent, make_env = load(folder)
    parameters, of_agents = config.envs[place]
    general = config.sim_parameters
    np.random.seed(seed)
    env = make_env(parameters)
    counted = Counted(env)
    rewards = np.vstack(
        [env.generate_boundary_rewards(), env.generate_random_rewards(N=general.num_rewards)]
    )
    begun = time.perf_counter()
    if callable(AGENTS[name]):
        AGENTS[name](seed).fit(counted, MARKS[-1])
    else:
        explore(counted, chosen(name, of_agents, env, general, make_agent))
    seconds = time.perf_counter() - begun
    errors = []
    for counts in counted.at_marks:
        estimate = (counts + 1) / (counts + 1).sum(axis=2, keepdims=True)
        values, policies, _ = env.eval_transition(
            Phat=estimate, R=rewards, discount_factor=general.discount_factor
        )
        errors.append((float(policies.mean()), float(values.mean())))
    return parameters.env_type.value, name, seed, errors, seconds


def chosen(name, of_agents, env, general, make_agent):
    """One of their agents with their parameters for this environment."""
    (parameters,) = [a for a in of_agents if a.type.replace("ID3AL", "IDE3AL") == AGENTS[name]]
    base = importlib.import_module("tabular.agents.agent").AgentParameters(
        dim_state_space=env.dim_state,
        dim_action_space=env.dim_action,
        discount_factor=general.discount_factor,
        horizon=MARKS[-1],
        frequency_evaluation=general.freq_eval,
        delta=general.delta,
    )
    agent = make_agent(parameters._replace(agent_parameters=base))
    return mended(agent) if "mended" in name else agent


def explore(env, agent):
    """Their loop, without judging."""
    experience = importlib.import_module("tabular.agents.agent").Experience
    state, _ = env.reset()
    for step in range(MARKS[-1]):
        action = agent.forward(state, step)
        following = env.step(action)[0]
        agent.backward(experience(state, action, following), step)
        state = following


def interval(values):
    values = np.asarray(values)
    if len(values) < 2:
        return f"{values.mean():.3g}"
    half = scipy.stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5
    return f"{values.mean():.3g} ± {half:.2g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--checkout", metavar="FOLDER")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument(
        "--out",
        metavar="FILE",
        default=ROOT / "target" / "multi-reward.jsonl",
        help="one line per run; those in it already are not done again",
    )
    parser.add_argument("--agent", action="append", choices=AGENTS, help="only this one, or these")
    parser.add_argument("--show", action="store_true", help="show what is done, run nothing")
    parser.add_argument("--environment", action="append", help="only this one, or these")
    given = parser.parse_args()
    folder = checkout(given.checkout, REPOSITORY)
    config, _, _ = load(folder)
    places = {entry[0].env_type.value: place for place, entry in enumerate(config.envs)}
    jobs = [
        (env, name, seed)
        for seed in range(given.runs)
        for env in places
        if not given.environment or env in given.environment
        for name in given.agent or AGENTS
    ]
    done = read(given.out)
    todo = [
        (folder, places[env], name, seed)
        for env, name, seed in jobs
        if not given.show and (env, name, seed) not in done
    ]
    with (
        multiprocessing.get_context("spawn").Pool(given.jobs) as pool,
        open(given.out, "a") as file,
    ):
        for env, name, seed, errors, seconds in pool.imap_unordered(run, todo):
            done[env, name, seed] = (errors, seconds)
            file.write(json.dumps([env, name, seed, errors, seconds]) + "\n")
            file.flush()
    for env in dict.fromkeys(env for env, _, _ in jobs):
        seeds = {name: [s for s in range(given.runs) if (env, name, s) in done] for name in AGENTS}
        show(env, {name: [done[env, name, s] for s in seeds[name]] for name in AGENTS})


def read(file):
    """Runs done before."""
    try:
        with open(file) as lines:
            rows = [json.loads(line) for line in lines]
    except FileNotFoundError:
        return {}
    return {(env, name, seed): (errors, seconds) for env, name, seed, errors, seconds in rows}


def show(env, agents):
    print(f"\n{env}, errors after so many steps")
    titles = [f"{what}, {mark:,}" for what in ("policy", "value") for mark in MARKS]
    print(f"  {'':22}{'runs':>4}" + "".join(f"{t:>18}" for t in titles) + f"{'seconds':>10}")
    for name, runs in agents.items():
        if not runs:
            continue
        cells = [
            interval([errors[k][what] for errors, _ in runs])
            for what in (0, 1)
            for k in range(len(MARKS))
        ]
        line = f"  {name:22}{len(runs):4}" + "".join(f"{cell:>18}" for cell in cells)
        print(f"{line}{np.mean([seconds for _, seconds in runs]):10.1f}")


if __name__ == "__main__":
    main()
