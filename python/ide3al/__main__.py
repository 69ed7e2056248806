"""``python -m ide3al audit ID_OR_FILE``: the card of a data set."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ._ide3al import Error
from .datasets.audit import audit
from .datasets.card import card_text
from .datasets.coverage import Coverage


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
    given = parser.parse_args(arguments)
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


if __name__ == "__main__":
    sys.exit(main())
