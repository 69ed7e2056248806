"""The five problems as a user of CVXPY writes them from their definitions: the chain and the S x S
target as matrices, norms and entropies by name."""

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

SOLVERS = {"cvxpy-clarabel": cp.CLARABEL, "cvxpy-highs": cp.HIGHS}


def too_large(model, formulation, limit):
    """Why the statement is not tried: the number of entries of the target."""
    entries = model.n**2
    if formulation in ("infinity", "frobenius") and entries > limit:
        return f"{entries} target entries"
    return None


def state(model, formulation, xi, zeta):
    """The problem; Frobenius squared, so that it stays a quadratic program."""
    P, n, pairs = model.filled(), model.n, model.pairs
    owner = model.owner()
    if formulation in ("dual", "state-entropy"):
        omega = cp.Variable(pairs, nonneg=True)
        d = owner @ omega
        constraints = [cp.sum(omega) == 1, d == P.T @ omega]
        if xi > 0:
            constraints.append(omega >= xi * (owner.T @ d))
        entropy = cp.sum(cp.entr(omega if formulation == "dual" else d))
        return cp.Problem(cp.Maximize(entropy), constraints)
    policy = cp.Variable(pairs)
    constraints = [policy >= xi, owner @ policy == 1]
    if formulation == "column-sum":
        return cp.Problem(cp.Minimize(cp.norm1(1 - P.T @ policy)), constraints)
    target = cp.Variable((n, n), nonneg=True)
    constraints += [cp.sum(target, axis=0) == 1, cp.sum(target, axis=1) == 1]
    if zeta < 1:
        constraints.append(target <= zeta)
    # the chain as a vector, row by row: (s, t) collects policy[k] P[k, t] over the pairs of s
    entries = P.tocoo()
    k, t = entries.coords
    chain = sp.csr_array((entries.data, (model.states[k] * n + t, k)), shape=(n * n, pairs))
    difference = cp.vec(target, order="C") - chain @ policy
    if formulation == "frobenius":
        return cp.Problem(cp.Minimize(cp.sum_squares(difference)), constraints)
    rows = cp.sum(cp.abs(cp.reshape(difference, (n, n), order="C")), axis=1)
    return cp.Problem(cp.Minimize(cp.max(rows)), constraints)


def solve(model, formulation, xi, zeta, peer, accuracy, limit):
    """Objective, the solver's own seconds and how it ended."""
    problem = state(model, formulation, xi, zeta)
    options = {"solver": SOLVERS[peer]}
    if peer == "cvxpy-clarabel":
        options["time_limit"] = limit
        if accuracy is not None:
            options |= {"tol_gap_abs": accuracy, "tol_gap_rel": accuracy}
    else:
        options["highs_options"] = {"time_limit": limit}
    value = problem.solve(**options)
    inside = problem.solver_stats.solve_time
    if inside is not None and inside > limit:
        raise TimeoutError
    if value is None or not np.isfinite(value):
        raise RuntimeError(problem.status)
    if formulation == "frobenius":
        value = max(value, 0.0) ** 0.5
    return value, inside, problem.status
