"""The program that `make test` built beside the package."""

import os
from pathlib import Path

PROGRAM = (
    Path(__file__).parents[2]
    / "target"
    / "checked"
    / ("ide3al.exe" if os.name == "nt" else "ide3al")
)
