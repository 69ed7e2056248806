"""Compares ide3al.solve with CVXPY on the same matrices, problem by problem.

    pip install "./python[gymnasium]" scipy cvxpy
    python benches/peers/cvxpy_solve.py [--quick] [--only Taxi-v4] [--target-states 500]

The problems are stated here once more, from their definitions. Objectives must agree within 1e-6.
The two with a doubly stochastic target have S * S variables in CVXPY, so they are compared up to
--target-states states only. Beyond, the infinity norm is compared with HiGHS on a linear program
that leaves out what is zero; what is not compared is printed.
"""

import argparse
import sys
import time

import cvxpy as cp
import gymnasium
import numpy as np
import scipy.optimize
import scipy.sparse as sp
import scipy.sparse.csgraph

import ide3al

TOLERANCE = 1e-6


def recurrent(P, states):
    """Without transient states. With xi > 0 every transition has some probability, so the classes
    are those of the graph, and no stationary distribution has weight outside closed ones; an
    entropy cone whose point must tend to zero would leave CVXPY's solver without an interior."""
    n = P.shape[1]
    k, t = P.tocoo().coords
    graph = sp.csr_array((np.ones(k.size), (states[k], t)), shape=(n, n))
    _, label = sp.csgraph.connected_components(graph, connection="strong")
    closed = np.ones(label.max() + 1, dtype=bool)
    closed[label[states[k]][label[states[k]] != label[t]]] = False
    kept = closed[label]
    rows = kept[states]
    number = np.cumsum(kept) - 1
    return P[rows][:, kept], number[states[rows]]


def reference(mdp, formulation, xi, zeta):
    """The optimal value according to CVXPY with Clarabel."""
    P = mdp.sparse()
    states, _ = mdp.pairs
    if formulation in ("dual", "state-entropy"):
        P, states = recurrent(P, states)
    n, pairs = P.shape[1], P.shape[0]
    one_per_pair = (np.ones(pairs), (states, np.arange(pairs)))
    owner = sp.csr_array(one_per_pair, shape=(n, pairs))  # sums the pairs of each state
    if formulation in ("dual", "state-entropy"):
        omega = cp.Variable(pairs, nonneg=True)
        d = owner @ omega
        constraints = [cp.sum(omega) == 1, d == P.T @ omega, omega >= xi * (owner.T @ d)]
        entropy = cp.sum(cp.entr(omega if formulation == "dual" else d))
        problem = cp.Problem(cp.Maximize(entropy), constraints)
    else:
        policy = cp.Variable(pairs)
        constraints = [policy >= xi, owner @ policy == 1]
        if formulation == "column-sum":
            objective = cp.norm1(1 - P.T @ policy)
        else:
            target = cp.Variable((n, n), nonneg=True)
            constraints += [
                target <= zeta,
                cp.sum(target, axis=0) == 1,
                cp.sum(target, axis=1) == 1,
            ]
            # M as a vector, row by row: entry (s, t) collects policy[k] P[k, t] over the pairs of s
            k, t = P.tocoo().coords
            spread = sp.csr_array((P.tocoo().data, (states[k] * n + t, k)), shape=(n * n, pairs))
            difference = target - cp.reshape(spread @ policy, (n, n), order="C")
            if formulation == "frobenius":
                objective = cp.norm(difference, "fro")
            else:
                objective = cp.max(cp.sum(cp.abs(difference), axis=1))
        problem = cp.Problem(cp.Minimize(objective), constraints)
    tight = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
    return problem.solve(solver=cp.CLARABEL, **tight)


def infinity_by_linear_program(mdp, xi, zeta):
    """The optimal value of the infinity norm according to HiGHS.

    Row s of M(policy) is zero outside the successors of s, and the target is not negative: there
    the distance is the target itself, and in all of these together it is one less the target's sum
    over the successors. Distances as variables are needed at the successors only."""
    P = mdp.sparse().tocoo()
    states, _ = mdp.pairs
    n, pairs = mdp.n_states, mdp.n_pairs
    k, t = P.coords
    entries, of = np.unique(
        states[k] * n + t, return_inverse=True
    )  # entries of M that can differ from 0
    m = entries.size
    # variables: policy, target row by row, distance at each entry, the largest row sum
    size = pairs + n * n + m + 1
    target, distance, largest = pairs, pairs + n * n, size - 1
    cost = np.zeros(size)
    cost[largest] = 1.0

    def rows(count, *parts):
        values, i, j = (np.concatenate([part[x] for part in parts]) for x in range(3))
        return sp.csr_array((values, (i, j)), shape=(count, size))

    each = np.arange(m)
    M = (P.data, of, k)
    # M - target <= distance, target - M <= distance
    below = rows(m, M, (-np.ones(m), each, target + entries), (-np.ones(m), each, distance + each))
    above = rows(
        m,
        (-P.data, of, k),
        (np.ones(m), each, target + entries),
        (-np.ones(m), each, distance + each),
    )
    # 1 - sum of the target at the successors + sum of distances <= largest
    owner = entries // n
    row_sums = rows(
        n,
        (-np.ones(m), owner, target + entries),
        (np.ones(m), owner, distance + each),
        (-np.ones(n), np.arange(n), np.full(n, largest)),
    )
    cells = np.arange(n * n)
    equal = rows(
        3 * n,
        (np.ones(n * n), cells // n, target + cells),
        (np.ones(n * n), n + cells % n, target + cells),
        (np.ones(pairs), 2 * n + states, np.arange(pairs)),
    )
    bounds = np.zeros((size, 2))
    bounds[:, 1] = np.inf
    bounds[:pairs, 0] = xi
    bounds[target:distance, 1] = zeta
    answer = scipy.optimize.linprog(
        cost,
        A_ub=sp.vstack([below, above, row_sums]),
        b_ub=np.concatenate([np.zeros(2 * m), -np.ones(n)]),
        A_eq=equal,
        b_eq=np.ones(3 * n),
        bounds=bounds,
        method="highs-ipm",
        options={"ipm_optimality_tolerance": 1e-10, "primal_feasibility_tolerance": 1e-9},
    )
    if answer.status != 0:
        raise RuntimeError(answer.message)
    return answer.fun


def random_model(seed):
    """Up to 12 states and 3 actions, sparse rows of random length."""
    rng = np.random.default_rng(seed)
    n, actions = int(rng.integers(2, 13)), int(rng.integers(1, 4))
    matrices = []
    for _ in range(actions):
        dense = rng.random((n, n)) * (rng.random((n, n)) < rng.uniform(0.15, 0.8))
        dense[np.arange(n), rng.integers(0, n, n)] += rng.random(n) + 0.01
        matrices.append(sp.csr_array(dense / dense.sum(axis=1, keepdims=True)))
    return ide3al.MDP(matrices)


def toy(name):
    """A toy of Gymnasium, restarted where it ends."""
    options = {"map_name": "8x8"} if name == "FrozenLake-v1" else {}
    return ide3al.MDP.from_gymnasium(gymnasium.make(name, **options), on_terminal="reset")


def parameters(mdp):
    """xi and zeta at which everything is compared."""
    return 0.2 / mdp.n_actions, max(0.7, 1 / mdp.n_states)


def models(quick):
    for name in ("FrozenLake-v1", "CliffWalking-v1", "Taxi-v4"):
        yield name, toy(name)
    for seed in range(3 if quick else 20):
        yield f"random {seed}", random_model(seed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="3 random models instead of 20")
    parser.add_argument("--target-states", type=int, default=100)
    parser.add_argument("--only", help="this model")
    arguments = parser.parse_args()
    print(
        f"{'model':16} {'formulation':14} {'ide3al':>14} {'other':>14} {'difference':>10}  seconds"
    )
    worst, left_out = 0.0, []
    for name, mdp in models(arguments.quick):
        if arguments.only not in (None, name):
            continue
        xi, zeta = parameters(mdp)
        for formulation in ("frobenius", "infinity", "column-sum", "dual", "state-entropy"):
            takes_zeta = formulation in ("frobenius", "infinity")
            large = mdp.n_states > arguments.target_states
            if large and formulation == "frobenius":
                left_out.append(f"{name} {formulation}")
                continue
            begin = time.perf_counter()
            ours = ide3al.solve(mdp, formulation, xi=xi, zeta=zeta if takes_zeta else None)
            middle = time.perf_counter()
            if large and formulation == "infinity":
                theirs = infinity_by_linear_program(mdp, xi, zeta)
            else:
                theirs = reference(mdp, formulation, xi, zeta)
            end = time.perf_counter()
            difference = abs(ours.objective - theirs)
            worst = max(worst, difference)
            print(
                f"{name:16} {formulation:14} {ours.objective:14.9f} {theirs:14.9f} "
                f"{difference:10.1e}  {middle - begin:.3f} and {end - middle:.3f}",
                flush=True,
            )
    for item in left_out:
        print(f"left out: {item} (more than {arguments.target_states} states)")
    print(f"largest difference {worst:.1e}, allowed {TOLERANCE:.0e}")
    return 0 if worst <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
