"""What all tests share."""

import os
import signal
from pathlib import Path

import matplotlib
import pytest

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def ctrl_c_raises():
    """Also where the tests run in the background and SIGINT came ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def pytest_terminal_summary(terminalreporter):
    """A browser that is missing must not go unnoticed."""
    skipped = terminalreporter.stats.get("skipped", [])
    if any("NO CHROMIUM" in str(report.longrepr) for report in skipped):
        terminalreporter.write_line(
            "WARNING: no Chromium was found, so the studio's page was NOT tested; install chromium "
            "or set CHROMIUM to its path",
            red=True,
            bold=True,
        )


@pytest.fixture(scope="session")
def cluster():
    """Two Ray nodes, the same for all tests; their workers know these files."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    here, before = str(Path(__file__).parent), os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = here if before is None else f"{here}{os.pathsep}{before}"
    head = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 10**8}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    cluster.add_node(num_cpus=1, object_store_memory=10**8)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before
