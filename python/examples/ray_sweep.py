"""A sweep on a Ray cluster: which xi explores best, on several domains at once.

    pip install "./python[ray,plot]"
    python python/examples/ray_sweep.py                        # a local cluster
    python python/examples/ray_sweep.py --address auto         # the one this machine belongs to

Every run of every setting is one Ray task; a run whose worker or machine dies is done again, and
the figures are those of `engine="local"`, byte for byte. With --out the runs are kept and resumed.
"""

import argparse
import pathlib

import matplotlib
import numpy as np
import ray

import ide3al


def main() -> dict[tuple[str, float], float]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--address", help="of the cluster [default: a local one]")
    parser.add_argument(
        "--domains", nargs="+", default=["single-chain", "double-chain", "river-swim"]
    )
    parser.add_argument("--xi", nargs="+", type=float, default=[0.0, 0.05, 0.1, 0.2, 0.3])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=10)
    parser.add_argument(
        "--out", type=pathlib.Path, help="folder to keep the runs in, and resume from"
    )
    parser.add_argument("--picture", default="ray_sweep.png")
    given = parser.parse_args()
    if not ray.is_initialized():
        ray.init(address=given.address, include_dashboard=False, log_to_driver=False)

    best = {}
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(
        1,
        len(given.domains),
        figsize=(4 * len(given.domains), 3.5),
        layout="constrained",
        squeeze=False,
    )
    print(f"{'domain':14}{'xi':>6}  {'state entropy, share of the largest':>36}")
    for ax, domain in zip(panels[0], given.domains):
        means, halves = [], []
        for xi in given.xi:
            folder = None if given.out is None else given.out / f"{domain}-{xi}"
            result = ide3al.experiment(
                domain,
                "ideal",
                xi=xi,
                runs=given.runs,
                iterations=given.iterations,
                batch_size=given.batch_size,
                engine="ray",
                out=folder,
                resume=folder is not None and (folder / "experiment.json").exists(),
            )
            last = result.summary["algorithms"]["ideal"]["final"]["entropy_normalized"]
            means.append(last["mean"])
            halves.append((last["high"] - last["low"]) / 2)
            best[domain, xi] = last["mean"]
            print(f"{domain:14}{xi:6.2f}  {last['mean']:25.4f} +- {halves[-1]:.4f}")
        ax.errorbar(given.xi, means, halves, marker="o", color="#0072b2", capsize=3)
        ax.set(title=domain, xlabel="xi, least probability of an action")
        ax.grid(alpha=0.25)
    panels[0][0].set_ylabel("state entropy, share of the largest")
    figure.suptitle(f"Mean of {given.runs} runs, 95 % interval")
    figure.savefig(given.picture, dpi=110)
    for domain in given.domains:
        choice = max(given.xi, key=lambda xi: best[domain, xi])
        print(f"best on {domain}: xi {choice}, {100 * best[domain, choice]:.1f} %")
    assert np.isfinite(list(best.values())).all()
    return best


if __name__ == "__main__":
    main()
