"""Tries an installed package, wheel or source distribution, from outside the repository: ``python
smoke.py``.

Needs nothing but the package; with Gymnasium it also learns in an environment. Ends with an error
where anything is not as it should be."""

import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from importlib.metadata import files, version
from importlib.util import find_spec
from pathlib import Path

import ide3al

TIMED = "import time; begun = time.perf_counter(); import ide3al; print(1000 * (time.perf_counter() - begun))"


def solve() -> str:
    mdp = ide3al.MDP.domain("double-chain")
    solution = ide3al.solve(mdp, "state-entropy", xi=0.05)
    assert solution.status == "optimal" and 0 <= solution.gap < 1e-6, solution
    assert abs(ide3al.analyze(mdp, solution.policy).state_entropy - solution.objective) < 1e-6
    try:
        ide3al.solve(mdp, xi=0.7)
    except ide3al.Error as refused:
        assert "xi" in str(refused)
    else:
        raise AssertionError("xi = 0.7 with two actions was taken")
    return f"{solution.objective:.4f} nats"


def formats() -> str:
    import numpy as np

    there = np.zeros((3, 2, 3))
    there[:, 0, 0] = 1
    there[[0, 1, 2], 1, [1, 2, 2]] = 1
    ide3al.MDP(there, start=0).save("model.npz")
    assert (ide3al.MDP.load("model.npz").dense() == there).all()
    return "a model survives its file"


def studio() -> str:
    with ide3al.studio(ide3al.MDP.domain("four-rooms"), open_browser=False) as shown:
        page = urllib.request.urlopen(shown.url, timeout=10).read()
    assert b"<script" in page
    return f"{len(page)} bytes of page"


def learn() -> str:
    if find_spec("gymnasium") is None:
        return "not tried, there is no Gymnasium"
    import gymnasium

    env = gymnasium.make("FrozenLake-v1", map_name="4x4")
    agent = ide3al.IDE3AL(seed=0).fit(env, total_timesteps=2_000)
    agent.save("agent.zip")
    again = ide3al.IDE3AL.load("agent.zip", env)
    assert (again.policy == agent.policy).all()
    assert env.action_space.contains(again.predict(env.reset(seed=0)[0]))
    data = ide3al.collect(env, agent, until=ide3al.Coverage(each_pair=3))
    assert data.card["promise"]["holds"]
    data.save("data.npz")
    data.save("card.html")
    command = [sys.executable, "-m", "ide3al", "audit", "data.npz", "--each-pair", "3"]
    audited = subprocess.run(command, capture_output=True, text=True)
    assert audited.returncode == 0, audited.stderr
    return f"{data.card['promise']['steps']} steps hold the promise"


def main() -> None:
    home = Path(ide3al.__file__).parent
    assert not (home.parent / "pyproject.toml").exists(), (
        f"{home} is the repository, not an installed package"
    )
    assert ide3al.__version__ == version("ide3al")
    assert {"LICENSE-MIT", "LICENSE-APACHE"} <= {file.name for file in files("ide3al") or []}
    fresh = subprocess.run(
        [sys.executable, "-c", TIMED], capture_output=True, text=True, check=True
    )
    print(f"ide3al {ide3al.__version__} in {home}, imported in {float(fresh.stdout):.0f} ms")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.chdir(folder)
        for trial in (solve, formats, studio, learn):
            begun = time.perf_counter()
            print(f"{trial.__name__}: {trial()} ({time.perf_counter() - begun:.2f} s)")
        os.chdir(home)


if __name__ == "__main__":
    main()
