"""Stable-Baselines3's DQN in a sparse environment, its buffer filled by IDE3AL, at random or empty.

    python benches/peers/filled_buffers.py --runs 5

FrozenLake 8 x 8 without slipping: one reward, 14 steps from the start. Two buffers are filled with
2,000 steps before DQN's first, by data.fill(model.replay_buffer); DQN then takes steps of its own
(learning rate 0.001, every step a gradient step, target network copied every 250 steps, otherwise
its defaults) until its greedy policy reaches the goal from the start. Steps of its own, mean and
95 % interval over runs (Student's t); a run that takes 20,000 counts as that.

Needs ide3al, stable-baselines3 and gymnasium[toy-text] in one environment.
"""

import argparse

import gymnasium
import numpy as np
import scipy.stats
import torch
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback

import ide3al

MOST, EVERY, FILLED = 20_000, 100, 2_000


def lake() -> gymnasium.Env:
    return gymnasium.make("FrozenLake8x8-v1", is_slippery=False)


class UntilSolved(BaseCallback):
    """Stops when the greedy policy reaches the goal."""

    def __init__(self) -> None:
        super().__init__()
        self.judge = lake()

    def _on_step(self) -> bool:
        if self.num_timesteps % EVERY:
            return True
        actions, _ = self.model.predict(np.arange(64), deterministic=True)
        state, _ = self.judge.reset()
        over = cut = False
        while not (over or cut):
            state, reward, over, cut, _ = self.judge.step(int(actions[state]))
        return reward == 0.0


def steps_to_solve(agent, seed: int) -> tuple[int, float]:
    """DQN's own steps, and the share of the filled steps that earn the reward."""
    model = DQN(
        "MlpPolicy", lake(), learning_rate=1e-3, train_freq=1, target_update_interval=250,
        learning_starts=0 if agent else 100, buffer_size=50_000, seed=seed, device="cpu",
    )  # fmt: skip
    earned = 0.0
    if agent is not None:
        data = ide3al.collect(lake(), agent, FILLED, learn=True, seed=seed)
        data.fill(model.replay_buffer)
        earned = float(data.rewards.mean())
    model.learn(MOST, callback=UntilSolved())
    return model.num_timesteps, earned


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{'buffer':12}{'rewards in it':>16}{'steps to solve':>20}{'solved':>10}")
    fillings = {"by IDE3AL": ide3al.IDE3AL, "at random": ide3al.Random, "empty": None}
    for name, kind in fillings.items():
        runs = [steps_to_solve(kind and kind(seed=k), k) for k in range(given.runs)]
        steps = np.array([run[0] for run in runs])
        wide = scipy.stats.t.ppf(0.975, len(runs) - 1) if len(runs) > 1 else 0.0
        half = wide * steps.std(ddof=min(1, len(runs) - 1)) / np.sqrt(len(runs))
        share = np.mean([run[1] for run in runs])
        said = f"{steps.mean():,.0f} +- {half:,.0f}"
        solved = f"{(steps < MOST).sum()} of {len(runs)}"
        print(f"{name:12}{share:>16.4f}{said:>20}{solved:>10}", flush=True)


if __name__ == "__main__":
    main()
