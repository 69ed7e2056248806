"""Steps of continuous environments, kept as they were: any policy, one environment or many, every
format."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import ide3al


class Seen(gymnasium.Wrapper):
    """Writes down what really happened."""

    def reset(self, **options):
        observation, info = super().reset(**options)
        self.taken = [*getattr(self, "taken", []), ([observation.copy()], [], [])]
        return observation, info

    def step(self, action):
        observation, reward, *rest = super().step(action)
        observations, actions, rewards = self.taken[-1]
        observations.append(observation.copy())
        actions.append(np.array(action))
        rewards.append(reward)
        return observation, reward, *rest


def pole():
    return gymnasium.make("CartPole-v1")


def many(name):
    return gymnasium.make_vec(name, num_envs=3, vectorization_mode="sync")


@pytest.fixture(scope="module")
def fitted():
    return ide3al.IDE3AL().fit(pole(), 1_500)


class Model:
    """A model of Stable-Baselines3, from outside."""

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        return np.array(int(observation[2] > 0)), None


POLICIES = {
    "fitted": lambda agent: {"policy": agent},
    "not fitted": lambda agent: {"policy": ide3al.IDE3AL()},
    "function": lambda agent: {"policy": lambda seen: int(seen[2] > 0)},
    "model": lambda agent: {"policy": Model()},
    "random": lambda agent: {"policy": "random"},
    "table": lambda agent: {"policy": np.full(agent.policy.shape, 0.5), "states": agent},
    "function in cells": lambda agent: {"policy": lambda seen: 1, "states": agent},
    "learning": lambda agent: {"policy": ide3al.IDE3AL(seed=1), "learn": True},
}


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("name", POLICIES)
def test_any_policy_and_every_format(name, vector, fitted, tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    env = many("CartPole-v1") if vector else pole()
    data = ide3al.collect(env, total_timesteps=300, seed=2, **POLICIES[name](fitted))
    raw = data.raw
    assert len(data) == 300 == len(raw.durations) and raw.observations.dtype == np.float32
    assert raw.durations.sum() == len(raw) == raw.lengths.sum()
    for suffix in ("npz", "parquet"):
        data.save(tmp_path / f"data.{suffix}")
        again = ide3al.audit(tmp_path / f"data.{suffix}")
        assert again.keys == data.keys
        np.testing.assert_array_equal(again.observations, data.observations)
        for part in ("observations", "actions", "rewards", "lengths", "durations"):
            ours, theirs = getattr(raw, part), getattr(again.raw, part)
            np.testing.assert_array_equal(theirs, ours)
            assert theirs.dtype == ours.dtype
    dataset = data.to_minari("pole/explored-v0", env)
    for stored, episode in zip(dataset.iterate_episodes(), raw.episodes(), strict=True):
        np.testing.assert_array_equal(stored.observations, episode.observations)
        np.testing.assert_array_equal(stored.actions, episode.actions)
        np.testing.assert_array_equal(stored.rewards, episode.rewards)


def test_what_is_kept_is_what_happened():
    env = Seen(gymnasium.make("Pendulum-v1"))
    agent = ide3al.IDE3AL().fit(env, 800)
    env.taken = []
    data = ide3al.collect(env, agent, 150)
    assert agent.repeat > 1 and data.raw.durations.max() == agent.repeat
    assert len(env.taken) == len(data.raw.lengths)
    for (observations, actions, rewards), kept in zip(env.taken, data.raw.episodes(), strict=True):
        n = len(kept.rewards)
        np.testing.assert_array_equal(kept.observations, observations[: n + 1])
        np.testing.assert_array_equal(kept.actions, actions[:n])
        np.testing.assert_array_equal(kept.rewards, rewards[:n])
    sums = np.add.reduceat(data.raw.rewards, np.cumsum([0, *data.raw.durations[:-1]]))
    np.testing.assert_allclose(data.rewards, sums)
    steps = data.raw.transitions
    assert all(len(part) == len(data.raw) for part in steps.values())


class Parts(gymnasium.Env):
    """Observations in parts, rewards of two numbers."""

    observation_space = spaces.Dict(
        x=spaces.Box(-9, 9, (2,), np.float32), side=spaces.Tuple([spaces.Discrete(2)])
    )
    action_space = spaces.Box(-1, 1, (2,), np.float32)
    reward_space = spaces.Box(-1, 1, (2,), np.float32)

    def _seen(self):
        return {"x": self.x.copy(), "side": (int(self.x[0] > 0),)}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.taken = self.np_random.normal(size=2).astype(np.float32), 0
        return self._seen(), {}

    def step(self, action):
        self.x = np.clip(self.x + action, -9, 9).astype(np.float32)
        self.taken += 1
        return self._seen(), self.x / 9, False, self.taken >= 20, {}


def test_parts_and_vectors_of_rewards(tmp_path):
    agent = ide3al.IDE3AL().fit(Parts(), 600)
    data = ide3al.collect(Parts(), agent, 100)
    assert data.rewards.shape == (100, 2) and len(data.card["episodes"]["mean_return"]) == 2
    for suffix in ("npz", "parquet"):
        data.save(tmp_path / f"data.{suffix}")
        again = ide3al.audit(tmp_path / f"data.{suffix}")
        np.testing.assert_array_equal(again.rewards, data.rewards)
        np.testing.assert_array_equal(again.raw.rewards, data.raw.rewards)
        np.testing.assert_array_equal(again.raw.observations["x"], data.raw.observations["x"])
        np.testing.assert_array_equal(
            again.raw.observations["side"][0], data.raw.observations["side"][0]
        )
    with pytest.raises(ide3al.Error, match="rewards have 2 numbers each"):
        data.to_minari("parts/explored-v0")
    with pytest.raises(ide3al.Error, match="LinearReward"):
        ide3al.collect(Parts(), agent, 10, dataset_id="parts/explored-v0")


class Scalar(Parts):
    """The same with one number for a reward, which is all that Gymnasium's vectors take."""

    def step(self, action):
        seen, reward, *rest = super().step(action)
        return seen, float(reward[0]), *rest


def test_many_environments_in_parts():
    vector = gymnasium.vector.SyncVectorEnv([Scalar, Scalar])
    assert ide3al.IDE3AL().fit(vector, 600).num_timesteps == 600


@pytest.mark.parametrize("mode", ["NEXT_STEP", "SAME_STEP"])
def test_many_continuous_environments_learn_alike(mode):
    modes = gymnasium.vector.AutoresetMode

    def make():
        return gymnasium.vector.SyncVectorEnv([pole] * 3, autoreset_mode=modes[mode])

    first, second = (ide3al.IDE3AL(seed=5).fit(make(), 1_200) for _ in range(2))
    assert first.num_timesteps == 1_200
    np.testing.assert_array_equal(first.visits, second.visits)
    observations, _ = make().reset(seed=1)
    actions = first.predict(observations)
    assert actions.shape == (3,) and set(actions.tolist()) <= {0, 1}
    # episodes of every environment were counted, and none was cut where another began
    history = first.partition.history
    moved = np.abs(np.diff(history.vectors, axis=0)).max(axis=1)[history.actions[:-1] >= 0]
    assert moved.max() < 5
    first.fit(pole(), 300)
    assert first.num_timesteps == 1_500


class Noise(gymnasium.Env):
    """Shows pictures that no compression keeps."""

    observation_space = spaces.Box(0, 255, (16, 16, 3), np.uint8)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.taken = 0
        return self.observation_space.sample(), {}

    def step(self, action):
        self.taken += 1
        return self.observation_space.sample(), 0.0, False, self.taken >= 9, {}


def test_pictures_come_back_from_minari_as_they_were(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    data = ide3al.collect(Noise(), "random", 30, dataset_id="pictures/noise-v0")
    assert (tmp_path / "pictures" / "namespace_metadata.json").exists()
    for ours, theirs in zip(data.episodes(), data.dataset.iterate_episodes(), strict=True):
        seen = np.stack([data.states[s] for s in ours.states])
        np.testing.assert_array_equal(theirs.observations, seen)
