"""Small tables for people, as text and as HTML."""

from __future__ import annotations

import base64
import html
import math
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def text_table(title: str, rows: Sequence[tuple[str, str]]) -> str:
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join([title, *(f"  {name:<{width}}  {value}" for name, value in rows)])


def html_table(title: str, rows: Sequence[tuple[str, str]]) -> str:
    body = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
        for name, value in rows
    )
    return f"<table><caption>{html.escape(title)}</caption>{body}</table>"


def html_picture(svg: str, description: str) -> str:
    """An SVG as a picture: nothing in it can reach the page around it."""
    data = base64.b64encode(svg.encode()).decode()
    return f'<img alt="{html.escape(description)}" src="data:image/svg+xml;base64,{data}">'


def plain(value: Any) -> str:
    """A value as it would be typed: ``0`` where NumPy writes ``np.int64(0)``."""
    if isinstance(value, tuple):
        return f"({', '.join(plain(part) for part in value)}{',' * (len(value) == 1)})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name!r}: {plain(part)}' for name, part in value.items())}}}"
    return repr(value.item() if isinstance(value, np.generic) else value)


def nats(entropy: float, share: float) -> str:
    return f"{entropy:.5g} nats, {100 * share:.2f} % of the maximum"


class Progress:
    """A progress bar on standard error: the share done, the share of pairs tried, the time left.

    It is drawn at most ten times a second, since what it shows takes time to compute."""

    def __init__(self, total: int, shown: bool) -> None:
        self._total, self._shown = total, shown
        self._begun = time.monotonic()
        self._drawn = -math.inf
        self._last: tuple[int, int, Any] | None = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown and self._last is not None:
            self._draw(*self._last)
            sys.stderr.write("\n")
            sys.stderr.flush()

    def __call__(self, done: int, total: int, agent: Any) -> None:
        """Draws where things stand."""
        self._last = done, total, agent
        if self._shown and time.monotonic() - self._drawn >= 0.1:
            self._draw(done, total, agent)

    def _draw(self, done: int, total: int, agent: Any) -> None:
        self._drawn = time.monotonic()
        more = f"{100 * agent.coverage:.1f} % of pairs tried"
        sys.stderr.write(bar(done, total, self._drawn - self._begun, more))
        sys.stderr.flush()


def bar(done: int, total: int, seconds: float, more: str = "") -> str:
    """One line that takes the place of the one before."""
    filled = 30 * done // max(total, 1)
    left = seconds * (total - done) / max(done, 1)
    text = f"\r\x1b[K[{'#' * filled}{'.' * (30 - filled)}] {done}/{total} steps"
    text += f", {clock(left)} left" if done < total else f", {clock(seconds)}"
    return text + (f", {more}" if more else "")


def clock(seconds: float) -> str:
    """A time as people write it."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d} min"
    return f"{whole // 3600}:{whole // 60 % 60:02d} h"
