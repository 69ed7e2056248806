"""DoorKey: a data set with a promise, a random one audited and completed, and what each is good for.

    python python/examples/dataset.py [--samples 10] [--runs 5] [--picture FILE]

MiniGrid's DoorKey-5x5 with one fixed layout, seen whole, as a picture: find the key, open the door, reach the goal. Three data sets:

    promised    collected by IDE3AL until every pair of every state met has the samples promised
    random      as many steps of the random policy
    completed   half of the random data set, filled up by IDE3AL until the promise holds

From each of them alone a policy for DoorKey's reward is learned off-line: value iteration on the model that the data suggest, where
pairs never tried are worth nothing. It is followed for 20 episodes in the environment.
"""

import argparse

import gymnasium
import matplotlib
import minigrid  # noqa: F401  registers its environments
import numpy as np
from minigrid.wrappers import FullyObsWrapper, ImgObsWrapper, ReseedWrapper

import ide3al

DISCOUNT = 0.99
COLOURS = {"promised": "#0072b2", "random": "#505050", "completed": "#d55e00"}
DASHES = {"promised": "-", "random": ":", "completed": "--"}


def make():
    env = gymnasium.make("MiniGrid-DoorKey-5x5-v0")
    return ImgObsWrapper(FullyObsWrapper(ReseedWrapper(env, seeds=[7])))


def offline(data):
    """The greedy policy of the data's own model: the action of each state, -1 where nothing was tried."""
    n, m = data.n_states, data.n_actions
    P, reward = np.zeros((n * m, n)), np.zeros(n * m)
    pairs = data.observations * m + data.actions
    np.add.at(P, (pairs, data.next_observations), ~data.terminations)
    # DoorKey's reward falls with the steps taken, which is no part of the state: arriving counts
    np.add.at(reward, pairs, data.rewards > 0)
    tried = np.bincount(pairs, minlength=n * m)
    P, reward = P / np.maximum(tried, 1)[:, None], reward / np.maximum(tried, 1)
    values = np.zeros(n)
    for _ in range(500):
        quality = np.where(tried > 0, reward + DISCOUNT * P @ values, 0.0).reshape(n, m)
        values = quality.max(axis=1)
    return np.where(quality.max(axis=1) > 0, quality.argmax(axis=1), -1)


def followed(data, actions, seed, episodes=20):
    """Share of episodes in which the goal is reached; any action where the data say nothing."""
    env, rng = make(), np.random.default_rng(seed)
    numbers = {key: k for k, key in enumerate(data.states)}
    reached = 0
    for _ in range(episodes):
        observation, _ = env.reset()
        over = False
        while not over:
            state = numbers.get(ide3al.spaces.frozen(observation), -1)
            action = actions[state] if state >= 0 and actions[state] >= 0 else rng.integers(data.n_actions)
            observation, reward, terminated, truncated, _ = env.step(action)
            over = terminated or truncated
        reached += reward > 0
    return reached / episodes


def one_run(seed, samples):
    until = ide3al.Coverage(each_pair=samples)
    promised = ide3al.collect(make(), ide3al.IDE3AL(), until=until, seed=seed)
    random = ide3al.collect(make(), ide3al.Random(), steps=len(promised), seed=seed)
    half = ide3al.collect(make(), ide3al.Random(), steps=len(promised) // 2, seed=seed)
    completed = ide3al.collect(make(), ide3al.IDE3AL(), until=until, complete=half, seed=seed + 1000)
    return {"promised": promised, "random": random, "completed": completed}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--picture")
    given = parser.parse_args()
    rows, curves = {name: [] for name in COLOURS}, {}
    for seed in range(given.runs):
        sets = one_run(seed, given.samples)
        for name, data in sets.items():
            card = data.card
            ratio = card.get("promise", {}).get("ratio") or float("nan")
            figures = [len(data), card["states"]["met"], card["pairs"]["least_count"], card["pairs"]["tried"], ratio]
            rows[name].append([*figures, 100 * followed(data, offline(data), seed)])
        curves = curves or {name: data.card["curve"] for name, data in sets.items()}
    heads = ["steps", "states", "least", "pairs", "ratio", "goal, %"]
    print(f"{'':10}" + "".join(f"{head:>18}" for head in heads))
    for name, runs in rows.items():
        mean = np.mean(runs, axis=0)
        half = 2.776 * np.std(runs, axis=0, ddof=1) / np.sqrt(len(runs)) if len(runs) == 5 else np.full(len(mean), np.nan)
        print(f"{name:10}" + "".join(f"{f'{m:.4g} +- {h:.2g}':>18}" for m, h in zip(mean, half)))
    if given.picture:
        draw(curves, given)


def draw(curves, given):
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), constrained_layout=True)
    for name, curve in curves.items():
        look = {"color": COLOURS[name], "linestyle": DASHES[name], "linewidth": 1.8, "label": name}
        axes[0].plot(curve["steps"], curve["pairs_tried"], **look)
        axes[1].plot(curve["steps"], curve["least_count"], **look)
    axes[1].axhline(given.samples, color="black", linewidth=0.8)
    axes[0].set(xlabel="steps", ylabel="pairs tried", title="DoorKey-5x5, one run")
    axes[1].set(xlabel="steps", ylabel="samples of the rarest pair", title=f"promised: {given.samples} of every pair")
    for ax in axes:
        ax.grid(alpha=0.25)
        ax.set_xlim(left=0)
    axes[0].legend()
    figure.savefig(given.picture, dpi=110)


if __name__ == "__main__":
    main()
