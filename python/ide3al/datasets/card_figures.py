"""Drawings of a card, as SVG with nothing but numbers in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP, _RIGHT = 800, 260, 60, 40, 16, 230
#: Anchors of a ramp that is even to the eye, dark to light.
_RAMP = np.array(
    [(68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37)], dtype=float
)


def curve_svg(card: Mapping[str, Any]) -> str:
    """Shares of their last value: pairs tried and effective states; and of the largest, the least
    count."""
    curve = card["curve"]
    steps = np.asarray(curve["steps"], dtype=float)
    lines = [
        (
            "pairs tried",
            np.asarray(curve["pairs_tried"], dtype=float),
            "#0072b2",
            "",
            max(card["pairs"]["of_states_met"], 1),
        ),
        (
            "effective states",
            np.asarray(curve["effective_states"], dtype=float),
            "#d55e00",
            "6 4",
            max(card["states"]["met"], 1),
        ),
        ("least count", np.asarray(curve["least_count"], dtype=float), "#505050", "2 3", None),
    ]
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    last = max(float(steps[-1]), 1.0)
    drawn = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img" aria-label="coverage against steps">'
    ]
    drawn.append('<g font-family="system-ui,sans-serif" font-size="12">')
    for share in (0.0, 0.5, 1.0):
        y = _TOP + height * (1 - share)
        drawn.append(f'<path d="M{_LEFT} {y:.1f}H{_LEFT + width}" stroke="#ddd"/>')
        drawn.append(
            f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{100 * share:.0f} %</text>'
        )
    for share in (0.0, 0.5, 1.0):
        x = _LEFT + width * share
        drawn.append(
            f'<text x="{x:.1f}" y="{_HEIGHT - 22}" text-anchor="middle">{share * last:.0f}</text>'
        )
    drawn.append(
        f'<text x="{_LEFT + width / 2:.0f}" y="{_HEIGHT - 4}" text-anchor="middle">steps</text>'
    )
    ends: list[float] = []
    for name, values, colour, dash, whole in lines:
        top = float(whole) if whole is not None else max(float(values.max()), 1.0)
        points = " ".join(
            f"{_LEFT + width * s / last:.1f},{_TOP + height * (1 - min(v / top, 1.0)):.1f}"
            for s, v in zip(steps, values, strict=True)
        )
        drawn.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
        )
        y = _TOP + height * (1 - min(float(values[-1]) / top, 1.0)) + 4
        # names must not lie on one another
        while any(abs(y - other) < 15 for other in ends):
            y += 15
        ends.append(y)
        figure = f"{values[-1]:.0f} of {top:.0f}" if whole is not None else f"{values[-1]:.0f}"
        drawn.append(
            f'<text x="{_LEFT + width + 6}" y="{y:.1f}" fill="{colour}">{name}: {figure}</text>'
        )
    drawn.append("</g></svg>")
    return "".join(drawn)


def heat_svg(grid: dict[str, Any]) -> str:
    """Visits per cell, walls grey, with the numbers as titles."""
    rows, columns, visits = grid["rows"], grid["columns"], grid["visits"]
    size = max(8, min(36, 640 // max(columns, 1)))
    highest = max([v for v in visits if v] or [1])
    drawn = [
        f'<svg viewBox="0 0 {columns * size} {rows * size}" width="{columns * size}" role="img" aria-label="visits per cell">'
    ]
    for cell, count in enumerate(visits):
        x, y = cell % columns * size, cell // columns * size
        fill = "#dddddd" if count is None else _colour(count / highest)
        title = "" if count is None else f"<title>{count}</title>"
        drawn.append(
            f'<rect x="{x}" y="{y}" width="{size}" height="{size}" fill="{fill}">{title}</rect>'
        )
    drawn.append("</svg>")
    return "".join(drawn)


def _colour(share: float) -> str:
    position = min(max(share, 0.0), 1.0) * (len(_RAMP) - 1)
    k = min(int(position), len(_RAMP) - 2)
    r, g, b = _RAMP[k] + (position - k) * (_RAMP[k + 1] - _RAMP[k])
    return f"#{round(r):02x}{round(g):02x}{round(b):02x}"
