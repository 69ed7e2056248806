"""What the release workflow runs besides the tests."""

import importlib.util
import re
import shutil
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
URL = "https://example.org/someone/ide3al"


def address():
    spec = importlib.util.spec_from_file_location("address", ROOT / ".github" / "address.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_registries_pages_have_links_that_lead_somewhere(tmp_path):
    (tmp_path / "python").mkdir()
    for name in ("README.md", "Cargo.toml", "python/README.md", "python/pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    address().main(tmp_path, URL + "/", "v9.9.9")
    crate = tomllib.loads((tmp_path / "Cargo.toml").read_text())
    assert crate["package"]["repository"] == URL
    package = tomllib.loads((tmp_path / "python/pyproject.toml").read_text())
    assert package["project"]["urls"]["Repository"] == URL
    assert "gymnasium" in package["project"]["optional-dependencies"]
    for page in ("README.md", "python/README.md"):
        links = re.findall(r"\]\(([^)\s]+)\)", (tmp_path / page).read_text(encoding="utf-8"))
        assert len(links) > 3
        for link in links:
            kind, _, path = link.removeprefix(URL + "/").partition("/v9.9.9/")
            assert (ROOT / path).is_file(), f"{page}: {link}"
            assert kind == ("raw" if path.endswith(".png") else "blob"), link


def test_links_that_are_addresses_stay():
    page = "[a](https://x.org/a.png) [b](#there) [c](../docs/c.md) ![d](d.png)"
    expected = f"[a](https://x.org/a.png) [b](#there) [c]({URL}/blob/v1/docs/c.md) ![d]({URL}/raw/v1/python/d.png)"
    assert address().absolute(page, "python", URL, "v1") == expected
