"""Graphs with travel times, and what patrols are judged by."""

from pathlib import Path

import numpy as np
import pytest

import ide3al

TOWN = Path(__file__).parents[2] / "examples" / "patrol" / "places.csv"


@pytest.fixture(scope="module")
def town():
    return ide3al.MDP.domain(f"graph:{TOWN}")


def minutes(mdp):
    """Travel times as a matrix from place to place, zero where there is no way."""
    states, actions = mdp.pairs
    w = np.zeros((mdp.n_states, mdp.n_states))
    w[states, actions] = mdp.times
    return w


def test_a_graph_is_a_model(town):
    assert town.n_states == 12 and town.state_names[0] == "harbour"
    assert town.n_pairs == 2 * 59 and town.nnz == town.n_pairs
    w = minutes(town)
    assert np.array_equal(w, w.T)
    # an action is the place to go to
    states, actions = town.pairs
    assert np.array_equal(town.sparse().indices, actions)


def walk(mdp, rng):
    states, actions = mdp.pairs
    M = np.zeros((mdp.n_states, mdp.n_states))
    M[states, actions] = rng.random(mdp.n_pairs) + 0.05
    return M / M.sum(axis=1, keepdims=True)


def test_times_against_their_definition(town):
    n, w, rng = town.n_states, minutes(town), np.random.default_rng(5)
    for _ in range(5):
        M = walk(town, rng)
        figures = ide3al.analyze(town, M).figures
        values, vectors = np.linalg.eig(M.T)
        d = np.real(vectors[:, np.argmax(values.real)])
        d /= d.sum()
        step = (M * w).sum(axis=1)
        h = np.zeros((n, n))
        for j in range(n):
            others = np.arange(n) != j
            A = np.eye(n - 1) - M[np.ix_(others, others)]
            h[others, j] = np.linalg.solve(A, step[others])
        off = ~np.eye(n, dtype=bool)
        assert figures["step_time"] == pytest.approx(d @ step, rel=1e-9)
        assert figures["kemeny_constant"] == pytest.approx(d @ h @ d, rel=1e-8)
        assert figures["hitting_time_max"] == pytest.approx(h.max(), rel=1e-8)
        assert figures["hitting_time_mean"] == pytest.approx(h[off].mean(), rel=1e-8)
        back = step + (M * h.T).sum(axis=1)  # one step, then the way back
        assert figures["return_time_max"] == pytest.approx(back.max(), rel=1e-8)
        assert figures["return_time_mean"] == pytest.approx(back.mean(), rel=1e-8)
        rate = -(d[:, None] * M * np.log(np.where(M > 0, M, 1))).sum()
        assert figures["entropy_rate"] == pytest.approx(rate, rel=1e-9)


def test_even_time_against_cvxpy(town):
    """By the clock the solvers see the program with sum omega w = 1."""
    cp = pytest.importorskip("cvxpy")
    states, actions = town.pairs
    omega, w = cp.Variable(town.n_pairs, nonneg=True), town.times
    out = np.zeros((12, town.n_pairs))
    into = np.zeros((12, town.n_pairs))
    out[states, np.arange(town.n_pairs)] = 1
    into[actions, np.arange(town.n_pairs)] = 1
    shares = out @ cp.multiply(w, omega)
    problem = cp.Problem(
        cp.Maximize(cp.sum(cp.entr(shares))),
        [out @ omega == into @ omega, w @ omega == 1],
    )
    best = problem.solve(solver="CLARABEL")
    clock = town.by_the_clock()
    solution = ide3al.solve(clock, "state-entropy", xi=0)
    assert solution.objective == pytest.approx(best, abs=1e-6) and solution.gap < 1e-6
    # the same shares of time come out of choices made once per visit
    choices = town.choices(solution.policy)
    visits = ide3al.analyze(town, choices)
    step = np.array([c @ w[states == s] for s, c in enumerate(choices)])
    time = visits.stationary * step
    assert time / time.sum() == pytest.approx(solution.chain.stationary, abs=1e-9)


def test_proportions_within_limits_against_cvxpy(town):
    """Given shares of time, a road that is closed, and a budget for the airport: visits per minute,
    as one would write them down."""
    cp = pytest.importorskip("cvxpy")
    states, actions = town.pairs
    q = np.loadtxt(TOWN.with_name("proportions.csv"))
    closed = ((states == 0) & (actions == 1)).astype(float)
    airport = (states == 11).astype(float)
    rare = [(closed, 0.0), (airport, 0.02)]

    omega = cp.Variable(town.n_pairs)
    shares = cp.multiply(town.times, omega)
    leave = (states[None, :] == np.arange(town.n_states)[:, None]).astype(float)
    arrive = (actions[None, :] == np.arange(town.n_states)[:, None]).astype(float)
    rules = [omega >= 0, cp.sum(shares) == 1, leave @ omega == arrive @ omega]
    rules += [cost @ shares <= budget for cost, budget in rare]
    wanted = cp.Problem(cp.Minimize(cp.sum(cp.rel_entr(leave @ shares, q))), rules)
    wanted.solve(solver=cp.CLARABEL)

    def table(cost):
        dense = np.zeros((town.n_states, town.n_actions))
        dense[states, actions] = cost
        return dense

    limits = [(table(cost), budget) for cost, budget in rare]
    for solver in ("auto", "conic"):
        found = ide3al.solve(
            town.by_the_clock(), "target", target=q, xi=0, limits=limits, solver=solver
        )
        assert found.status == "optimal" and found.gap <= 1e-6
        assert found.objective == pytest.approx(wanted.value, abs=1e-6)
        assert all(limit["value"] <= limit["budget"] + 1e-9 for limit in found.limits)
        assert found.limits[1]["price"] > 0


def test_graphml(tmp_path):
    import networkx as nx

    graph = nx.cycle_graph(5, create_using=nx.DiGraph)
    nx.set_edge_attributes(graph, {edge: 1.0 + edge[0] for edge in graph.edges}, "minutes")
    nx.write_graphml(graph, tmp_path / "ring.graphml")
    mdp = ide3al.MDP.domain(f"graph:{tmp_path}/ring.graphml,weight=minutes,start=3")
    assert mdp.n_pairs == 5 and mdp.times.tolist() == [1, 2, 3, 4, 5]
    assert mdp.start.argmax() == 3
    assert ide3al.analyze(mdp).figures["return_time_max"] == pytest.approx(15)


@pytest.mark.parametrize(
    ("text", "given", "words"),
    [
        ("a b 1\nb a -3\n", "", "line 2: travel time '-3' is not a positive number"),
        ("a b 0\n", "", "'0' is not a positive number"),
        ("a b nan\n", "", "'nan' is not a positive number"),
        ("a\n", "", "line 1: 1 words"),
        ("# nothing\n", "", "no edge"),
        ("a b 1\nb c\n", "", "1 of 2 edges have no travel time"),
        ("a b 1\n", ",directed=true", "no way leads on from place 'b'"),
        ("a b 1\n", ",directed=maybe", "true or false"),
        ("a b 1\n", ",start=c", "unknown place 'c'"),
        ("a b 1\n", ",weight=time", "third column"),
        ("a b\n", ",clock=true", "has no travel times"),
        ("a b 1\n", ",clocks=true", "did you mean 'clock'"),
    ],
)
def test_mistakes_are_named(tmp_path, text, given, words):
    (tmp_path / "ways.txt").write_text(text)
    with pytest.raises(ide3al.Error, match=words):
        ide3al.MDP.domain(f"graph:{tmp_path}/ways.txt{given}")
