"""Reach: as much as possible seen soon."""

import math

import numpy as np
import pytest

import ide3al


def ring(n):
    P = np.zeros((n, 2, n))
    for s in range(n):
        P[s, 0, (s + 1) % n] = P[s, 1, (s - 1) % n] = 1
    return ide3al.MDP(P, start=0)


def test_the_objective_is_what_the_policy_sees():
    rng = np.random.default_rng(2)
    P = rng.dirichlet(np.full(12, 0.2), size=(12, 3))
    mdp = ide3al.MDP(P, start=3)
    start = np.eye(12)[3]
    solution = ide3al.solve(mdp, "reach", xi=0.02, within=30)
    M = np.einsum("sa,sat->st", solution.policy, P)
    G = np.linalg.inv(np.eye(12) - (1 - 1 / 30) * M)
    assert solution.objective == pytest.approx(((start @ G) / np.diag(G)).mean(), rel=1e-9)
    assert solution.policy.min() >= 0.02 - 1e-12
    assert solution.bound >= solution.objective
    assert solution.status == "local_optimum"
    share = solution.metrics["share_of_bound"]
    assert share == pytest.approx(solution.objective / solution.bound)
    again = ide3al.solve(mdp, "reach", xi=0.02, within=30, warm=solution)
    assert again.objective >= solution.objective * (1 - 1e-9)
    assert "share of the states seen" in repr(solution)


def test_mean_hitting_times_are_minimised():
    solution = ide3al.solve(ring(7), "reach", xi=0, within=math.inf, origin="anywhere")
    assert solution.status == "optimal" and solution.objective == pytest.approx(3.0)
    assert solution.metrics["within"] is None and solution.metrics["origin"] == "anywhere"
    assert "minimised" in repr(solution)
    assert solution.chain.figures["seen"][0]["share"] == pytest.approx(1.0)


def test_evenness_and_weights():
    mdp = ide3al.MDP.domain("double-chain")
    free = ide3al.solve(mdp, "reach", xi=0.01)
    even = ide3al.solve(mdp, "reach", xi=0.01, evenness=0.96)
    assert even.chain.figures["entropy_normalized"] >= 0.96 - 1e-6
    assert even.objective <= free.objective + 1e-9
    weights = np.zeros(mdp.n_states)
    weights[-1] = 2.0
    one = ide3al.solve(mdp, "reach", xi=0.01, target=weights)
    assert one.status == "optimal"


def test_given_proportions_are_kept():
    mdp = ring(5)
    solution = ide3al.solve(mdp, "reach", xi=0.1, within=math.inf, proportions=np.full(5, 2.0))
    figures = solution.chain.figures
    assert solution.chain.stationary == pytest.approx(np.full(5, 0.2))
    assert solution.objective == pytest.approx(figures["kemeny_constant"])
    with pytest.raises(ide3al.Error, match="proportions"):
        ide3al.solve(mdp, "reach", xi=0, proportions=[0.6, 0.1, 0.1, 0.1, 0.1])
    with pytest.raises(ide3al.Error, match="choose 'reach'"):
        ide3al.solve(mdp, "dual", proportions=np.ones(5))


def test_a_frontier_takes_what_reach_takes():
    mdp = ring(6)
    curve = ide3al.frontier(mdp, "reach", vary="xi", points=2, within=math.inf, origin="start")
    # going round in one direction, and the random walk
    assert curve["objective"][0] == pytest.approx(3.0)
    assert curve["objective"][1] > curve["objective"][0]
    with pytest.raises(ide3al.Error, match="what varies"):
        ide3al.frontier(mdp, "reach", vary="within", within=9, points=2)
    with pytest.raises(ide3al.Error, match="choose 'reach'"):
        ide3al.frontier(mdp, "dual", within=9, points=2)


def test_bad_input():
    mdp = ring(5)
    for wrong in [
        {"within": 0.5},
        {"within": math.nan},
        {"origin": "elsewhere"},
        {"evenness": -1},
        {"target": np.zeros(5)},
        {"target": np.ones(4)},
        {"zeta": 0.5},
        {"horizon": 9},
        {"limits": [(np.ones(5), 0.5)]},
        {"solver": "conic"},
    ]:
        with pytest.raises(ide3al.Error):
            ide3al.solve(mdp, "reach", xi=0, **wrong)
    for formulation in ["frobenius", "state-entropy"]:
        with pytest.raises(ide3al.Error, match="choose 'reach'"):
            ide3al.solve(mdp, formulation, within=5)
