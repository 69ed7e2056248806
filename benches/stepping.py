"""What a step costs beside the environment's own, and what many environments at once gain.

    python benches/stepping.py [--rounds 5] [--seconds 1]

First the processor time per step of `fit` and `collect` above that of the bare loop, in
environments that cost next to nothing: one, and eight stepped as arrays. The plans depend on the
environment: here it has 20 states. Then steps per second in an environment that waits for 1 ms in
each step (as for a device or a server: with a busy processor no more environments than cores could
gain), one against eight in processes of their own (Gymnasium's AsyncVectorEnv, with and without
shared memory). Rounds alternate, so that whatever else the machine does falls on all alike; medians
and extremes are shown."""

import argparse
import time

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv
from gymnasium.vector.utils import batch_space

import ide3al

STATES, ENVS, LIMIT = 20, 8, 200
UNIFORM = np.full((STATES, 2), 0.5)


class Ring(gymnasium.Env):
    """To the left or to the right on a ring; episodes are cut."""

    observation_space = gymnasium.spaces.Discrete(STATES)
    action_space = gymnasium.spaces.Discrete(2)
    wait = 0.0

    def reset(self, *, seed=None, options=None):
        self.place = self.taken = 0
        return 0, {}

    def step(self, action):
        if self.wait:
            time.sleep(self.wait)
        self.place = (self.place + (1 if action else -1)) % STATES
        self.taken += 1
        return self.place, 0.0, False, self.taken >= LIMIT, {}


class Slow(Ring):
    wait = 1e-3


class Rings:
    """Eight rings as arrays, cut together and started over in the next step."""

    num_envs = ENVS
    single_observation_space, single_action_space = Ring.observation_space, Ring.action_space
    observation_space, action_space = (
        batch_space(Ring.observation_space, ENVS),
        batch_space(Ring.action_space, ENVS),
    )
    metadata = {"autoreset_mode": "NextStep"}

    def reset(self, seed=None, options=None):
        self.places, self.taken = np.zeros(ENVS, dtype=np.int64), 0
        return self.places, {}

    def step(self, actions):
        self.taken += 1
        self.places = (self.places + 2 * actions - 1) % STATES
        if self.taken > LIMIT:
            self.reset()
        return (
            self.places,
            np.zeros(ENVS),
            np.zeros(ENVS, dtype=bool),
            np.full(ENVS, self.taken == LIMIT),
            {},
        )


def bare(env, steps):
    """The loop that anybody would write."""
    env.reset()
    action = env.action_space.sample()
    for _ in range(steps):
        _, _, terminated, truncated, _ = env.step(action)
        if truncated is True:
            env.reset()


def processor(work):
    """Least processor time of three."""
    times = []
    for _ in range(3):
        before = time.process_time()
        work()
        times.append(time.process_time() - before)
    return min(times)


def overhead(steps=100_000):
    print(
        "microseconds of processor time per step: the environment's own, and above it fit without plans, fit with IDE3AL's plans, collect"
    )
    for name, make, n in (("one environment", Ring, 1), ("eight as arrays", Rings, ENVS)):
        own = processor(lambda: bare(make(), steps // n))
        fit = processor(lambda: ide3al.Random(batch_size=steps // 10).fit(make(), steps))
        planned = processor(lambda: ide3al.IDE3AL().fit(make(), steps))
        collect = processor(lambda: ide3al.collect(make(), UNIFORM, total_timesteps=steps))
        each = [1e6 * t / steps for t in (own, fit - own, planned - own, collect - own)]
        print(f"{name:16}" + "".join(f"{t:8.2f}" for t in each))


def speed(rounds, seconds):
    eight = {
        f"eight, shared memory {'on' if on else 'off'}": AsyncVectorEnv(
            [Slow] * ENVS, shared_memory=on
        )
        for on in (True, False)
    }
    envs = {"one": Slow(), **eight}
    kinds = {
        "bare": lambda env, n: bare(env, n // getattr(env, "num_envs", 1)),
        "fit": lambda env, n: ide3al.IDE3AL().fit(env, n),
        "collect": lambda env, n: ide3al.collect(env, UNIFORM, total_timesteps=n),
    }
    rates = {(name, kind): [] for name in envs for kind in kinds}
    for _ in range(rounds):
        for kind, work in kinds.items():
            for name, env in envs.items():
                steps = int(seconds * 800) * (1 if name == "one" else 4)
                begin = time.perf_counter()
                work(env, steps)
                rates[name, kind].append(steps / (time.perf_counter() - begin))
    for env in eight.values():
        env.close()
    print(
        f"\nsteps per second, a step waits for 1 ms; {rounds} rounds: median (least to most); times as many as one"
    )
    for kind in kinds:
        for name in envs:
            found = np.array(rates[name, kind])
            gain = found / np.array(rates["one", kind])
            print(
                f"{kind:8} {name:26} {np.median(found):7.0f} ({found.min():.0f} to {found.max():.0f})"
                f"    {np.median(gain):5.2f} ({gain.min():.2f} to {gain.max():.2f})"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    given = parser.parse_args()
    overhead()
    speed(given.rounds, given.seconds)


if __name__ == "__main__":
    main()
