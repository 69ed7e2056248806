#!/usr/bin/env python3
"""One problem solved by what a user would pick instead of ide3al: CVXPY with Clarabel or HiGHS.

    python3 bench/peers/solve_peers.py MODEL.npz FORMULATION XI ZETA SOLVER ACCURACY

Prints one line of JSON: seconds of the whole `solve` call and of the solver inside it (both
without imports and without reading the model), the objective, and the process's peak memory.
Makes its own virtual environment (bench/peers/.venv-solve) on first use. `cargo bench --bench
solve` calls this; the problems are stated from their definitions, with the S * S target as a
variable where there is one.
"""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
VENV = HERE / ".venv-solve"


def enter_environment():
    """Runs this script again inside the virtual environment."""
    python = VENV / "bin" / "python"
    if Path(sys.prefix).resolve() == VENV.resolve():
        return
    if not (VENV / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)
        packages = ["cvxpy", "clarabel", "highspy", "scipy", "numpy"]
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=True)
        (VENV / "ready").touch()
    os.execv(str(python), [str(python), *sys.argv])


def problem(cp, sp, np, P, first_pair, formulation, xi, zeta):
    pairs, n = P.shape
    states = np.repeat(np.arange(n), np.diff(first_pair))
    owner = sp.csr_array((np.ones(pairs), (states, np.arange(pairs))), shape=(n, pairs))
    if formulation == "dual":
        omega = cp.Variable(pairs, nonneg=True)
        d = owner @ omega
        constraints = [cp.sum(omega) == 1, d == P.T @ omega]
        if xi > 0:
            constraints.append(omega >= xi * (owner.T @ d))
        return cp.Problem(cp.Maximize(cp.sum(cp.entr(omega))), constraints)
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
    chain = sp.csr_array((entries.data, (states[k] * n + t, k)), shape=(n * n, pairs))
    difference = cp.vec(target, order="C") - chain @ policy
    if formulation == "frobenius":
        return cp.Problem(cp.Minimize(cp.sum_squares(difference)), constraints)
    rows = cp.sum(cp.abs(cp.reshape(difference, (n, n), order="C")), axis=1)
    return cp.Problem(cp.Minimize(cp.max(rows)), constraints)


def main():
    import cvxpy as cp
    import numpy as np
    import scipy.sparse as sp

    model, formulation, xi, zeta, solver, accuracy = sys.argv[1:]
    with np.load(model) as file:
        P = sp.csr_array((file["data"], file["indices"], file["indptr"]), shape=file["shape"])
        first_pair = file["first_pair"]
    stated = problem(cp, sp, np, P, first_pair, formulation, float(xi), float(zeta))
    accuracy = float(accuracy)
    if solver == "clarabel":
        options = {"solver": cp.CLARABEL, "tol_gap_abs": accuracy, "tol_gap_rel": accuracy}
    else:
        options = {"solver": cp.HIGHS}
    clock = time.perf_counter()
    value = stated.solve(**options)
    seconds = time.perf_counter() - clock
    if formulation == "frobenius":
        value = value**0.5
    print(
        json.dumps(
            {
                "seconds": seconds,
                "solver_seconds": stated.solver_stats.solve_time,
                "objective": value,
                "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        )
    )


if __name__ == "__main__":
    enter_environment()
    main()
