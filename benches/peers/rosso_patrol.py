#!/usr/bin/env python3
"""The least Kemeny constant of a patrol with given proportions, against RoSSO's own program.

    python3 benches/peers/rosso_patrol.py CHECKOUT [--starts N]

CHECKOUT is a checkout of https://github.com/conhugh/RoSSO. Its optimiser runs with the settings of
its own comparison on this instance (RMSprop, rate 1, penalty 1000), with a lower rate and a
stricter test of convergence (rate 0.1, relative change 1e-4), and with that and a heavier penalty.
Both sides are judged by NumPy in double precision: sum_ij d_i h_ij d_j with travel times. RoSSO
holds the proportions q by a penalty. So its policies are judged twice, each time against ide3al's
with the same steady state d: as they are, with their own, and scaled to q. The best of its starts
counts. Exit code 1 if ide3al is worse or slower anywhere.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import environment

ROOT = Path(__file__).resolve().parent.parent.parent
PLACES = ROOT / "examples/patrol/san-francisco.csv"
PROPORTIONS = ROOT / "examples/patrol/san-francisco-proportions.csv"
PACKAGES = ("jax>=0.5", "optax", "numpy>=2", "networkx")
SETTINGS = {
    "its own settings": (1.0, 0.01, 1e3),
    "stricter": (0.1, 1e-4, 1e3),
    "stricter, penalty 1e5": (0.1, 1e-4, 1e5),
}


def instance():
    import numpy as np

    rows = [line.split(",") for line in PLACES.read_text().splitlines() if line[0].isdigit()]
    times = np.zeros((12, 12))
    for a, b, steps in rows:
        times[int(a) - 1, int(b) - 1] = float(steps)
    return times, np.loadtxt(PROPORTIONS)


def kemeny(M, times):
    """The weighted Kemeny constant of a chain, and its steady state."""
    import numpy as np

    n = len(M)
    both = np.vstack([M.T - np.eye(n), np.ones(n)])
    d = np.linalg.lstsq(both, np.append(np.zeros(n), 1), rcond=None)[0]
    Z = np.linalg.inv(np.eye(n) - M + np.outer(np.ones(n), d))
    return d @ (M * times).sum(axis=1) * (np.trace(Z) - 1), d


def scaled(M, q):
    """The chain nearest in relative entropy whose steady state is q."""
    flows = q[:, None] * M
    for _ in range(20_000):
        flows *= (q / flows.sum(axis=0))[None]
        flows *= (q / flows.sum(axis=1))[:, None]
    return flows / q[:, None]


def ours(times, q):
    """The value of ide3al's policy with the steady state q, and its seconds."""
    import numpy as np

    program = os.environ.get("IDE3AL", str(ROOT / "target/release/ide3al"))
    with tempfile.TemporaryDirectory() as folder:
        out, given = Path(folder) / "policy.npy", Path(folder) / "proportions.npy"
        np.save(given, q)
        asked = [program, "solve", f"graph:{PLACES},directed=true", "--formulation", "reach"]
        asked += ["--within", "inf", "--xi", "0", "--proportions", str(given), "--json"]
        began = time.perf_counter()
        said = subprocess.run(
            [*asked, "--out", str(out)], check=True, capture_output=True, text=True
        )
        seconds = time.perf_counter() - began
        M = np.load(out)
    value, d = kemeny(M, times)
    assert abs(value - json.loads(said.stdout)["objective"]) < 1e-8 * value
    assert np.abs(d - q).max() < 1e-9
    return value, seconds


def rosso(times, q, starts, rate, radius, penalty):
    """The policies of RoSSO's optimiser from its own random starts, each with its seconds."""
    import contextlib
    import io

    import numpy as np
    import strat_comp
    import strat_opt
    from patrol_problem import PatrolProblem

    class Single(PatrolProblem):
        """Its loss takes one robot's matrix whole; what it returns at the end is read off the
        first row instead, which would be no policy."""

        def apply_parametrization(self, Q):
            return strat_comp.comp_P_param(Q, self.problem_params["adjacency_matrix"])

    problem_params = {
        "graph_name": "complete_N12",
        "graph_code": "N12_147573952589676412927",
        "num_robots": 1,
        "objective_function": "weighted_MHT_pi",
        "eta": None,
        "tau": int(times.max()),
        "B": None,
        "stationary_distribution": q.tolist(),
        "weight_matrix": times.tolist(),
    }
    opt_params = {
        "rng_seed": 0,
        "num_init_Ps": starts,
        "num_LCPs": 1,
        "use_abs_param": True,
        "alpha": penalty,
        "max_iters": 10_000,
        "optimizer_name": "rmsprop",
        "nominal_learning_rate": rate,
        "lr_schedule_type": "constant",
        "lr_schedule_args": None,
        "use_momentum": False,
        "mom_decay_rate": None,
        "use_nesterov": False,
        "cnvg_test_mode": "loss_diff",
        "cnvg_radius": radius,
        "cnvg_window_size": 20,
        "iters_per_printout": 500,
        "metrics": [],
    }
    problem = Single("patrol", problem_params, opt_params, tempfile.gettempdir())
    problem.initialize()
    found = []
    for start in problem.init_rand_Ps():
        # what run_test does, which keeps no policy
        problem.set_learning_rate(start)
        problem.cnvg_test_vals.clear()
        began = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            P = strat_opt.run_optimizer(problem, start)
        found.append((np.asarray(P, float), time.perf_counter() - began))
    return found


def main():
    asked = argparse.ArgumentParser()
    asked.add_argument("checkout", type=Path)
    asked.add_argument("--starts", type=int, default=10)
    asked = asked.parse_args()
    code = asked.checkout / "robosurvstratopt"
    if not (code / "strat_opt.py").exists():
        sys.exit(f"{asked.checkout}: not a checkout of RoSSO: robosurvstratopt/strat_opt.py lacks")
    sys.path.insert(0, str(code))
    import numpy as np

    times, q = instance()
    line = "{:30} {:>10} {:>9} {:>10} {:>10} {:>9}"
    print(line.format("RoSSO with", "error of d", "Kemeny", "same d", "at q", "seconds"))
    exact, seconds = ours(times, q)
    good = True
    for name, setting in SETTINGS.items():
        rows = []
        for P, clock in rosso(times, q, asked.starts, *setting):
            P /= P.sum(axis=1, keepdims=True)
            own, d = kemeny(P, times)
            rows.append((kemeny(scaled(P, q), times)[0], own, d, clock))
        at_q, own, d, _ = min(rows, key=lambda row: row[0])
        same = ours(times, d)[0]
        total = sum(row[-1] for row in rows)
        numbers = [f"{x:.4f}" for x in (np.abs(d - q).max(), own, same, at_q)]
        print(line.format(name, *numbers, f"{total:.2f}"), flush=True)
        good &= exact <= at_q * (1 + 1e-9) and same <= own * (1 + 1e-9) and seconds < total
    print(line.format("ide3al", "0.0000", "", "", f"{exact:.4f}", f"{seconds:.2f}"))
    sys.exit(not good)


if __name__ == "__main__":
    if "IDE3AL_PEERS" not in os.environ:
        environment.enter(".venv-rosso", *PACKAGES)
    main()
