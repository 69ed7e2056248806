"""Every ```python block of the documents runs, one after the other within a page, and prints what a
```text block behind it shows; ```py marks a fragment that is only shown. The Python part of the
tutorial is kept as a notebook, too: ``NOTEBOOK=write pytest tests/test_documents.py`` makes it
anew."""

import json
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


TUTORIAL, NOTEBOOK = ROOT / "docs" / "tutorial.md", ROOT / "docs" / "tutorial.ipynb"


def cells(page):
    """A page from the section of its first Python on as cells of a notebook: text, code, and what
    the code shows; before them the files that its shell blocks write."""
    text = page.read_text(encoding="utf-8")
    text = text[text.rindex("\n## ", 0, text.index("```python")) + 1 :]
    writes = [f"Path({name!r}).write_text({content!r})\n" for name, content in files(page)]
    yield "code", "from pathlib import Path\n\n" + "".join(writes)
    parts = re.split(r"^```python\n(.*?)^```$\n(?:\n```text\n.*?^```$)?", text, flags=re.M | re.S)
    for k, part in enumerate(parts):
        if part.strip():
            yield ("code" if k % 2 else "markdown"), part.strip() + "\n"


def test_the_notebook_is_the_tutorial_and_runs(tmp_path, monkeypatch):
    made = [
        {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True)}
        | ({"execution_count": None, "outputs": []} if kind == "code" else {})
        for kind, source in cells(TUTORIAL)
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 4}
    if os.environ.get("NOTEBOOK") == "write":
        text = json.dumps(whole, indent=1, ensure_ascii=False) + "\n"
        NOTEBOOK.write_text(text, encoding="utf-8")
    kept = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert kept == whole, "the tutorial has changed: NOTEBOOK=write makes the notebook anew"
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for cell in kept["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert names["promise"]["holds"] and names["low"] <= names["high"]
