"""Writes the repository's address where the registries' pages need it, before a release is packed:

    python .github/address.py https://github.com/OWNER/NAME v1.2.3

The address stands nowhere else, so that a fork releases under its own. Registries show READMEs without the repository around them: their relative
links become addresses of the tag's files.
"""

import re
import sys
from pathlib import Path

PICTURES = (".png", ".svg")


def absolute(text: str, folder: str, url: str, tag: str) -> str:
    """The page with its relative links, seen from `folder`, as addresses."""

    def address(found: re.Match[str]) -> str:
        target = found.group(1)
        if re.match(r"[a-z]+:|#", target):
            return found.group(0)
        parts: list[str] = []
        for part in f"{folder}/{target}".split("/"):
            if part == "..":
                parts.pop()
            elif part not in ("", "."):
                parts.append(part)
        kind = "raw" if target.endswith(PICTURES) else "blob"
        return f"]({url}/{kind}/{tag}/{'/'.join(parts)})"

    return re.sub(r"\]\(([^)\s]+)\)", address, text)


def once(text: str, before: str, line: str) -> str:
    if text.count(before) != 1:
        sys.exit(f"'{before.strip()}' is expected once")
    return text.replace(before, line + before)


def main(root: Path, url: str, tag: str) -> None:
    url = url.removesuffix("/")
    for page, folder in (("README.md", ""), ("python/README.md", "python")):
        path = root / page
        path.write_text(
            absolute(path.read_text(encoding="utf-8"), folder, url, tag), encoding="utf-8"
        )
    crate = root / "Cargo.toml"
    crate.write_text(once(crate.read_text(), "\nreadme = ", f'\nrepository = "{url}"'))
    package = root / "python/pyproject.toml"
    urls = f'\n[project.urls]\nRepository = "{url}"\nChangelog = "{url}/blob/{tag}/CHANGELOG.md"\n'
    package.write_text(once(package.read_text(), "\n[project.optional-dependencies]\n", urls))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(), *sys.argv[1:])
