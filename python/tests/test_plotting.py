"""Pictures show the numbers they were given."""

import subprocess
import sys

import gymnasium
import matplotlib
import numpy as np
import pytest

import ide3al

matplotlib.use("Agg")


def test_visitation_on_maps(tmp_path):
    rooms = ide3al.MDP.domain("four-rooms")
    stationary = ide3al.analyze(rooms).stationary
    ax = ide3al.plot_visitation(rooms, stationary)
    shown = ax.images[0].get_array()
    walls = np.ma.getmaskarray(np.ma.masked_invalid(shown))
    assert (~walls).sum() == rooms.n_states
    # walls all around
    assert walls[[0, -1]].all() and walls[:, [0, -1]].all()
    for (row, column), share in zip(rooms.layout, stationary, strict=True):
        assert shown[row, column] == pytest.approx(share)
    ax.figure.savefig(tmp_path / "rooms.png")
    assert (tmp_path / "rooms.png").stat().st_size > 2000


def test_visitation_of_frozen_lake_and_chains():
    lake = ide3al.MDP.from_gymnasium(gymnasium.make("FrozenLake-v1"))
    counts = np.arange(64).reshape(16, 4)
    shown = ide3al.plot_visitation(lake, counts, shape=(4, 4)).images[0].get_array()
    np.testing.assert_allclose(shown, (counts.sum(axis=1) / counts.sum()).reshape(4, 4))
    chain = ide3al.MDP.domain("double-chain")
    bars = ide3al.plot_visitation(chain, np.ones(20)).patches
    assert [bar.get_height() for bar in bars] == [0.05] * 20
    with pytest.raises(ide3al.Error, match="9 cells for 16 states"):
        ide3al.plot_visitation(lake, counts, shape=(3, 3))
    with pytest.raises(ide3al.Error, match="expected 16 numbers"):
        ide3al.plot_visitation(lake, [1, 2])
    with pytest.raises(ide3al.Error, match="not all zero"):
        ide3al.plot_visitation(lake, np.zeros(16))


def test_policy():
    chain = ide3al.MDP.domain("double-chain")
    solution = ide3al.solve(chain)
    ax = ide3al.plot_policy(chain, solution.policy)
    np.testing.assert_allclose(ax.images[0].get_array(), solution.policy.T)
    assert [label.get_text() for label in ax.get_yticklabels()] == chain.action_names


def test_curves(tmp_path):
    algorithms = ["ideal", "ideal:dual", "max-ent", "random"]
    result = ide3al.experiment("double-chain", algorithms, runs=4, iterations=30)
    ax = ide3al.plot_curves(result)
    assert [line.get_label() for line in ax.lines] == algorithms
    curve = result.summary["algorithms"]["max-ent"]["curve"]
    line, band = ax.lines[2], ax.collections[2]
    np.testing.assert_array_equal(line.get_xdata(), [p["samples"] for p in curve])
    np.testing.assert_array_equal(
        line.get_ydata(), [p["entropy_normalized"]["mean"] for p in curve]
    )
    corners = band.get_paths()[0].vertices[:, 1]
    highest = max(p["entropy_normalized"]["high"] for p in curve)
    assert corners.max() == pytest.approx(highest)
    # every algorithm its own colour, dash and marker
    assert len({line.get_color() for line in ax.lines}) == 4
    assert ax.lines[0].get_color() == "#0072b2"
    assert len({line.get_marker() for line in ax.lines}) == 4
    assert ax.get_xlabel() == "samples" and "share of the largest" in ax.get_ylabel()
    assert "4 runs, 95 % interval" in ax.get_title()
    ax.figure.savefig(tmp_path / "curves.png")
    error = ide3al.plot_curves(result, "model_error")
    assert "model error" in error.get_ylabel()
    with pytest.raises(ide3al.Error, match="known are entropy"):
        ide3al.plot_curves(result, "beauty")


def test_nothing_optional_is_imported_until_asked_for():
    code = "import ide3al, sys; print([m for m in ('matplotlib', 'gymnasium', 'scipy', 'pandas', 'polars', 'ray') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_solutions_have_visits_and_what_cannot_be_drawn_is_named():
    solution = ide3al.solve(ide3al.MDP.domain("four-rooms"), xi=0.05)
    shown = ide3al.plot_visitation(solution).images[0].get_array()
    assert np.nansum(shown) == pytest.approx(1)
    for draw in (ide3al.plot_policy, ide3al.plot_visitation):
        with pytest.raises(ide3al.Error, match="found ndarray"):
            draw(solution.policy)
    with pytest.raises(ide3al.Error, match=r"\(rows, columns\) is needed"):
        ide3al.plot_policy(solution, shape="a")
    with pytest.raises(ide3al.Error, match="what ide3al.experiment returns"):
        ide3al.plot_curves(3)
