"""Environments to collect data in, where they are kept, and what makes two data sets the same."""

import gymnasium
import numpy as np
import pytest

from ide3al.datasets.card import card_text

LAKE = np.full((16, 4), 0.25)
ARRAYS = ("observations", "actions", "rewards", "next_observations", "terminations", "truncations")


def lake(**options):
    return gymnasium.make("FrozenLake-v1", **options)


def lakes(mode="sync", n=4, **options):
    return gymnasium.make_vec("FrozenLake-v1", num_envs=n, vectorization_mode=mode, **options)


def same(first, second):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)
    assert card_text(first.card) == card_text(second.card)


@pytest.fixture(autouse=True)
def minari_here(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))


class Screens(gymnasium.Env):
    """A corridor seen as a picture with a caption: states are found as they are met."""

    observation_space = gymnasium.spaces.Dict(
        {
            "screen": gymnasium.spaces.Box(0, 255, (2, 2), np.uint8),
            "step": gymnasium.spaces.Discrete(2),
        }
    )
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.taken = 0
        return self._seen(), {}

    def step(self, action):
        self.place = min(max(self.place + (1 if action else -1), 0), 5)
        self.taken += 1
        return self._seen(), float(self.place), self.place == 5, self.taken >= 20, {}

    def _seen(self):
        return {"screen": np.full((2, 2), self.place, np.uint8), "step": np.int64(self.place % 2)}
