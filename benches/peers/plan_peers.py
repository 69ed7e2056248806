"""Planning against QuantEcon and mdptoolbox (discounted) and a linear program (average).

    python benches/peers/plan_peers.py               # agreement on 30 models, then times
    python benches/peers/plan_peers.py --models 0 --states 1000000 --alone    # times without a peer

Needs ide3al, quantecon, pymdptoolbox and scipy in one environment; ide3al as it is installed (`pip
install ./python`), not as the tests compile it, which takes up to twice as long here.
"""

import argparse
import time

import mdptoolbox.mdp
import numpy as np
import quantecon
import scipy.optimize
import scipy.sparse

import ide3al


def random_model(n: int, actions: int, branching: int, seed: int):
    """Dense random rows with few successors, and random rewards."""
    rng = np.random.default_rng(seed)
    P = np.zeros((n, actions, n))
    for s in range(n):
        for a in range(actions):
            next_states = rng.choice(n, branching, replace=False)
            P[s, a, next_states] = rng.dirichlet(np.ones(branching))
    return P, rng.random((n, actions))


def average_by_linear_program(P: np.ndarray, reward: np.ndarray) -> np.ndarray:
    """The largest long-run average from every state (multichain): the least g with g >= P g and
    g + h >= r + P h."""
    n, actions, _ = P.shape
    eye = np.repeat(np.eye(n), actions, axis=0)
    moves = P.reshape(n * actions, n)
    upper = np.block([[moves - eye, np.zeros_like(moves)], [-eye, moves - eye]])
    right = np.concatenate([np.zeros(n * actions), -reward.ravel()])
    cost = np.concatenate([np.ones(n), np.zeros(n)])
    found = scipy.optimize.linprog(cost, upper, right, bounds=(None, None), method="highs")
    return found.x[:n]


def agreement(models: int) -> None:
    worst = {"QuantEcon": 0.0, "mdptoolbox": 0.0, "linear program": 0.0}
    for seed in range(models):
        P, reward = random_model(20 + seed, 2 + seed % 3, 1 + seed % 4, seed)
        mdp = ide3al.MDP(P)
        discount = (0.5, 0.9, 0.99)[seed % 3]
        ours = ide3al.plan(mdp, reward, discount=discount, tolerance=1e-11).values
        theirs = quantecon.markov.DiscreteDP(reward, P, discount).solve(method="policy_iteration")
        worst["QuantEcon"] = max(worst["QuantEcon"], np.abs(ours - theirs.v).max())
        other = mdptoolbox.mdp.PolicyIteration(P.swapaxes(0, 1), reward, discount)
        other.run()
        worst["mdptoolbox"] = max(worst["mdptoolbox"], np.abs(ours - np.array(other.V)).max())
        ours = ide3al.plan(mdp, reward, average=True, tolerance=1e-11).values
        average = average_by_linear_program(P, reward)
        worst["linear program"] = max(worst["linear program"], np.abs(ours - average).max())
    print(f"Largest difference of values on {models} models:")
    for name, difference in worst.items():
        print(f"  {name:16}{difference:10.1e}")


def sparse_pairs(mdp: ide3al.MDP):
    states, actions = mdp.pairs
    return scipy.sparse.csr_matrix(mdp.sparse()), states, actions


def timed(call):
    """The shorter of two runs in seconds, and the result."""
    seconds = []
    for _ in range(2):
        begun = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - begun)
    return min(seconds), result


def times(specs: list[str], discount: float, alone: bool) -> None:
    """Random rewards of all pairs, and one state that earns 1."""
    print(f"\nSeconds to a gap of 1e-6, discount {discount} (QuantEcon: epsilon 1e-6)")
    print(f"{'model':52}{'reward':8}{'ide3al':>9}{'QuantEcon':>11}{'ratio':>8}")
    ratios = []
    for spec in specs:
        mdp = ide3al.MDP.domain(spec)
        Q, s, a = sparse_pairs(mdp)
        one = (s == mdp.n_states // 3).astype(float)
        for name, reward in (
            ("random", np.random.default_rng(0).random(mdp.n_pairs)),
            ("one", one),
        ):
            ours, plan = timed(lambda: ide3al.plan(mdp, reward, discount=discount, tolerance=1e-6))
            assert plan.status == "optimal", plan.status
            if alone:
                print(f"{spec:52}{name:8}{ours:9.2f}", flush=True)
                continue
            process = quantecon.markov.DiscreteDP(reward, Q, discount, s, a)
            theirs, other = timed(
                lambda: process.solve(
                    method="modified_policy_iteration", epsilon=1e-6, max_iter=100_000
                )
            )
            assert np.abs(plan.values - other.v).max() <= 2e-6
            ratios.append(theirs / ours)
            print(f"{spec:52}{name:8}{ours:9.2f}{theirs:11.2f}{theirs / ours:8.1f}", flush=True)
    if ratios:
        print(
            f"ratios: geometric mean {np.exp(np.mean(np.log(ratios))):.2f}, least {min(ratios):.2f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=30)
    parser.add_argument("--states", type=int, default=100_000)
    parser.add_argument("--alone", action="store_true", help="without QuantEcon")
    given = parser.parse_args()
    if given.models:
        agreement(given.models)
    n = given.states
    side, board = round(n**0.5), round((n / 24) ** 0.5)
    specs = [
        *(f"garnet:states={n},actions=4,branching={b},seed=1" for b in (2, 5, 20)),
        *(f"open-grid:rows={side},columns={side},slip={slip}" for slip in (0, 0.1, 0.5)),
        f"knight-quest:rows={board},columns={board}",
        f"river-swim:states={n}",
        f"single-chain:states={n}",
        f"double-chain:states={n}",
    ]
    times(specs, 0.99, given.alone)


if __name__ == "__main__":
    main()
