"""Small tables for people, as text and as HTML."""

import base64
import html
from collections.abc import Sequence


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


def nats(entropy: float, share: float) -> str:
    return f"{entropy:.5g} nats, {100 * share:.2f} % of the maximum"
