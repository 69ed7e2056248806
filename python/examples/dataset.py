"""DoorKey: a data set with a promise, a random one audited and completed, and what each is good
for.

    python python/examples/dataset.py [--samples 10] [--runs 5] [--steps MOST] [--picture FILE]

Needs: pip install "ide3al[minigrid,plot]". MiniGrid's DoorKey-5x5 with one fixed layout, seen
whole, as a picture: find the key, open the door, reach the goal. Three data sets:

    promised    collected by IDE3AL until every pair of every state met has the samples promised
    random      as many steps of the random policy
    completed   half of the random data set, filled up by IDE3AL until the promise holds

From each of them alone policies are planned off-line, in the model that the data suggest. One is
for DoorKey's own reward (`reward`: share of 20 episodes that earn it), 20 are for tasks that nobody
knew when the data were collected: to reach a state drawn from all that any of the data sets met
(`tasks`: share reached in an episode). The table has means over the runs, with the least and the
most; `short` counts the pairs, of all states that any data set met, with fewer samples than
promised, and `times least` the steps over the certified minimum."""

import argparse

import gymnasium
import minigrid  # noqa: F401  registers its environments
import numpy as np
from minigrid.wrappers import FullyObsWrapper, ImgObsWrapper

import ide3al
from ide3al.encoding.discrete import to_key

COLOURS = {"promised": "#0072b2", "random": "#505050", "completed": "#d55e00"}
DASHES = {"promised": "-", "random": ":", "completed": "--"}


class OneLayout(gymnasium.Wrapper):
    """Always the same layout, whatever the seed."""

    def reset(self, *, seed=None, options=None):
        return self.env.reset(seed=7, options=options)


def make():
    env = gymnasium.make("MiniGrid-DoorKey-5x5-v0", disable_env_checker=True)
    # what the agent itself would see takes most of a step to draw, and is not looked at here
    env.unwrapped.gen_obs = dict
    return ImgObsWrapper(FullyObsWrapper(OneLayout(env)))


def offline(model, goals):
    """The policy that reaches one of the goals with the highest probability and then soonest in the
    model of the data: the action of each state, -1 where it cannot be reached."""
    if len(goals) == 0:
        return np.full(model.n_states, -1)
    plan = ide3al.plan(model, goal=goals)
    actions = np.array([plan.action(s) for s in range(model.n_states)])
    return np.where(plan.values > 0, actions, -1)


def followed(data, actions, seed, goal=None, episodes=1):
    """Share of episodes that earn a reward, or come to a goal; any action where the data say
    nothing."""
    env, rng = make(), np.random.default_rng(seed)
    numbers = {key: k for k, key in enumerate(data.keys)}
    reached = 0
    for _ in range(episodes):
        observation, _ = env.reset()
        over = False
        while not over:
            key = to_key(observation)
            state = numbers.get(key, -1)
            action = (
                actions[state]
                if state >= 0 and actions[state] >= 0
                else rng.integers(data.n_actions)
            )
            observation, reward, terminated, truncated, _ = env.step(action)
            arrived = reward > 0 if goal is None else to_key(observation) == goal
            over = terminated or truncated or arrived
        reached += bool(arrived)
    return reached / episodes


def judged(data, everything, seed):
    """Share of episodes that earn the reward, and of tasks that are solved."""
    # DoorKey's reward falls with the steps taken, which is no part of the state: arriving counts
    model, paid = data.model(), np.unique(data.next_observations[data.rewards > 0])
    own = followed(data, offline(model, paid), seed, episodes=20)
    keys = sorted({key for other in everything for key in other.keys})
    chosen = np.random.default_rng(seed).choice(len(keys), 20, replace=False)
    solved = []
    for goal in (keys[k] for k in chosen):
        known = [data.keys.index(goal)] if goal in data.keys else []
        solved.append(followed(data, offline(model, known), seed, goal))
    return own, np.mean(solved)


def one_run(seed, samples, most):
    until = ide3al.Coverage(each_pair=samples)
    promised = ide3al.collect(make(), ide3al.IDE3AL(), until=until, seed=seed, total_timesteps=most)
    random = ide3al.collect(make(), ide3al.Random(), total_timesteps=len(promised), seed=seed)
    half = ide3al.collect(make(), ide3al.Random(), total_timesteps=len(promised) // 2, seed=seed)
    completed = ide3al.collect(
        make(),
        ide3al.IDE3AL(),
        until=until,
        initial_data=half,
        seed=seed + 1000,
        total_timesteps=most,
    )
    return {"promised": promised, "random": random, "completed": completed}


def short(data, everything, samples):
    """Pairs of all states met by anybody, and terminal for nobody, that have fewer samples than
    promised."""
    counts = dict(zip(data.keys, data.counts, strict=True))
    ended = {other.keys[s] for other in everything for s in np.flatnonzero(other.terminal)}
    met = {key for other in everything for key in other.keys} - ended
    return sum(int((counts.get(key, np.zeros(data.n_actions)) < samples).sum()) for key in met)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--steps", type=int, help="at most so many, promise or not")
    parser.add_argument("--picture")
    given = parser.parse_args()
    heads = ["steps", "states", "short", "times least", "reward, %", "tasks, %"]
    rows, curves = {name: [] for name in COLOURS}, {}
    for seed in range(given.runs):
        sets = one_run(seed, given.samples, given.steps)
        for name, data in sets.items():
            ratio = data.card.get("promise", {}).get("ratio") or float("nan")
            missing = short(data, sets.values(), given.samples)
            own, tasks = judged(data, sets.values(), seed)
            rows[name].append(
                [len(data), data.card["states"]["met"], missing, ratio, 100 * own, 100 * tasks]
            )
        curves = curves or {name: data.card["curve"] for name, data in sets.items()}
    print(f"{'':10}" + "".join(f"{head:>22}" for head in heads))
    for name, runs in rows.items():
        print(f"{name:10}" + "".join(f"{cell(column):>22}" for column in np.array(runs).T))
    if given.picture:
        draw(curves, given)
    return rows


def cell(values):
    if np.isnan(values).any():
        return "-"
    digits = 0 if values.min() > 10 or (values == np.round(values)).all() else 2
    return f"{values.mean():.{digits}f} ({values.min():.{digits}f} to {values.max():.{digits}f})"


def draw(curves, given):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), constrained_layout=True)
    for name, curve in curves.items():
        look = {"color": COLOURS[name], "linestyle": DASHES[name], "linewidth": 1.8, "label": name}
        axes[0].plot(curve["steps"], curve["pairs_tried"], **look)
        axes[1].plot(curve["steps"], curve["least_count"], **look)
    axes[1].axhline(given.samples, color="black", linewidth=0.8)
    axes[0].set(xlabel="steps", ylabel="pairs tried", title="DoorKey-5x5, one run")
    axes[1].set(
        xlabel="steps",
        ylabel="samples of the rarest pair",
        title=f"promised: {given.samples} of every pair",
    )
    for ax in axes:
        ax.grid(alpha=0.25)
        ax.set_xlim(left=0)
    axes[0].legend()
    figure.savefig(given.picture, dpi=110)


if __name__ == "__main__":
    main()
