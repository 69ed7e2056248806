"""Objectives agree with CVXPY, which solves the problems stated anew from their definitions; what
takes longer (Taxi with a doubly stochastic target) is compared by the same script."""

import importlib.util
from pathlib import Path

import pytest

import ide3al

pytest.importorskip("cvxpy")
spec = importlib.util.spec_from_file_location(
    "cvxpy_solve", Path(__file__).parents[2] / "benches" / "peers" / "cvxpy_solve.py"
)
peer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(peer)

FORMULATIONS = ["frobenius", "infinity", "column-sum", "dual", "state-entropy"]


def difference(mdp, formulation):
    xi, zeta = peer.parameters(mdp)
    takes_zeta = formulation in ("frobenius", "infinity")
    ours = ide3al.solve(mdp, formulation, xi=xi, zeta=zeta if takes_zeta else None)
    assert ours.status == "optimal"
    return abs(ours.objective - peer.reference(mdp, formulation, xi, zeta))


TOYS = [
    (name, formulation)
    for name in ("FrozenLake-v1", "CliffWalking-v1", "Taxi-v4")
    for formulation in FORMULATIONS
    # 250,000 variables, minutes: benches/peers/cvxpy_solve.py compares these two
    if name != "Taxi-v4" or formulation not in ("frobenius", "infinity")
]


@pytest.mark.parametrize(("name", "formulation"), TOYS)
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # by its own, tightened measure
def test_toys(name, formulation):
    assert difference(peer.toy(name), formulation) < 1e-6


@pytest.mark.parametrize("seed", range(20))
def test_random_sparse_models(seed):
    mdp = peer.random_model(seed)
    assert max(difference(mdp, formulation) for formulation in FORMULATIONS) < 1e-6


def test_the_linear_program_for_large_models_is_the_same_problem():
    mdp = peer.toy("CliffWalking-v1")
    xi, zeta = peer.parameters(mdp)
    ours = ide3al.solve(mdp, "infinity", xi=xi, zeta=zeta)
    assert abs(ours.objective - peer.infinity_by_linear_program(mdp, xi, zeta)) < 1e-6
