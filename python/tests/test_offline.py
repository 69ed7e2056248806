"""Raw data of continuous environments for learners of others, from a data set on disk."""

import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import ide3al

EXAMPLES = Path(__file__).parents[1] / "examples"


class Buffer:
    """Keeps what it is given, as Stable-Baselines3's does."""

    n_envs, buffer_size = 1, 1000

    def __init__(self, env):
        self.observation_space, self.action_space = env.observation_space, env.action_space
        self.rows = []

    def add(self, obs, next_obs, action, reward, done, infos):
        self.rows.append((obs[0], next_obs[0], action[0], reward[0], done[0], infos[0]))


@pytest.mark.parametrize("name", ["MountainCar-v0", "Pendulum-v1"])
def test_raw_steps_reach_a_buffer_by_way_of_minari(name, tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    env = gymnasium.make(name)
    agent = ide3al.IDE3AL().fit(env, 600)
    data = ide3al.collect(env, agent, 100, dataset_id="raw/steps-v0", episode_steps=30)
    again = ide3al.audit("raw/steps-v0", states=agent)
    for part in ("observations", "actions", "rewards"):
        ours, theirs = getattr(data.raw, part), getattr(again.raw, part)
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    buffer = Buffer(env)
    assert again.fill(buffer) == len(buffer.rows) == len(data.raw)
    steps = data.raw.transitions
    for k, (seen, reached, action, reward, done, _) in enumerate(buffer.rows):
        np.testing.assert_array_equal(seen, steps["observations"][k])
        np.testing.assert_array_equal(reached, steps["next_observations"][k])
        assert reward == steps["rewards"][k]
        # real actions are scaled to [-1, 1] there
        scale = 2.0 if name == "Pendulum-v1" else 1.0
        np.testing.assert_allclose(scale * action, steps["actions"][k])
        assert done == (k + 1 in np.cumsum(data.raw.lengths))
    cut = [row for row in buffer.rows if row[5].get("TimeLimit.truncated")]
    assert len(cut) == data.truncations.sum()


def test_stable_baselines_learns_from_lunar_lander(tmp_path, monkeypatch):
    reason = "not among the test packages: install stable-baselines3 and gymnasium[box2d]"
    pytest.importorskip("stable_baselines3", reason=reason)
    pytest.importorskip("Box2D", reason=reason)
    import runpy

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    monkeypatch.setattr(
        sys, "argv", ["lunar_lander.py", "--steps", "1500", "--gradient-steps", "20"]
    )
    filled, moved = runpy.run_path(str(EXAMPLES / "lunar_lander.py"))["main"]()
    assert filled == 1500 and moved > 0
