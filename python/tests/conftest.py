"""What all tests share."""

import signal

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
