"""Collections that are interrupted: killed, or by environments that raise or hang."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import gymnasium
import numpy as np
import pytest
from lakes import ARRAYS, LAKE, lake, lakes, same

import ide3al
from ide3al.envs import ModelEnv

CHILD = """
    import sys, gymnasium, numpy as np, ide3al
    report = lambda now: print(now["episodes"], flush=True)
    ide3al.collect(gymnasium.make("FrozenLake-v1"), np.full((16, 4), 0.25), total_timesteps=20000, seed=7, out="kept", resume=True, progress_bar=report)
    print("whole", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_killed_at_random_moments_it_goes_on_with_everything_reported(tmp_path):
    rng = np.random.default_rng(0)
    saved = kills = 0
    while kills < int(os.environ.get("KILLS", 2)):
        child = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(CHILD)],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
        )
        first = int(child.stdout.readline())
        assert first == saved + 1 or saved == 0, "nothing saved is taken again, nothing is missing"
        time.sleep(float(rng.uniform(0, 0.04)))
        child.send_signal(signal.SIGKILL)
        lines = [first, *(int(line) for line in child.stdout.read().split() if line != "whole")]
        child.wait()
        assert lines == list(range(first, lines[-1] + 1))
        # what was reported is there; one more may have been saved before it could be reported
        store = (tmp_path / "kept" / "episodes.log").read_bytes()
        assert store.count(b'"kind": "episode"') in (lines[-1], lines[-1] + 1)
        saved, kills = store.count(b'"kind": "episode"'), kills + 1
        if saved != lines[-1]:
            log = tmp_path / "kept" / "episodes.log"
            log.write_bytes(store[: store.rindex(b'"kind": "episode"') - 13])
            saved = lines[-1]
    whole = ide3al.collect(lake(), LAKE, total_timesteps=20000, seed=7)
    same(
        ide3al.collect(
            lake(), LAKE, total_timesteps=20000, seed=7, out=tmp_path / "kept", resume=True
        ),
        whole,
    )
    assert not (tmp_path / "kept" / "episodes.log").exists()


def test_a_policy_that_depends_on_the_step_goes_on_as_well(tmp_path):
    policy = np.random.default_rng(0).dirichlet(np.ones(4), size=(9, 16))

    def stop(now):
        if now["episodes"] == 5:
            raise KeyboardInterrupt

    given = {"total_timesteps": 150, "seed": 1}
    with pytest.raises(KeyboardInterrupt):
        ide3al.collect(lake(), policy, **given, out=tmp_path / "a", progress_bar=stop)
    whole = ide3al.collect(lake(), policy, **given)
    same(ide3al.collect(lake(), policy, **given, out=tmp_path / "a", resume=True), whole)
    assert max(len(episode) for episode in whole.episodes()) == 9
    with pytest.raises(ide3al.Error, match="vector environments start over by themselves only"):
        ide3al.collect(lakes(), policy, **given)


class Trouble(ModelEnv):
    """Raises or hangs in its hundredth step."""

    calls = 0

    def __init__(self, what):
        super().__init__("double-chain")
        self.what = what

    def step(self, action):
        Trouble.calls += 1
        if Trouble.calls == 100:
            if self.what == "raise":
                raise RuntimeError("the motor stalled")
            time.sleep(1.0)
        return super().step(action)


@pytest.mark.parametrize("what", ["raise", "hang"])
def test_environments_that_raise_or_hang_lose_nothing(what, tmp_path):
    uniform = np.full((20, 2), 0.5)
    given = {"total_timesteps": 300, "episode_steps": 30, "seed": 4}
    expected = ide3al.collect(ModelEnv("double-chain"), uniform, **given)
    Trouble.calls = 0
    kind = RuntimeError if what == "raise" else ide3al.CollectionError
    with pytest.raises(kind) as caught:
        ide3al.collect(
            Trouble(what),
            uniform,
            **given,
            out=tmp_path / "x",
            step_time_limit=0.2 if what == "hang" else None,
        )
    said = str(caught.value) + "".join(getattr(caught.value, "__notes__", []))
    assert (
        "episode 3" in said and "3 episodes (90 steps) are saved" in said and "resume=True" in said
    )
    assert len(caught.value.data) == 90
    data = ide3al.collect(Trouble(what), uniform, **given, out=tmp_path / "x", resume=True)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(data, name), getattr(expected, name))


class Moody(ModelEnv):
    """Raises or hangs in the fortieth step of its life."""

    def __init__(self, what):
        super().__init__("double-chain")
        self.what, self.steps = what, 0

    def step(self, action):
        self.steps += 1
        if self.steps == 40 and self.what == "raise":
            raise RuntimeError("the motor stalled")
        if self.steps == 40 and self.what == "hang":
            time.sleep(2.0)
        return super().step(action)


def test_an_environment_that_was_given_up_on_is_left_alone():
    Trouble.calls = 0
    with pytest.raises(ide3al.CollectionError, match="step_time_limit"):
        ide3al.collect(
            Trouble("hang"), np.full((20, 2), 0.5), 300, episode_steps=200, step_time_limit=0.2
        )
    time.sleep(1.2)
    assert Trouble.calls == 100


@pytest.mark.parametrize("what", ["raise", "hang"])
def test_one_of_many_environments_that_raises_or_hangs_loses_no_episode(what, tmp_path):
    uniform = np.full((20, 2), 0.5)
    given = {"total_timesteps": 200, "episode_steps": 15, "seed": 4}
    moods = ["calm", what, "calm"]
    env = gymnasium.vector.AsyncVectorEnv([lambda mood=mood: Moody(mood) for mood in moods])
    try:
        with pytest.raises(ide3al.CollectionError if what == "hang" else Exception) as caught:
            ide3al.collect(
                env,
                uniform,
                **given,
                out=tmp_path / "x",
                step_time_limit=0.3 if what == "hang" else None,
            )
    finally:
        env.close(terminate=True)
    said = str(caught.value) + "".join(getattr(caught.value, "__notes__", []))
    assert "6 episodes (90 steps) are saved" in said and "resume=True" in said
    assert ("step_time_limit = 0.3 s" if what == "hang" else "the motor stalled") in said
    calm = gymnasium.vector.SyncVectorEnv([lambda: Moody("calm")] * 3)
    expected = ide3al.collect(calm, uniform, **given)
    assert len(caught.value.data) == 90
    np.testing.assert_array_equal(caught.value.data.observations, expected.observations[:90])
    if what == "hang":
        with pytest.raises(ide3al.Error, match="cannot be given up on"):
            ide3al.collect(calm, uniform, **given, step_time_limit=0.3)
