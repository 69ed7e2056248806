"""The program that `make test` built beside the package."""

from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "target" / "checked" / "ide3al"
