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
