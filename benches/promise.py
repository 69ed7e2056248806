"""What a promise costs: steps against the certified minimum, and against a random policy.

    python benches/promise.py [--runs 5] [--worlds NAME,...] [--most 20] [--json FILE]

Needs: pip install "gymnasium[toy-text]" minigrid. In each environment IDE3AL collects until every
action was tried so often in every state met (and not terminal), with a seed of its own per run.
`least` is the certified minimum of steps for that from nothing, in the model estimated from the
run's own data; `ratio` is the steps taken over it. The random policy goes on until the same holds
of the states that IDE3AL met in the same run (of those it met itself it might be satisfied too
early), but for at most so many times the certified minimum (--most); a run that did not get there
says so. Means with 95 % intervals (Student's t) over the runs."""

import argparse
import json
import math
import multiprocessing
import warnings

import gymnasium
import minigrid  # noqa: F401  registers its environments
import numpy as np
from minigrid.wrappers import FullyObsWrapper, ImgObsWrapper

import ide3al

warnings.filterwarnings("ignore")

#: Samples of every pair that are promised.
WORLDS = {"Taxi-v4": 10, "FrozenLake-v1": 50, "MiniGrid-DoorKey-5x5-v0": 10}
#: Student's 97.5 % quantiles by degrees of freedom.
STUDENT = {
    1: 12.706,
    2: 4.303,
    3: 3.182,
    4: 2.776,
    5: 2.571,
    6: 2.447,
    7: 2.365,
    8: 2.306,
    9: 2.262,
    14: 2.145,
    19: 2.093,
}


class OneLayout(gymnasium.Wrapper):
    """Always the same layout, whatever the seed."""

    def reset(self, *, seed=None, options=None):
        return self.env.reset(seed=7, options=options)


def make(name):
    if not name.startswith("MiniGrid"):
        return gymnasium.make(name)
    env = gymnasium.make(name, disable_env_checker=True)
    # what the agent itself would see takes most of a step to draw, and is thrown away
    env.unwrapped.gen_obs = dict
    return ImgObsWrapper(FullyObsWrapper(OneLayout(env)))


def one(job):
    name, seed, most = job
    samples = WORLDS[name]
    data = ide3al.collect(
        make(name), ide3al.IDE3AL(), until=ide3al.Coverage(each_pair=samples), seed=seed
    )
    promise, wanting = data.card["promise"], data.actionable
    numbers = np.flatnonzero(wanting).tolist()
    states = numbers if data.states is None else [data.states[s] for s in numbers]
    keys = numbers if data.keys is None else [data.keys[s] for s in numbers]
    limit = math.ceil(most * promise["least_steps"])
    until = ide3al.Coverage(each_pair=samples, states=states)
    random = ide3al.collect(
        make(name), ide3al.Random(), until=until, seed=seed, total_timesteps=limit
    )
    return {
        "world": name,
        "seed": seed,
        "pairs": int(data.possible[wanting].sum()),
        # counted from the data themselves
        "holds": bool(data.counts[wanting][data.possible[wanting]].min() >= samples),
        "steps": len(data),
        "least": promise["least_steps"],
        "ratio": promise["ratio"],
        "random": steps_until(random, keys, samples),
        "limit": limit,
    }


def steps_until(random, keys, samples):
    """Steps after which the random data held what the other data were promised; nothing if they
    never did."""
    if random.keys is None:
        numbers = keys
    else:
        met = {key: k for k, key in enumerate(random.keys)}
        if any(key not in met for key in keys):
            return None
        numbers = [met[key] for key in keys]
    pairs = random.observations * random.n_actions + random.actions
    last = 0
    order = np.argsort(pairs, kind="stable")
    begins = np.searchsorted(pairs[order], np.arange(random.n_states * random.n_actions + 1))
    for state in numbers:
        for pair in range(state * random.n_actions, (state + 1) * random.n_actions):
            places = order[begins[pair] : begins[pair + 1]]
            if len(places) < samples:
                return None
            last = max(last, int(places[samples - 1]) + 1)
    return last


def interval(values, digits=0):
    """Mean and half the width of its 95 % interval."""
    n = len(values)
    half = (
        f" ± {STUDENT[n - 1] * np.std(values, ddof=1) / math.sqrt(n):,.{digits}f}"
        if n - 1 in STUDENT
        else ""
    )
    return f"{np.mean(values):,.{digits}f}{half}"


def row(name, runs, most):
    held, pairs = sum(run["holds"] for run in runs), {run["pairs"] for run in runs}
    random = [run["random"] for run in runs]
    reached = [steps for steps in random if steps is not None]
    if len(reached) == len(runs):
        times = interval([steps / run["least"] for steps, run in zip(random, runs, strict=True)], 1)
        said = f"{interval(reached)}: {times} times the least"
    else:
        said = f"more than {most} times the least in {len(runs) - len(reached)} of {len(runs)} runs"
        if reached:
            said += f", else {min(reached):,} to {max(reached):,}"
    cells = [
        name,
        f"{WORLDS[name]}",
        f"{min(pairs)} to {max(pairs)}" if len(pairs) > 1 else f"{min(pairs)}",
        f"{held} of {len(runs)}",
        interval([run["steps"] for run in runs]),
        interval([run["least"] for run in runs]),
        f"{interval([run['ratio'] for run in runs], 2)}, at most {max(run['ratio'] for run in runs):.2f}",
        said,
    ]
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--worlds", default=",".join(WORLDS))
    parser.add_argument(
        "--most",
        type=int,
        default=20,
        help="random policy: at most so many times the certified minimum of steps",
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json")
    given = parser.parse_args()
    names = given.worlds.split(",")
    jobs = [(name, seed, given.most) for name in names for seed in range(given.runs)]
    with multiprocessing.get_context("spawn").Pool(given.jobs) as pool:
        runs = pool.map(one, jobs, chunksize=1)
    print(
        "| environment | samples | pairs | holds | steps | certified least | ratio | random policy |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in names:
        print(row(name, [run for run in runs if run["world"] == name], given.most))
    if given.json:
        with open(given.json, "w") as file:
            json.dump(runs, file, indent=1)


if __name__ == "__main__":
    main()
