"""The examples run."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name, *arguments, monkeypatch):
    """What the example's main returns."""
    monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
    return runpy.run_path(str(EXAMPLES / name))["main"]()


def test_frozen_lake_in_ten_lines(capsys):
    path = EXAMPLES / "frozen_lake.py"
    runpy.run_path(str(path))
    out = capsys.readouterr().out
    assert "optimal" in out and "state-action pairs in 20000 steps" in out
    lines = [line for line in path.read_text().splitlines() if line and line[0] != '"']
    assert len(lines) <= 10


def test_taxi(capsys, tmp_path, monkeypatch):
    pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "data"))
    picture = tmp_path / "taxi.png"
    settings = ["--runs", 2, "--steps", 1500, "--batch", 250, "--goals", 4, "--marks", 3]
    figures = run("taxi.py", *settings, "--jobs", 1, "--out", picture, monkeypatch=monkeypatch)
    assert "IDE3AL more than random by" in capsys.readouterr().out
    for values in figures.values():
        assert values.shape == (2, 3, 2)
        assert (np.diff(values[:, :, 0], axis=1) > 0).all(), "more steps cover more"
        assert ((values >= 0) & (values <= 1 + 1e-9)).all()
    assert picture.stat().st_size > 10_000
    import minari

    kept = minari.load_dataset("ide3al/taxi-ide3al-1-v0")
    assert kept.total_steps == 1500


def test_ray_sweep(capsys, tmp_path, monkeypatch):
    ray = pytest.importorskip("ray")
    settings = ["--domains", "single-chain", "--xi", 0.05, 0.3, "--runs", 2, "--iterations", 20]
    where = ["--out", tmp_path / "runs", "--picture", tmp_path / "sweep.png"]
    # a small object store: tests need none of the third of the memory that Ray would take
    # a cluster of its own, whatever other tests have running beside it
    ray.init(
        "local",
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=10**8,
    )
    try:
        best = run("ray_sweep.py", *settings, *where, monkeypatch=monkeypatch)
        again = run("ray_sweep.py", *settings, *where, monkeypatch=monkeypatch)
    finally:
        ray.shutdown()
    assert best == again and best["single-chain", 0.05] > best["single-chain", 0.3]
    assert "best on single-chain: xi 0.05" in capsys.readouterr().out
    assert (tmp_path / "runs" / "single-chain-0.3" / "runs.csv").exists()


def test_mountain_car(capsys, tmp_path, monkeypatch):
    picture = tmp_path / "car.png"
    entropies = run("mountain_car.py", "--steps", 4000, "--out", picture, monkeypatch=monkeypatch)
    assert "elsewhere than predicted" in capsys.readouterr().out
    assert entropies["IDE3AL"] > entropies["Random"]
    assert picture.stat().st_size > 10_000


def test_data_sets(capsys, tmp_path, monkeypatch):
    pytest.importorskip("minigrid")
    picture = tmp_path / "sets.png"
    rows = run(
        "dataset.py",
        "--samples",
        1,
        "--runs",
        1,
        "--steps",
        1500,
        "--picture",
        picture,
        monkeypatch=monkeypatch,
    )
    promised, random, completed = (rows[name][0] for name in ("promised", "random", "completed"))
    out = capsys.readouterr().out
    assert "times least" in out and "completed" in out
    # steps, states met, pairs short: coverage in as many steps, and more of it after completing
    assert promised[0] == random[0] == 1500 and completed[0] == 2250
    assert promised[1] > 2 * random[1] and promised[2] < random[2] and completed[2] < random[2]
    assert all(0 <= share <= 100 for row in (promised, random, completed) for share in row[4:])
    assert promised[5] > random[5], "more tasks are solved from data that cover more"
    assert picture.stat().st_size > 10_000
