"""The card of a data set: what it covers, what is missing, where it comes from. As JSON, as a few
lines, as one page."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._display import nats
from .._entropy import entropy
from .._ide3al import Error
from ..encoding.discrete import from_key
from .card_figures import curve_svg, heat_svg
from .transitions import Transitions

#: What a card holds, by name, as it is written to ``card.json``; ``DataCard`` has its types.
Card = Mapping[str, Any]
#: The key of the card in the metadata of files of other formats.
CARD = "ide3al_card"

#: Most pairs and states that are named one by one.
NAMED = 100
#: Keys that are computed from the data.
_SEEN = {
    "format", "steps", "episodes", "states", "actions", "entropy", "effective_states", "state_action_entropy",
    "effective_pairs", "pairs", "curve", "grid",
}  # fmt: skip
#: Rows and columns beyond which a map in a file is not drawn: it was made to exhaust the memory.
_MAX_SIDE = 1000
#: Points of the curve.
_POINTS = 60


def card_of(data: Transitions) -> Card:
    """Everything that can be told from the data, and what is known about them."""
    counts, actionable = data.counts, data.actionable
    visits = counts.sum(axis=1)
    possible = data.possible & actionable[:, None]
    of_wanting = counts[possible]
    untried = np.argwhere((counts == 0) & possible)
    unmet = np.flatnonzero(~data.met)
    bounds = data.bounds
    returns = np.add.reduceat(data.rewards, bounds[:-1]) if len(data) else np.zeros(0)
    state_entropy, pair_entropy = entropy(visits), entropy(counts.ravel())
    least = int(of_wanting.min()) if of_wanting.size else 0
    card: dict[str, Any] = {
        "format": "ide3al-card-1",
        "steps": len(data),
        "episodes": {
            "number": len(bounds) - 1 if len(data) else 0,
            "terminated": int(data.terminations.sum()),
            "truncated": int(data.truncations.sum()),
            "mean_return": _mean_return(returns),
        },
        "states": {
            "declared": data.n_states if data.keys is None else None,
            "met": int(data.met.sum()),
            "terminal": int(data.terminal.sum()),
            "unmet": int(unmet.size) if data.keys is None else None,
            "unmet_named": [_name(data, s) for s in unmet[:NAMED].tolist()]
            if data.keys is None
            else [],
        },
        "actions": data.n_actions,
        "entropy": state_entropy,
        "effective_states": float(np.exp(state_entropy)) if len(data) else 0.0,
        "state_action_entropy": pair_entropy,
        "effective_pairs": float(np.exp(pair_entropy)) if len(data) else 0.0,
        "pairs": {
            "of_states_met": int(of_wanting.size),
            "tried": int((of_wanting > 0).sum()),
            "least_count": least,
            "least_tried_named": [
                [_name(data, s), a, int(counts[s, a])]
                for s, a in _rarest(counts, actionable, NAMED)
            ],
            "untried": len(untried),
            "untried_named": [[_name(data, s), a] for s, a in untried[:NAMED].tolist()],
        },
        "curve": _curve(data),
        "grid": _grid(data, visits),
    }
    card.update({key: value for key, value in data.about.items() if key != "cells"})
    return card


def _mean_return(returns: Any) -> float | list[float] | None:
    """One number, or one for each objective; nothing where it is not finite."""
    if not returns.size or not np.isfinite(returns).all():
        return None
    mean = returns.mean(axis=0)
    return float(mean) if mean.ndim == 0 else [float(x) for x in mean]


def _name(data: Transitions, state: int) -> Any:
    """A state as people know it: its number, or what was observed."""
    if data.keys is None:
        return state
    # without the space, so that a card read from a file says the same
    text = _short(from_key(None, data.keys[state]))
    return f"{state}: {text if len(text) <= 80 else text[:77] + '...'}"


def _short(observation: Any) -> str:
    """An observation on one line."""
    if isinstance(observation, np.ndarray):
        return repr(observation.tolist())
    if isinstance(observation, dict):
        parts = ", ".join(f"{name!r}: {_short(part)}" for name, part in observation.items())
        return f"{{{parts}}}"
    if isinstance(observation, tuple):
        return f"({', '.join(map(_short, observation))})"
    if isinstance(observation, np.generic):
        observation = observation.item()
    return f"{observation:.4g}" if isinstance(observation, float) else repr(observation)


def _rarest(counts: Any, actionable: Any, count: int) -> list[tuple[int, int]]:
    """The pairs tried least, of those tried at all."""
    known = np.where((counts > 0) & actionable[:, None], counts, np.iinfo(np.int64).max).ravel()
    order = np.argsort(known, kind="stable")[: min(count, 20)]
    n = counts.shape[1]
    return [(int(k) // n, int(k) % n) for k in order.tolist() if known[k] < np.iinfo(np.int64).max]


def _curve(data: Transitions) -> dict[str, list[float]]:
    """Pairs tried, least count and effective states after so many steps. The least count is over
    the pairs of states that the whole data set met."""
    n = len(data)
    marks = (
        np.unique(np.linspace(0, n, min(n, _POINTS) + 1).astype(np.int64))
        if n
        else np.zeros(1, dtype=np.int64)
    )
    pairs = data.observations * data.n_actions + data.actions
    first = np.sort(np.unique(pairs, return_index=True)[1])
    actionable = np.repeat(data.actionable, data.n_actions)
    so_far = np.zeros(data.n_states * data.n_actions, dtype=np.int64)
    least, effective = [0], [0.0]
    for before, after in zip(marks[:-1].tolist(), marks[1:].tolist(), strict=True):
        so_far += np.bincount(pairs[before:after], minlength=so_far.size)
        least.append(int(so_far[actionable].min()) if actionable.any() else 0)
        effective.append(float(np.exp(entropy(so_far.reshape(-1, data.n_actions).sum(axis=1)))))
    return {
        "steps": marks.tolist(),
        "pairs_tried": np.searchsorted(first, marks, side="left").tolist(),
        "least_count": [float(x) for x in least],
        "effective_states": effective,
    }


def _grid(data: Transitions, visits: Any) -> dict[str, Any] | None:
    """Visits per cell, walls as null."""
    cells = data.about.get("cells")
    if cells is None:
        return None
    rows, columns, at = cells
    sums: list[int | None] = [None] * (rows * columns)
    for state, cell in enumerate(at[: data.n_states]):
        if 0 <= cell < rows * columns:
            sums[cell] = (sums[cell] or 0) + int(visits[state])
    return {"rows": rows, "columns": columns, "visits": sums, "cells": list(at)}


def about_of(card: Card) -> dict[str, Any]:
    """What a card says that is not seen in the data themselves."""
    about = {key: value for key, value in card.items() if key not in _SEEN}
    grid = card.get("grid")
    if isinstance(grid, dict) and "cells" in grid:
        rows, columns, cells = grid.get("rows"), grid.get("columns"), grid["cells"]
        sizes = all(type(size) is int and 0 < size <= _MAX_SIDE for size in (rows, columns))
        if sizes and isinstance(cells, list) and all(type(cell) is int for cell in cells):
            about["cells"] = rows, columns, cells
    return about


def card_text(card: Card) -> str:
    """JSON, one key per line at the top."""
    lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in card.items())
    return f"{{\n{lines}\n}}\n"


def read_card(text: str, source: str) -> Card:
    """A card as :func:`card_text` wrote it."""
    try:
        card = json.loads(text)
        if not isinstance(card, dict):
            raise ValueError("no object")
    except ValueError as problem:
        raise Error(f"{source}: card: damaged: {problem}") from None
    return card


def card_rows(card: Card) -> list[tuple[str, str]]:
    """A few lines for people."""
    pairs, states, episodes = card["pairs"], card["states"], card["episodes"]
    all_pairs, all_states = (
        max(pairs["of_states_met"], 2),
        max(states["met"] - states["terminal"], 2),
    )
    share = 100 * pairs["tried"] / max(pairs["of_states_met"], 1)
    rows = []
    if "environment" in card:
        rows.append(("environment", str(card["environment"])))
    rows += [
        ("steps", str(card["steps"])),
        (
            "episodes",
            f"{episodes['number']}: {episodes['terminated']} ended by a terminal state, {episodes['truncated']} cut short",
        ),
        ("states met", _states(states)),
        (
            "pairs seen",
            f"{pairs['tried']} of {pairs['of_states_met']} of states met, {share:.1f} %",
        ),
        ("least count", f"{pairs['least_count']} of a pair; {pairs['untried']} never tried"),
        ("state entropy", nats(card["entropy"], card["entropy"] / np.log(all_states))),
        ("effective states", f"{card['effective_states']:.1f}"),
        (
            "state-action entropy",
            nats(card["state_action_entropy"], card["state_action_entropy"] / np.log(all_pairs)),
        ),
    ]
    promise = card.get("promise")
    if promise:
        rows.append(("promise", promise["text"]))
        if promise.get("least_steps") is not None:
            rows.append(("least steps", _least(promise)))
    return rows


def _states(states: dict[str, Any]) -> str:
    declared = "" if states["declared"] is None else f" of {states['declared']} declared"
    return f"{states['met']}{declared}, {states['terminal']} of them terminal"


def _least(promise: dict[str, Any]) -> str:
    ratio = promise.get("ratio")
    said = f"at least {promise['least_steps']:.0f} from nothing, in the estimated model"
    return said if ratio is None else f"{said}; taken: {ratio:.2f} times as many"


_STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
table{border-collapse:collapse}th{text-align:left;font-weight:600;padding:.15rem 1.5rem .15rem 0;vertical-align:top}
td{padding:.15rem 0}code,pre{font:13px/1.4 ui-monospace,monospace}pre{background:#f5f5f5;padding:1rem;overflow:auto}
figure{margin:1rem 0}figcaption{color:#505050}svg{max-width:100%;height:auto}"""


def card_page(card: Card) -> str:
    """One page that needs nothing else. Whatever names the data carry, they are text here."""
    title = f"Data set: {card.get('environment', 'transitions')}"
    escape = html.escape
    table = "".join(
        f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in card_rows(card)
    )
    parts = [f"<h1>{escape(title)}</h1><table>{table}</table>"]
    parts.append(
        f"<figure>{curve_svg(card)}<figcaption>What the first steps cover.</figcaption></figure>"
    )
    if card["grid"] is not None:
        parts.append(
            f"<figure>{heat_svg(card['grid'])}<figcaption>Visits per cell.</figcaption></figure>"
        )
    pairs, states = card["pairs"], card["states"]
    missing = []
    if pairs["untried"]:
        named = ", ".join(f"({s}, {a})" for s, a in pairs["untried_named"])
        more = pairs["untried"] - len(pairs["untried_named"])
        missing.append(
            ("pairs never tried (state, action)", named + (f" and {more} more" if more else ""))
        )
    if states["unmet"]:
        named = ", ".join(str(s) for s in states["unmet_named"])
        more = states["unmet"] - len(states["unmet_named"])
        missing.append(
            ("states declared and never met", named + (f" and {more} more" if more else ""))
        )
    if missing:
        listed = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in missing)
        parts.append(f"<h2>What is missing</h2><table>{listed}</table>")
    rest = {
        k: v for k, v in card.items() if k not in ("curve", "grid", "pairs", "states", "episodes")
    }
    parts.append(f"<h2>How it was made</h2><pre>{escape(json.dumps(rest, indent=1))}</pre>")
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>'
        f"<body>{body}</body></html>\n"
    )
