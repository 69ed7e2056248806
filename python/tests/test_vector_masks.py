"""Many environments at once never take an action that one of them masks."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import ide3al


class Masked(gymnasium.Env):
    """A ring in which one action is forbidden in each state, and raises."""

    action_space = spaces.Discrete(3)

    def __init__(self, box):
        self.box = box
        self.observation_space = (
            spaces.Box(-1.0, 1.0, (2,), np.float32) if box else spaces.Discrete(6)
        )

    def mask(self):
        return np.arange(3) != self.at % 3

    def told(self):
        seen = np.array([self.at / 6, 0], np.float32) if self.box else self.at
        return seen, {"action_mask": self.mask().astype(np.int8)}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.taken = int(self.np_random.integers(6)), 0
        return self.told()

    def step(self, action):
        if not self.mask()[action]:
            raise RuntimeError(f"{action} is forbidden in {self.at}")
        self.at, self.taken = (self.at + (1, 5, 3)[action]) % 6, self.taken + 1
        seen, info = self.told()
        return seen, 0.0, self.taken == 9, False, info


class Asked(Masked):
    """Says which actions are allowed when it is asked."""

    def told(self):
        return super().told()[0], {}

    def action_masks(self):
        return self.mask()


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("box", [False, True])
@pytest.mark.parametrize("kind", [Masked, Asked])
def test_no_masked_action_is_taken(kind, box, mode):
    def made():
        return SyncVectorEnv([lambda: kind(box)] * 3, autoreset_mode=mode)

    agent = ide3al.IDE3AL(seed=1).fit(made(), 900)
    for policy in (agent, "random"):
        assert len(ide3al.collect(made(), policy, 200)) == 200
    with pytest.raises((ide3al.Error, RuntimeError), match="not allowed here"):
        ide3al.collect(made(), lambda observation: 0, 200)


@pytest.mark.parametrize("box", [False, True])
def test_masks_are_asked_for_in_other_processes_and_through_wrappers(box):
    def made():
        return [lambda: Asked(box)] * 2

    for env in (AsyncVectorEnv(made()), RecordEpisodeStatistics(SyncVectorEnv(made()))):
        agent = ide3al.IDE3AL(seed=1).fit(env, 300)
        assert len(ide3al.collect(env, agent, 60)) == 60
        env.close()
    # environments without masks are not asked for any
    calm = AsyncVectorEnv([lambda: gymnasium.make("FrozenLake-v1")] * 2)
    assert ide3al.Random().fit(calm, 60).num_timesteps == 60
    calm.close()
