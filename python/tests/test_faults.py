"""What goes wrong outside the package: callbacks that raise, Ctrl-C from a terminal, full disks."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from program import PROGRAM

import ide3al
from ide3al.envs import ModelEnv


class Enough(Exception):
    """Known to nobody but these tests."""


def names(folder):
    return sorted(p.name for p in Path(folder).iterdir())


def python(script, **options):
    """The script in an interpreter of its own, where Ctrl-C raises also in the background."""
    head = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    command = [sys.executable, "-c", head + textwrap.dedent(script)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def test_a_callback_that_raises_raises_its_own_exception_and_keeps_what_was_saved(tmp_path):
    agent = ide3al.IDE3AL(batch_size=10, seed=3)
    saved = tmp_path / "agent.zip"

    def callback(agent):
        agent.save(saved)
        if agent.num_timesteps == 50:
            raise Enough("fifty")

    with pytest.raises(Enough, match="fifty"):
        agent.fit(ModelEnv("double-chain"), total_timesteps=1000, callback=callback)
    assert agent.num_timesteps == 50
    assert names(tmp_path) == ["agent.zip"]
    loaded = ide3al.IDE3AL.load(saved, env=ModelEnv("double-chain"))
    np.testing.assert_array_equal(loaded.visits, agent.visits)
    np.testing.assert_array_equal(loaded.policy, agent.policy)
    # and both go on
    agent.fit(ModelEnv("double-chain"), total_timesteps=20)
    loaded.fit(ModelEnv("double-chain"), total_timesteps=20)
    assert agent.num_timesteps == loaded.num_timesteps == 70


@pytest.mark.parametrize("method", ["reset", "step"])
def test_an_environment_that_raises_raises_its_own_exception(method, tmp_path):
    class Broken(ModelEnv):
        calls = 0

    def broken(self, *given, **named):
        self.calls += 1
        if self.calls == (2 if method == "reset" else 33):
            raise Enough(method)
        return getattr(ModelEnv, method)(self, *given, **named)

    setattr(Broken, method, broken)
    agent = ide3al.MaxEnt(batch_size=10)
    env = Broken("double-chain")
    agent.fit(env, total_timesteps=20)
    agent.save(tmp_path / "agent.zip")
    before = (tmp_path / "agent.zip").read_bytes()
    with pytest.raises(Enough, match=method):
        agent.fit(env, total_timesteps=100)
    assert (tmp_path / "agent.zip").read_bytes() == before
    assert names(tmp_path) == ["agent.zip"]
    # what was seen before counts, and it goes on
    seen = agent.num_timesteps
    assert seen == (20 if method == "reset" else 32)
    assert agent.fit(env, total_timesteps=10).num_timesteps == seen + 10


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_from_the_terminal_in_the_middle_of_a_solve(tmp_path):
    child = python(
        """
        import sys, ide3al
        mdp = ide3al.MDP.domain("garnet", states=3000, actions=4, branching=8)
        print("begin", flush=True)
        solution = ide3al.solve(mdp, "infinity", xi=0.05, tolerance=0.0, max_iterations=10**9)
        solution.save_policy("policy.json")
        """,
        cwd=tmp_path,
    )
    assert child.stdout.readline() == "begin\n"
    time.sleep(0.7)
    child.send_signal(signal.SIGINT)
    _, error = child.communicate(timeout=60)
    assert child.returncode == -signal.SIGINT and "KeyboardInterrupt" in error, error
    assert names(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_from_the_terminal_in_the_middle_of_an_experiment(tmp_path):
    given = {"runs": 2, "iterations": 8_000, "batch_size": 10, "seed": 4}
    child = python(
        f"""
        import ide3al
        print("begin", flush=True)
        ide3al.experiment("double-chain", "ideal", out="runs", **{given})
        """,
        cwd=tmp_path,
    )
    assert child.stdout.readline() == "begin\n"
    begin = time.perf_counter()
    while not (tmp_path / "runs" / "experiment.json").exists() and time.perf_counter() - begin < 20:
        time.sleep(0.01)
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    _, error = child.communicate(timeout=60)
    assert child.returncode == -signal.SIGINT and "KeyboardInterrupt" in error, error
    assert "checkpoint.bin" in names(tmp_path / "runs")
    assert not [name for name in names(tmp_path / "runs") if name.endswith(".tmp")]
    resumed = ide3al.experiment(
        "double-chain", "ideal", out=tmp_path / "runs", resume=True, **given
    )
    assert resumed.runs_csv() == ide3al.experiment("double-chain", "ideal", **given).runs_csv()


@pytest.mark.skipif(os.name != "posix", reason="limits")
def test_a_write_that_fails_leaves_the_old_file_and_names_the_new_one(tmp_path):
    """Files may not grow beyond 1 KB: as on a full disk, the write fails in the middle."""
    child = python(
        """
        import resource, pathlib, ide3al
        from ide3al.envs import ModelEnv
        mdp = ide3al.MDP.domain("garnet", states=300)
        solution = ide3al.solve(mdp, "dual")
        agent = ide3al.Random(batch_size=500).fit(ModelEnv(mdp), total_timesteps=20_000)
        result = ide3al.experiment("double-chain", "random", runs=2, iterations=50)
        writes = {
            "model.npz": mdp.save,
            "model.umb": mdp.save,
            "policy.json": solution.save_policy,
            "agent.zip": agent.save,
        }
        for name in writes:
            pathlib.Path(name).write_text("precious")
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
        for name, write in [*writes.items(), ("runs", result.save)]:
            try:
                write(name)
            except (ide3al.Error, OSError) as error:
                print(name in str(error) and "File too large" in str(error), error)
            else:
                print("written", name)
        """,
        cwd=tmp_path,
    )
    out, error = child.communicate(timeout=120)
    assert child.returncode == 0, error
    assert [line.split()[0] for line in out.splitlines()] == ["True"] * 5, out
    for name in ("model.npz", "model.umb", "policy.json", "agent.zip"):
        assert (tmp_path / name).read_text() == "precious"
    assert not [p for p in tmp_path.rglob("*") if p.name.endswith(".tmp")]
    assert not (tmp_path / "runs" / "runs.csv").exists()


@pytest.mark.skipif(not PROGRAM.exists(), reason="the program is not built: make compiled")
@pytest.mark.parametrize(
    "formulation", ["frobenius", "infinity", "column-sum", "dual", "state-entropy"]
)
@pytest.mark.parametrize("ending", ["json", "npy"])
def test_policies_are_those_of_the_command_line(formulation, ending, tmp_path):
    theirs, ours = tmp_path / f"program.{ending}", tmp_path / f"python.{ending}"
    command = [PROGRAM, "solve", "river-swim", "--formulation", formulation, "--xi", "0.05"]
    subprocess.run([*command, "--out", theirs], check=True, capture_output=True)
    ide3al.solve(ide3al.MDP.domain("river-swim"), formulation, xi=0.05).save_policy(ours)
    assert ours.read_bytes() == theirs.read_bytes()


@pytest.mark.skipif(not PROGRAM.exists(), reason="the program is not built: make compiled")
@pytest.mark.parametrize("ending", ["json", "npz", "umb"])
def test_models_are_those_of_the_command_line(ending, tmp_path):
    theirs, ours = tmp_path / f"program.{ending}", tmp_path / f"python.{ending}"
    command = [PROGRAM, "convert", "garnet:states=50,seed=7", theirs]
    subprocess.run(command, check=True, capture_output=True)
    ide3al.MDP.domain("garnet", states=50, seed=7).save(ours)
    assert ours.read_bytes() == theirs.read_bytes()
