"""Explore MountainCarContinuous as it is: no cells cut by hand, no rewards.

    python mountain_car.py [--steps 40000] [--seed 0] [--out mountain_car.png]

Draws where the steps went in three stretches of time, the cells, and the last two episodes; then
says what the final policy does beside what the estimate said it would."""

import argparse

import gymnasium

import ide3al


class Endless(gymnasium.Wrapper):
    """The goal ends nothing; episodes are cut after 400 steps."""

    def reset(self, **options):
        self.taken = 0
        return self.env.reset(**options)

    def step(self, action):
        observation, reward, _, _, info = self.env.step(action)
        self.taken += 1
        return observation, reward, False, self.taken >= 400, info


def make():
    return Endless(gymnasium.make("MountainCarContinuous-v0").unwrapped)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=40_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="mountain_car.png")
    given = parser.parse_args()
    entropies = {}
    for kind in (ide3al.Random, ide3al.IDE3AL):
        agent = kind(seed=given.seed).fit(make(), total_timesteps=given.steps)
        followed = agent.account(make(), steps=10_000, seed=1000)
        entropies[kind.__name__] = followed.binned_entropy([12, 11])
        print(
            f"{kind.__name__}: {entropies[kind.__name__]:.2f} of 4.88 nats over 12 x 11 bins\n{followed}\n"
        )
    axes = ide3al.plot_visitation(agent, parts=3, trajectories=2)
    axes[0].figure.suptitle(f"MountainCarContinuous, {given.steps:,} steps of IDE3AL")
    axes[0].figure.savefig(given.out, dpi=110)
    return entropies


if __name__ == "__main__":
    main()
