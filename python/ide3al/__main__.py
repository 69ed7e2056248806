"""``python -m ide3al``: the card of a data set, the exploration of an environment by name, plans
from data."""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ._display import Progress
from ._explore import explore
from ._ide3al import Error
from .datasets.audit import audit
from .datasets.card import card_text
from .datasets.coverage import Coverage
from .planning import command as planning


def _told(run: Callable[[], str]) -> int:
    """Prints what came of a command, or what is wrong."""
    try:
        print(run())
    except Error as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m ide3al", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("audit", help="what a data set covers, and what is missing")
    command.add_argument(
        "dataset",
        metavar="ID_OR_FILE",
        help="id of a Minari data set, .npz, .parquet, or the folder of a collection",
    )
    promise = command.add_mutually_exclusive_group()
    promise.add_argument(
        "--each-pair", type=int, metavar="N", help="hold it to N samples of every pair"
    )
    promise.add_argument(
        "--each-state", type=int, metavar="N", help="hold it to N visits of every state"
    )
    promise.add_argument(
        "--effective-states", type=float, metavar="N", help="hold it to N effective states"
    )
    command.add_argument("--out", metavar="FILE", help="write the card: .json or .html")
    command.add_argument("--json", action="store_true", help="print the card as JSON")
    _add_explore(commands)
    planning.add_parser(commands)
    given = parser.parse_args(arguments)
    if given.command == "explore":
        return _explore(given)
    if given.command == "plan":
        return _told(lambda: planning.run(given))
    wanted = {
        "each_pair": given.each_pair,
        "each_state": given.each_state,
        "effective_states": given.effective_states,
    }
    wanted = {name: value for name, value in wanted.items() if value is not None}
    try:
        if given.out is not None and not given.out.endswith((".json", ".html")):
            raise Error(f"--out {given.out}: the card is written as .json or .html")
        data = audit(given.dataset, until=Coverage(**wanted) if wanted else None)
        if given.out is not None:
            data.save(given.out)
        print(card_text(data.card) if given.json else data)
    except Error as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    return 0


def _add_explore(commands: Any) -> None:
    command = commands.add_parser(
        "explore",
        help="explore an environment: agent, data set, card and report in a folder",
        description="Explore an environment of Gymnasium by its id. The folder then holds "
        "agent.zip, data.npz, card.json, card.html and report.html; after an interruption the "
        "same command goes on.",
    )
    command.add_argument(
        "environment", metavar="ENV_ID", help="such as LunarLander-v3, or module:Id-v0"
    )
    command.add_argument("--steps", type=int, required=True, metavar="N", help="steps to take")
    command.add_argument("--out", required=True, metavar="FOLDER", help="where the results go")
    command.add_argument("--seed", type=int, default=0, metavar="S", help="0 unless given")
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an argument of the environment, such as map_name=8x8; may be given again",
    )
    command.add_argument("--quiet", action="store_true", help="show no progress")


def _explore(given: argparse.Namespace) -> int:
    try:
        settings = dict(_setting(text) for text in given.set)
        with Progress(given.steps, not given.quiet) as show:
            data = explore(
                given.environment,
                given.steps,
                given.out,
                seed=given.seed,
                settings=settings,
                show=show,
            )
    except Error as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"interrupted; the same command goes on in {given.out}", file=sys.stderr)
        return 130
    print(data)
    print(f"report: {Path(given.out) / 'report.html'}")
    return 0


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise Error(f"--set {text}: NAME=VALUE is needed, such as map_name=8x8")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        # any other text stands for itself
        return name, value


if __name__ == "__main__":
    sys.exit(main())
