#!/usr/bin/env python3
"""The problems solved by what a user would pick instead of ide3al.

    python3 benches/peers/solve_peers.py               answers jobs until its input ends
    python3 benches/peers/solve_peers.py --toys FOLDER writes Gymnasium's toy models

A job is a line of JSON: model (an .npz file), formulation, xi, zeta, peer, limit in seconds, and
optionally accuracy (wanted gap; the solver's own default without it), repeat_below (seconds until
which the solve is repeated, the fastest counts) and target_entries (largest statement tried).
Peers: cvxpy-clarabel and cvxpy-highs (the usual statement), clarabel and highs (the sparse one).
The answer is a line of JSON: seconds (stating and solving, without reading the model),
solver_seconds, objective, and whether it is accurate (solvers also end with less); or skipped, or
error. `cargo bench --bench solve` calls this. Makes its own virtual environment
(benches/peers/.venv-solve) on first use."""

import json
import resource
import sys
import time

import environment

environment.enter(".venv-solve", "cvxpy", "clarabel", "highspy", "scipy", "numpy", "gymnasium")

import cvxpy_statement  # noqa: E402
import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
import sparse_statement  # noqa: E402

# a statement that needs more is refused by the system, so that it cannot bring down the machine
MEMORY = 12 << 30


class Model:
    """Rows P of all pairs, and the share of each that is spread evenly over all states."""

    def __init__(self, file):
        with np.load(file) as data:
            matrix = (data["data"], data["indices"], data["indptr"])
            self.P = sp.csr_array(matrix, shape=data["shape"])
            first_pair = data["first_pair"]
            self.pairs, self.n = self.P.shape
            self.spread = data["spread"] if "spread" in data else np.zeros(self.pairs)
        self.states = np.repeat(np.arange(self.n), np.diff(first_pair))

    def owner(self):
        """Sums the pairs of each state."""
        ones = (np.ones(self.pairs), (self.states, np.arange(self.pairs)))
        return sp.csr_array(ones, shape=(self.n, self.pairs))

    def filled(self):
        """All rows written out."""
        if not self.spread.any():
            return self.P
        even = sp.csr_array((self.spread / self.n).reshape(-1, 1)) @ np.ones((1, self.n))
        return sp.csr_array(self.P + even)


def answer(job):
    model = Model(job["model"])
    module = cvxpy_statement if job["peer"].startswith("cvxpy") else sparse_statement
    formulation, xi, zeta = job["formulation"], job["xi"], job["zeta"]
    most = job.get("target_entries")
    reason = module.too_large(model, formulation, np.inf if most is None else most)
    if reason:
        return {"skipped": reason}
    best, begin = np.inf, time.perf_counter()
    while True:
        clock = time.perf_counter()
        value, inside, status = module.solve(
            model, formulation, xi, zeta, job["peer"], job.get("accuracy"), job["limit"]
        )
        seconds = time.perf_counter() - clock
        if seconds < best:
            best, solver_seconds = seconds, inside
        if time.perf_counter() - begin > job.get("repeat_below", 0.0):
            break
    return {
        "seconds": best,
        "solver_seconds": solver_seconds,
        "objective": float(value),
        "accurate": status in ("optimal", "Solved"),
    }


def serve():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line))
        except TimeoutError:
            reply = {"error": "time limit"}
        except Exception as error:  # a peer that fails is reported, the others go on
            lines = str(error).strip().splitlines() or [""]
            reply = {"error": f"{type(error).__name__}: {lines[0]}"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    if "--toys" in sys.argv:
        import toy_models

        toy_models.write(sys.argv[sys.argv.index("--toys") + 1])
    else:
        serve()
