"""The examples run."""

import runpy
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_frozen_lake_in_ten_lines(capsys):
    path = EXAMPLES / "frozen_lake.py"
    runpy.run_path(str(path))
    out = capsys.readouterr().out
    assert "optimal" in out and "state-action pairs in 20000 steps" in out
    lines = [line for line in path.read_text().splitlines() if line and line[0] != '"']
    assert len(lines) <= 10
