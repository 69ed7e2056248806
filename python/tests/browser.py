"""A real Chromium for the tests of the studio's page."""

import os
import shutil
from pathlib import Path

import pytest

NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def find() -> str | None:
    """A Chromium on this machine, or the one that Playwright installed."""
    given = os.environ.get("CHROMIUM")
    if given:
        return given
    for name in NAMES:
        if path := shutil.which(name):
            return path
    installed = Path.home().glob(".cache/ms-playwright/chromium-*/*/chrome")
    return next((str(path) for path in installed), None)


class Watched:
    """A page whose every complaint is remembered."""

    def __init__(self, page):
        self.page = page
        self.complaints = []
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on(
            "console",
            lambda message: (
                message.type in ("error", "warning")
                and self.complaints.append(f"{message.type}: {message.text}")
            ),
        )
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))


@pytest.fixture(scope="session")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api")
    path = find()
    if path is None:
        pytest.skip("NO CHROMIUM on this machine: the studio's page is NOT tested (set CHROMIUM)")
    with playwright.sync_playwright() as driver:
        try:
            browser = driver.chromium.launch(executable_path=path, args=FLAGS, headless=True)
        except playwright.Error as error:
            # a Chromium whose system libraries are missing is no Chromium
            pytest.skip(
                f"NO CHROMIUM that starts: the studio's page is NOT tested ({path}: {str(error)[:200]})"
            )
        yield browser
        browser.close()
