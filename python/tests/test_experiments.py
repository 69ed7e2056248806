"""The runs behind ``ide3al learn``, on threads and on a Ray cluster."""

import _thread
import csv
import io
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from program import PROGRAM

import ide3al

SMALL = {"runs": 3, "iterations": 8, "batch_size": 20, "seed": 5}


@pytest.fixture(scope="module")
def result():
    return ide3al.experiment("single-chain", **SMALL, goal=True)


def test_figures_do_not_depend_on_threads_and_follow_the_seed(result):
    alone = ide3al.experiment("single-chain", **SMALL, goal=True, workers=1)
    assert alone.runs_csv() == result.runs_csv()
    assert alone.goal_csv() == result.goal_csv() is not None
    other = ide3al.experiment("single-chain", **{**SMALL, "seed": 6})
    assert other.runs_csv() != result.runs_csv()
    assert other.goal_csv() is None


def test_files_are_those_of_the_command_line(result, tmp_path):
    if not PROGRAM.exists():
        pytest.skip("the program is not built: make compiled")
    command = [
        PROGRAM,
        "learn",
        "single-chain",
        "--runs",
        "3",
        "--iterations",
        "8",
        "--batch",
        "20",
    ]
    command += ["--seed", "5", "--goal", "--out", tmp_path / "program"]
    subprocess.run(command, check=True, capture_output=True)
    result.save(tmp_path / "python")
    names = sorted(p.relative_to(tmp_path / "python") for p in (tmp_path / "python").rglob("*.*"))
    assert len(names) == 4 + 5 * 3
    for name in names:
        if name.name != "summary.json":  # it holds the time spent
            ours, theirs = (tmp_path / "python" / name, tmp_path / "program" / name)
            assert ours.read_bytes() == theirs.read_bytes(), name


def test_frames_hold_what_the_file_holds(result):
    rows = list(csv.DictReader(io.StringIO(result.runs_csv())))
    frame = result.to_pandas()
    assert len(frame) == len(rows) == 5 * 3 * 9
    polars = result.to_polars()
    assert polars.shape == frame.shape and polars.columns == list(rows[0])
    for k, row in enumerate(rows):
        assert frame["algorithm"][k] == polars["algorithm"][k] == row["algorithm"]
        assert frame["samples"][k] == polars["samples"][k] == int(row["samples"])
        if row["spectral_gap"]:
            assert frame["spectral_gap"][k] == float(row["spectral_gap"])
        assert (polars["spectral_gap"][k] is None) == (row["spectral_gap"] == "")


def test_scores_have_the_shape_of_rliable(result):
    final, curves = result.scores(), result.scores("entropy", curve=True)
    assert (
        list(final) == result.algorithms == ["ideal", "paper", "max-ent", "count-based", "random"]
    )
    frame = result.to_pandas()
    for label in final:
        assert final[label].shape == (3, 1) and curves[label].shape == (3, 1, 9)
        for run in range(3):
            mine = frame[(frame.algorithm == label) & (frame.run == run)]
            assert final[label][run, 0] == mine.entropy_normalized.iloc[-1]
            np.testing.assert_array_equal(curves[label][run, 0], mine.entropy)
    swim = ide3al.experiment("river-swim", **SMALL)
    both = ide3al.scores([result, swim])
    assert both["ideal"].shape == (3, 2)
    np.testing.assert_array_equal(both["ideal"][:, 1], swim.scores()["ideal"][:, 0])
    mean = result.summary["algorithms"]["ideal"]["final"]["entropy_normalized"]["mean"]
    assert final["ideal"].mean() == pytest.approx(mean, abs=1e-12)


def test_runs_that_converge_keep_their_last_figure():
    given = {"runs": 2, "iterations": 200, "batch_size": 100, "converge": 0.3}
    result = ide3al.experiment("single-chain", ["ideal", "random"], **given)
    frame = result.to_pandas()
    assert frame[frame.algorithm == "random"].iteration.max() < 200, "nothing has converged"
    curves = result.scores(curve=True)
    assert curves["random"].shape == (2, 1, 201)
    np.testing.assert_array_equal(curves["random"][:, 0, -1], result.scores()["random"][:, 0])


def test_policies_and_other_models(result):
    policy = result.policy("ideal", 2)
    assert policy.shape == (result.mdp.n_states, 2)
    np.testing.assert_allclose(policy.sum(axis=1), 1, atol=1e-12)
    uneven = np.zeros((3, 2, 3))
    uneven[0, 0, 1] = uneven[0, 1, 2] = uneven[1, 1, 0] = uneven[2, 0, 0] = 1.0
    own = ide3al.experiment(ide3al.MDP(uneven), "ideal", runs=1, iterations=2, batch_size=5)
    assert [row.size for row in own.policy("ideal")] == [2, 1, 1]
    assert "ideal" in repr(own) and own._repr_html_().startswith("<table>")
    with pytest.raises(ide3al.Error, match="this experiment has ideal"):
        own.policy("random")


def test_folders_are_resumed_and_protected(result, tmp_path):
    given = {**SMALL, "goal": True, "out": tmp_path / "runs"}
    ide3al.experiment("single-chain", **given)
    written = (tmp_path / "runs" / "runs.csv").read_text()
    assert written == result.runs_csv()
    with pytest.raises(ide3al.Error, match="holds an experiment already .*parameter 'resume'"):
        ide3al.experiment("single-chain", **given)
    again = ide3al.experiment("single-chain", **given, resume=True)
    assert again.runs_csv() == written and again.goal_csv() == result.goal_csv()
    np.testing.assert_array_equal(again.to_pandas().model_error, result.to_pandas().model_error)
    np.testing.assert_array_equal(again.policy("max-ent", 1), result.policy("max-ent", 1))
    assert again.scores()["ideal"].tolist() == result.scores()["ideal"].tolist()
    with pytest.raises(ide3al.Error, match="another experiment"):
        ide3al.experiment("single-chain", **{**given, "seed": 9}, resume=True)
    with pytest.raises(ide3al.Error, match="no experiment to resume here"):
        ide3al.experiment("single-chain", **{**given, "out": tmp_path / "none"}, resume=True)
    other = ide3al.experiment("single-chain", **{**given, "seed": 9}, overwrite=True)
    assert (tmp_path / "runs" / "runs.csv").read_text() == other.runs_csv() != written


def test_ctrl_c_keeps_what_is_done(tmp_path):
    given = {"runs": 2, "iterations": 8_000, "batch_size": 10, "out": tmp_path / "runs"}
    begin = time.perf_counter()
    threading.Timer(0.3, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        ide3al.experiment("double-chain", "ideal", **given)
    assert time.perf_counter() - begin < 20
    assert (tmp_path / "runs" / "checkpoint.bin").exists()
    resumed = ide3al.experiment("double-chain", "ideal", **given, resume=True)
    given.pop("out")
    assert resumed.runs_csv() == ide3al.experiment("double-chain", "ideal", **given).runs_csv()


def test_progress_is_shown(capsys):
    ide3al.experiment("double-chain", "ideal", runs=1, iterations=500, progress_bar=True)
    assert "% of 500 iterations" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"algorithms": "ideall"}, "did you mean 'ideal'"),
        ({"algorithms": []}, "name at least one"),
        ({"algorithms": ["random", "random"]}, "named twice"),
        ({"runs": 0}, "runs = 0"),
        ({"runs": -1}, "runs = -1: must be a whole number"),
        ({"iterations": 2.5}, "iterations = 2.5: must be a whole number"),
        ({"seed": True}, "seed = True"),
        ({"xi": 0.9}, "xi"),
        ({"formulation": "frob"}, "unknown formulation 'frob'"),
        ({"engine": "magic"}, "must be 'local' or 'ray'"),
        ({"workers": 0}, "workers = 0"),
        ({"retries": -1}, "retries = -1"),
        ({"resume": True, "overwrite": True}, "exclude each other"),
        ({"checkpoint_every": -1.0}, "checkpoint_every = -1"),
    ],
)
def test_nonsense_is_refused(arguments, message):
    with pytest.raises(ide3al.Error, match=message):
        ide3al.experiment("single-chain", **{"runs": 1, "iterations": 1, **arguments})


def test_other_nonsense_is_refused(result):
    with pytest.raises(ide3al.Error, match="expected an ide3al.MDP or the name of a domain"):
        ide3al.experiment(np.eye(2))
    with pytest.raises(ide3al.Error, match="known are entropy"):
        result.scores("beauty")
    with pytest.raises(ide3al.Error, match="at least one result"):
        ide3al.scores([])
    with pytest.raises(ide3al.Error, match="the same algorithms"):
        ide3al.scores([result, ide3al.experiment("single-chain", "random", **SMALL)])


@pytest.mark.parametrize(
    ("module", "extra", "call"),
    [
        ("pandas", "pandas", lambda r: r.to_pandas()),
        ("polars", "polars", lambda r: r.to_polars()),
        ("tensorboardX", "tensorboard", lambda r: r.to_tensorboard("nowhere")),
        ("ray", "ray", lambda r: ide3al.experiment("single-chain", engine="ray")),
    ],
)
def test_missing_packages_are_named(result, module, extra, call, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ide3al.Error, match=rf'{module} is not installed.*"ide3al\[{extra}\]"'):
        call(result)


def workers(nodes):
    """Process numbers of the cluster's workers that do a run right now."""
    raylets = {p.process.pid for n in nodes for p in n.all_processes.get("raylet", [])}
    found = []
    for entry in Path("/proc").iterdir():
        try:
            parent = int(entry.joinpath("stat").read_text().rsplit(")", 1)[1].split()[1])
            if parent in raylets and "_one_run" in entry.joinpath("cmdline").read_text():
                found.append(int(entry.name))
        except (OSError, ValueError, IndexError):
            continue
    return found


LONG = {"runs": 3, "iterations": 1500, "batch_size": 10, "seed": 2}


def test_ray_loses_nothing_when_a_worker_is_killed(cluster, tmp_path):
    nodes = [cluster.head_node, *cluster.worker_nodes]
    assert len(nodes) == 2
    killed = []

    def kill():
        for _ in range(600):
            at_work = workers(nodes)
            if at_work:
                time.sleep(0.3)  # in the middle of a run
                os.kill(at_work[0], signal.SIGKILL)
                killed.append(at_work[0])
                return
            time.sleep(0.05)

    killer = threading.Thread(target=kill)
    killer.start()
    on_ray = ide3al.experiment(
        "double-chain", ["ideal", "max-ent"], **LONG, engine="ray", out=tmp_path / "runs"
    )
    killer.join()
    assert killed, "no worker was at work"
    assert on_ray.complete
    on_threads = ide3al.experiment("double-chain", ["ideal", "max-ent"], **LONG)
    assert on_ray.runs_csv() == on_threads.runs_csv()
    assert (tmp_path / "runs" / "runs.csv").read_text() == on_threads.runs_csv()


def test_ray_keeps_partial_results_when_runs_fail_for_good(cluster, tmp_path, monkeypatch):
    import ide3al.experiments.ray

    def fails(mdp, name, given, algorithm, run, real=ide3al.experiments.ray._one_run):
        if run == 1:
            raise RuntimeError("the disk of this node is full")
        return real(mdp, name, given, algorithm, run)

    given = {"runs": 3, "iterations": 5, "out": tmp_path / "runs"}
    with monkeypatch.context() as patch:
        patch.setattr(ide3al.experiments.ray, "_one_run", fails)
        with pytest.raises(ide3al.ExperimentError, match="random, run 1: the disk") as caught:
            ide3al.experiment("double-chain", "random", **given, engine="ray")
    partial = caught.value.result
    assert partial.missing == [("random", 1)] and not partial.complete
    assert set(partial.to_pandas().run) == {0, 2}
    with pytest.raises(ide3al.Error, match="only 2 of 3 runs are done"):
        partial.runs_csv()
    with pytest.raises(ide3al.Error, match="1 runs on double-chain are not done"):
        partial.scores()
    assert "not done" in repr(partial)
    # on another engine
    resumed = ide3al.experiment("double-chain", "random", **given, resume=True)
    given.pop("out")
    assert resumed.runs_csv() == ide3al.experiment("double-chain", "random", **given).runs_csv()


def test_a_folder_is_entered_in_a_known_way_or_not_at_all(tmp_path):
    job = ide3al.experiment("single-chain", "random", runs=1, iterations=1)._experiment
    with pytest.raises(ide3al.Error, match="entry anew: new, resume or overwrite"):
        job.enter(tmp_path / "x", "anew")
    assert not (tmp_path / "x").exists()
