"""The five problems as a careful user states them: sparse matrices, no variable that can be left
out, handed to Clarabel or HiGHS without a modelling language.

A pair never tried leads anywhere with equal probability. Its row is not written out: one variable
holds the mass that is spread evenly, of the whole model or of each state.

Infinity keeps variables only where the chain can have mass: with k the mass that the target keeps
of the chain, the largest row of |U - M| is 2 max (1 - sum k). For zeta < 1 this is a relaxation,
which is seldom not exact. Frobenius has no smaller exact program than one with all S x S entries of
the target, so that is what Clarabel gets, with the chain's entries eliminated from the objective.
"""

import clarabel
import numpy as np
import scipy.optimize
import scipy.sparse as sp


class Program:
    """min q.x + x.Q.x / 2 subject to equal, below (<=), bounds and exponential cones."""

    def __init__(self, *sizes):
        self.first = np.concatenate([[0], np.cumsum(sizes)])
        self.size = int(self.first[-1])
        self.cost = np.zeros(self.size)
        self.lower = np.zeros(self.size)
        self.upper = np.full(self.size, np.inf)
        self.quadratic = None
        self.equal, self.below, self.cones = [], [], []

    def block(self, i):
        return slice(self.first[i], self.first[i + 1])

    def rows(self, *parts):
        """Rows from (block, matrix) pairs; blocks not named are zero."""
        height = parts[0][1].shape[0]
        widths = np.diff(self.first)
        blocks = [sp.csr_array((height, int(w))) for w in widths]
        for i, matrix in parts:
            blocks[i] = sp.csr_array(matrix)
        return sp.hstack(blocks, format="csr")


def identity(n):
    return sp.eye_array(n, format="csr")


def column(values):
    return sp.csr_array(np.asarray(values, dtype=float).reshape(-1, 1))


def row(values):
    return sp.csr_array(np.asarray(values, dtype=float).reshape(1, -1))


def column_sum(model, xi, zeta):
    # policy, shortfall and excess of each column, evenly spread mass
    n = model.n
    p = Program(model.pairs, n, n, 1)
    p.lower[p.block(0)] = xi
    p.cost[p.block(1)] = p.cost[p.block(2)] = 1.0
    ones = np.ones(n)
    p.equal += [
        (p.rows((0, model.P.T), (1, identity(n)), (2, -identity(n)), (3, column(ones / n))), ones),
        (p.rows((0, model.owner())), ones),
        (p.rows((0, row(model.spread)), (3, row([-1.0]))), np.zeros(1)),
    ]
    return p


def support(model):
    """Entries s * n + t where the chain can have mass, and the chain on them as a matrix."""
    n = model.n
    stored = model.P.tocoo()
    k, t = stored.coords
    everywhere = np.flatnonzero(model.owner() @ model.spread > 0)
    filled = (everywhere[:, None] * n + np.arange(n)[None, :]).ravel()
    entries, place = np.unique(
        np.concatenate([model.states[k] * n + t, filled]), return_inverse=True
    )
    chain = sp.csr_array((stored.data, (place[: k.size], k)), shape=(entries.size, model.pairs))
    even = sp.csr_array(
        (np.full(filled.size, 1.0 / n), (place[k.size :], filled // n)), shape=(entries.size, n)
    )
    return entries, chain, even


def per_state_spread(model):
    """Sums the evenly spread mass of each state's pairs."""
    return sp.csr_array(model.owner() @ sp.diags_array(model.spread))


def infinity(model, xi, zeta):
    n = model.n
    entries, chain, even = support(model)
    m = entries.size
    # policy, mass kept on the support, largest loss, evenly spread mass of each state
    p = Program(model.pairs, m, 1, n)
    p.lower[p.block(0)] = xi
    p.upper[p.block(1)] = zeta
    p.cost[p.block(2)] = 2.0
    ones, each = np.ones(n), np.arange(m)
    by_row = sp.csr_array((np.ones(m), (entries // n, each)), shape=(n, m))
    by_column = sp.csr_array((np.ones(m), (entries % n, each)), shape=(n, m))
    p.equal += [
        (p.rows((0, model.owner())), ones),
        (p.rows((0, per_state_spread(model)), (3, -identity(n))), np.zeros(n)),
    ]
    p.below += [
        (p.rows((0, -chain), (1, identity(m)), (3, -even)), np.zeros(m)),
        (p.rows((1, -by_row), (2, -column(ones))), -ones),
        (p.rows((1, by_column)), ones),
    ]
    return p


def frobenius(model, xi, zeta):
    n = model.n
    entries, chain, even = support(model)
    # policy, target, evenly spread mass of each state
    p = Program(model.pairs, n * n, n)
    p.lower[p.block(0)] = xi
    if zeta < 1:
        p.upper[p.block(1)] = zeta
    m = entries.size
    place = sp.csr_array((np.ones(m), (entries, np.arange(m))), shape=(n * n, m))
    difference = p.rows((0, -(place @ chain)), (1, identity(n * n)), (2, -(place @ even)))
    p.quadratic = difference.T @ difference
    ones, cells = np.ones(n), np.arange(n * n)
    by_row = sp.csr_array((np.ones(n * n), (cells // n, cells)), shape=(n, n * n))
    by_column = sp.csr_array((np.ones(n * n), (cells % n, cells)), shape=(n, n * n))
    p.equal += [
        (p.rows((0, model.owner())), ones),
        (p.rows((0, per_state_spread(model)), (2, -identity(n))), np.zeros(n)),
        (p.rows((1, by_row)), ones),
        (p.rows((1, by_column)), ones),
    ]
    return p


def entropy(model, xi, of_states):
    n, pairs = model.n, model.pairs
    owner = model.owner()
    cones = n if of_states else pairs
    # state-action distribution, state distribution, entropy terms, evenly spread mass
    p = Program(pairs, n, cones, 1)
    p.cost[p.block(2)] = -1.0
    p.lower[p.block(1)] = p.lower[p.block(2)] = p.lower[p.block(3)] = -np.inf
    p.equal += [
        (p.rows((0, owner), (1, -identity(n))), np.zeros(n)),
        (p.rows((0, model.P.T), (1, -identity(n)), (3, column(np.ones(n) / n))), np.zeros(n)),
        (p.rows((0, row(model.spread)), (3, row([-1.0]))), np.zeros(1)),
        (p.rows((1, row(np.ones(n)))), np.ones(1)),
    ]
    if xi > 0:
        p.lower[p.block(0)] = -np.inf
        p.below.append((p.rows((0, -identity(pairs)), (1, xi * owner.T)), np.zeros(pairs)))
    # (term, mass, 1) in the exponential cone: term <= -mass ln mass
    p.cones = [(p.first[2] + i, p.first[1 if of_states else 0] + i) for i in range(cones)]
    return p


def state(model, formulation, xi, zeta):
    if formulation == "column-sum":
        return column_sum(model, xi, zeta)
    if formulation == "infinity":
        return infinity(model, xi, zeta)
    if formulation == "frobenius":
        return frobenius(model, xi, zeta)
    return entropy(model, xi, formulation == "state-entropy")


def too_large(model, formulation, limit):
    """Why the statement is not tried: the number of entries of the target it needs."""
    if formulation == "frobenius":
        entries = model.n**2
    elif formulation == "infinity":
        entries = support(model)[0].size
    else:
        return None
    return f"{entries} target entries" if entries > limit else None


def by_clarabel(program, accuracy, limit):
    size = program.size
    blocks, right, cones = [], [], []
    for a, b in program.equal:
        blocks.append(a)
        right.append(b)
        cones.append(clarabel.ZeroConeT(a.shape[0]))
    every = identity(size)
    low, high = np.isfinite(program.lower), np.isfinite(program.upper)
    for a, b in [
        *program.below,
        (-every[low], -program.lower[low]),
        (every[high], program.upper[high]),
    ]:
        if a.shape[0] > 0:
            blocks.append(a)
            right.append(b)
            cones.append(clarabel.NonnegativeConeT(a.shape[0]))
    if program.cones:
        count = len(program.cones)
        columns = np.array(program.cones).ravel()
        rows = np.column_stack([3 * np.arange(count), 3 * np.arange(count) + 1]).ravel()
        blocks.append(sp.csr_array((-np.ones(2 * count), (rows, columns)), shape=(3 * count, size)))
        right.append(np.tile([0.0, 0.0, 1.0], count))
        cones += [clarabel.ExponentialConeT()] * count
    quadratic = program.quadratic if program.quadratic is not None else sp.csc_array((size, size))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.time_limit = limit
    if accuracy is not None:
        settings.tol_gap_abs = settings.tol_gap_rel = accuracy
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(sp.triu(quadratic)),
        program.cost,
        sp.csc_matrix(sp.vstack(blocks)),
        np.concatenate(right),
        cones,
        settings,
    )
    answer = solver.solve()
    status = str(answer.status)
    if status == "MaxTime" or answer.solve_time > limit:
        raise TimeoutError
    if status not in ("Solved", "AlmostSolved"):
        raise RuntimeError(status)
    return answer.obj_val, answer.solve_time, status


def by_highs(program, accuracy, limit):
    def stacked(parts):
        return sp.vstack([a for a, _ in parts], format="csr"), np.concatenate([b for _, b in parts])

    a_ub, b_ub = stacked(program.below) if program.below else (None, None)
    a_eq, b_eq = stacked(program.equal)
    answer = scipy.optimize.linprog(
        program.cost,
        A_ub=a_ub,
        b_ub=b_ub,
        A_eq=a_eq,
        b_eq=b_eq,
        bounds=np.column_stack([program.lower, program.upper]),
        method="highs",
        options={"time_limit": limit},
    )
    if answer.status == 1:
        raise TimeoutError
    if answer.status != 0:
        raise RuntimeError(answer.message)
    return answer.fun, None, "optimal"


def solve(model, formulation, xi, zeta, peer, accuracy, limit):
    """Objective, the solver's own seconds and how it ended."""
    program = state(model, formulation, xi, zeta)
    value, seconds, status = (by_clarabel if peer == "clarabel" else by_highs)(
        program, accuracy, limit
    )
    if formulation == "frobenius":
        value = max(2.0 * value, 0.0) ** 0.5
    if formulation in ("dual", "state-entropy"):
        value = -value
    return value, seconds, status
