"""What the Python binding costs: time per call, and memory on a model of a million states.

    pip install ./python scipy
    python benches/python_binding.py

Exit code 1 if solving Single Chain costs more than 50 microseconds beyond the library's own time
(median), or if building the chain of a million states takes the process above 2 GiB.
"""

import resource
import statistics
import sys
import time
import types

import numpy as np
import scipy.sparse as sp

import ide3al

CALLS = 2000
STATES = 1_000_000


def binding_microseconds():
    """Wall clock of the call, less the seconds that the library measured for itself."""
    mdp = ide3al.MDP.domain("single-chain")
    extra = []
    for _ in range(CALLS):
        begin = time.perf_counter()
        solution = ide3al.solve(mdp, tie_break="none")
        extra.append(1e6 * (time.perf_counter() - begin - solution.seconds))
    return statistics.median(extra)


def peak_gibibytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def chain_of_a_million():
    """From sparse matrices, and from a transition table as Gymnasium's environments have it."""
    s = np.arange(STATES)
    ends = np.maximum(s - 1, 0), np.minimum(s + 1, STATES - 1)
    ones, shape = np.ones(STATES), (STATES, STATES)
    begin = time.perf_counter()
    sparse = ide3al.MDP([sp.csr_array((ones, (s, t)), shape=shape) for t in ends], start=0)
    print(
        f"from sparse matrices  {time.perf_counter() - begin:5.1f} s  peak {peak_gibibytes():.2f} GiB"
    )
    left, right = (t.tolist() for t in ends)
    space = types.SimpleNamespace
    env = space(
        P={
            k: {0: [(1.0, left[k], 0.0, False)], 1: [(1.0, right[k], 0.0, False)]}
            for k in range(STATES)
        },
        observation_space=space(n=STATES),
        action_space=space(n=2),
    )
    begin = time.perf_counter()
    table = ide3al.MDP.from_gymnasium(env, start=0)
    print(
        f"from a table P        {time.perf_counter() - begin:5.1f} s  peak {peak_gibibytes():.2f} GiB"
    )
    assert table == sparse


def main():
    cost = binding_microseconds()
    print(f"binding cost of solve {cost:5.1f} microseconds (median of {CALLS})")
    chain_of_a_million()
    return 0 if cost <= 50 and peak_gibibytes() <= 2 else 1


if __name__ == "__main__":
    sys.exit(main())
