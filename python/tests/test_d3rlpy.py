"""Data sets for d3rlpy. Not among the test packages, since it needs an older Gymnasium and brings
PyTorch: where it is installed, these run."""

import gymnasium
import numpy as np
import pytest

import ide3al

d3rlpy = pytest.importorskip(
    "d3rlpy",
    reason="d3rlpy needs an older Gymnasium than the other tests: install it into an environment of its own",
)


def test_episodes_are_those_of_the_data():
    env = gymnasium.make("FrozenLake-v1", is_slippery=False)
    data = ide3al.collect(env, ide3al.IDE3AL(), until=ide3al.Coverage(each_pair=3), seed=1)
    theirs = data.to_d3rlpy()
    assert theirs.dataset_info.action_size == 4
    # the last observation of an episode that was cut has no place there
    assert theirs.transition_count == len(data) - data.truncations.sum()
    for ours, episode in zip(data.episodes(), theirs.episodes, strict=True):
        np.testing.assert_array_equal(episode.observations[:, 0], ours.states[:-1])
        np.testing.assert_array_equal(episode.actions[:, 0], ours.actions)
        np.testing.assert_allclose(episode.rewards[:, 0], ours.rewards)
        assert bool(episode.terminated) == ours.terminated
    learner = d3rlpy.algos.DiscreteCQLConfig(batch_size=8).create(device="cpu:0")
    quiet = d3rlpy.logging.NoopAdapterFactory()
    learner.fit(theirs, n_steps=2, n_steps_per_epoch=2, show_progress=False, logger_adapter=quiet)
    assert learner.predict(np.zeros((1, 1), dtype=np.float32)).shape == (1,)


def test_observations_that_are_arrays_stay_arrays():
    class Pair(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(0, 9, (2,), np.uint8)
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            self.place = 0
            return np.array([0, 9], dtype=np.uint8), {}

        def step(self, action):
            self.place += 1
            return (
                np.array([self.place, 9 - self.place], dtype=np.uint8),
                0.0,
                self.place == 5,
                False,
                {},
            )

    episode = ide3al.collect(Pair(), ide3al.Random(), total_timesteps=5).to_d3rlpy().episodes[0]
    np.testing.assert_array_equal(episode.observations, [[k, 9 - k] for k in range(5)])
