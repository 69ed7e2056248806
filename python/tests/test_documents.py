"""Every ```python block of the documents runs, one after the other within a page, and prints what a
```text block behind it shows; ```py marks a fragment that is only shown."""

import os
import re
import sys
from pathlib import Path

import matplotlib
import pytest

matplotlib.use("Agg")

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "python" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def files(page):
    """(name, content) of the files that its shell blocks write, for the Python that follows."""
    text = page.read_text(encoding="utf-8")
    yield from re.findall(r"^cat > (\S+) <<'END'\n(.*?^)END$", text, re.MULTILINE | re.DOTALL)


def blocks(page):
    """(line, code, lines shown) of the blocks that are run."""
    text = page.read_text(encoding="utf-8")
    for found in re.finditer(
        r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", text, re.MULTILINE | re.DOTALL
    ):
        yield (
            text.count("\n", 0, found.start()) + 2,
            found.group(1),
            (found.group(2) or "").splitlines(),
        )


WITH_CODE = [page for page in PAGES if any(blocks(page))]


def test_there_is_something_to_run():
    assert ROOT / "README.md" in WITH_CODE and ROOT / "python" / "README.md" in WITH_CODE


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_the_documents_show_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", os.fspath(tmp_path / "minari"))
    # pages name the repository's examples as seen from its root
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for name, content in files(page):
        (tmp_path / name).write_text(content, encoding="utf-8")
    names = {"__name__": "__main__"}
    for line, code, shown in blocks(page):
        # the file's own lines, so that a traceback names them
        exec(compile("\n" * (line - 1) + code, page, "exec"), names)
        printed = capsys.readouterr().out.splitlines()
        # digits of learning hang on the system's logarithms
        if sys.platform == "linux":
            missing = [text for text in shown if text not in printed]
            assert missing == [], f"{page}, line {line}: {printed}"
