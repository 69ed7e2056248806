"""LunarLander explored raw, kept as a Minari data set, read back without a bit lost, and a deep
Q-network of Stable-Baselines3 trained on it without another step of the environment.

    pip install "./python[gymnasium,minari]" "gymnasium[box2d]" stable-baselines3
    python python/examples/lunar_lander.py [--steps 20000] [--gradient-steps 5000]
"""

import argparse

import gymnasium
import minari
import numpy as np

import ide3al


def read_back(data, dataset_id):
    """Whether every number that the environment gave and was given comes back as it was."""
    stored = list(minari.load_dataset(dataset_id).iterate_episodes())
    assert len(stored) == len(data.raw.lengths)
    for ours, theirs in zip(data.raw.episodes(), stored, strict=True):
        for name in ("observations", "actions", "rewards"):
            mine, given = getattr(ours, name), np.asarray(getattr(theirs, name))
            assert mine.dtype == given.dtype and np.array_equal(mine, given), name
    return len(data.raw)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", default="LunarLander-v3")
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--gradient-steps", type=int, default=5_000)
    parser.add_argument("--dataset", default="lunar-lander/ide3al-v0")
    given = parser.parse_args()
    from stable_baselines3 import DQN
    from stable_baselines3.common.logger import configure

    env = gymnasium.make(given.env)
    agent = ide3al.IDE3AL()
    data = ide3al.collect(
        env, agent, given.steps, learn=True, dataset_id=given.dataset, overwrite=True
    )
    print(f"{read_back(data, given.dataset)} steps read back as they were")
    theirs = ide3al.audit(given.dataset, states=agent)
    learner = DQN("MlpPolicy", env, buffer_size=given.steps, seed=0, device="cpu")
    learner.set_logger(configure(None, []))
    filled = theirs.fill(learner.replay_buffer)
    before = [parameter.clone() for parameter in learner.q_net.parameters()]
    learner.train(given.gradient_steps, batch_size=64)
    moved = sum(
        float((now - then).abs().sum().detach())
        for now, then in zip(learner.q_net.parameters(), before, strict=True)
    )
    action, _ = learner.predict(env.reset(seed=1)[0])
    print(f"trained on {filled} steps; an action for a first observation: {int(action)}")
    return filled, moved


if __name__ == "__main__":
    main()
