"""Compares ide3al.solve with CVXPY and Clarabel on what is to be visited, default settings on both
sides.

    pip install "./python" scipy cvxpy
    python benches/peers/cvxpy_visits.py [--quick] [--seed 1]

Knight Quest and ten garnets of 100 to 1,000 states, a random positive target, one sample of every
pair, model error. The problems are stated here once more, from their definitions; stating counts,
as it does for a user. Seconds of the processor, so that other work on the machine does not count;
the quicker of two solves. Objectives must agree as far as CVXPY's own tolerance goes."""

import argparse
import sys
import time

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

import ide3al

DIFFERENCE = (
    1e-4  # relative; Clarabel's default tolerances are 1e-8, of a problem that it scales itself
)
FORMULATIONS = ("target", "coverage", "model-error")
GARNETS = (
    (100, 4, 5),
    (150, 2, 5),
    (200, 3, 4),
    (250, 6, 4),
    (300, 4, 10),
    (400, 3, 3),
    (500, 5, 5),
    (600, 2, 8),
    (800, 3, 3),
    (1000, 4, 5),
)


def reference(mdp, formulation, q):
    """The optimal value according to CVXPY; model error in units of one, as anybody would who sees
    its size."""
    P, (states, _) = mdp.sparse(), mdp.pairs
    n, pairs = P.shape[1], P.shape[0]
    owner = sp.csr_array((np.ones(pairs), (states, np.arange(pairs))), shape=(n, pairs))
    omega = cp.Variable(pairs, nonneg=True)
    d = owner @ omega
    constraints = [cp.sum(omega) == 1, d == P.T @ omega]
    if formulation == "target":
        problem = cp.Problem(cp.Minimize(cp.sum(cp.rel_entr(d, q))), constraints)
    elif formulation == "coverage":
        t = cp.Variable()
        problem = cp.Problem(cp.Maximize(t), [*constraints, pairs * omega >= t])
    else:
        c = 1 - P.multiply(P).sum(axis=1)
        some = c > 1e-12
        terms = cp.multiply(c[some] / pairs, cp.inv_pos(pairs * omega[some]))
        problem = cp.Problem(cp.Minimize(cp.sum(terms)), constraints)
    value = problem.solve(solver=cp.CLARABEL)
    return (
        value
        * {"target": 1.0, "coverage": 1.0 / pairs, "model-error": float(pairs) ** 2}[formulation]
    )


def quickest(solve):
    best = np.inf
    for _ in range(2):
        begin = time.process_time()
        value = solve()
        best = min(best, time.process_time() - begin)
    return value, best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three garnets instead of ten")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    garnets = GARNETS[:3] if arguments.quick else GARNETS
    names = ["knight-quest"]
    names += [
        f"garnet:states={s},actions={a},branching={b},seed={arguments.seed}" for s, a, b in garnets
    ]
    ratios, worst = [], 0.0
    print(
        f"{'model':46} {'formulation':12} {'ide3al':>14} {'CVXPY':>14} {'seconds':>8} {'CVXPY':>8} {'ratio':>7}"
    )
    for name in names:
        mdp = ide3al.MDP.domain(name)
        q = rng.dirichlet(np.ones(mdp.n_states))
        for formulation in FORMULATIONS:
            given = {"target": q} if formulation == "target" else {}
            ours, seconds = quickest(
                lambda: ide3al.solve(mdp, formulation, xi=0.0, **given).objective
            )
            try:
                theirs, cvxpy = quickest(lambda: reference(mdp, formulation, q))
            except (cp.SolverError, ValueError) as error:
                print(f"{name:46} {formulation:12} {ours:14.8g}  CVXPY: {error}", flush=True)
                continue
            ratios.append(cvxpy / seconds)
            worst = max(
                worst, abs(ours - theirs) / max(abs(ours), 1e-3 if formulation == "target" else 0.0)
            )
            print(
                f"{name:46} {formulation:12} {ours:14.8g} {theirs:14.8g} {seconds:8.4f} {cvxpy:8.3f} {ratios[-1]:7.1f}",
                flush=True,
            )
    mean = np.exp(np.mean(np.log(ratios)))
    print(
        f"geometric mean {mean:.1f}, least {min(ratios):.1f}; largest difference {worst:.1e} of {DIFFERENCE:.0e}"
    )
    return 0 if worst <= DIFFERENCE else 1


if __name__ == "__main__":
    sys.exit(main())
