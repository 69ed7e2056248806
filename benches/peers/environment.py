"""The virtual environments that the peers of the benchmarks live in, each made on first use, and
checkouts of other people's programs."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def enter(name, *packages):
    """Runs the calling script again inside benches/peers/NAME, which holds the given packages.

    Returns at once where it already runs there. The environment is made anew when the list of
    packages has changed since.
    """
    folder = Path(__file__).resolve().parent / name
    python = folder / "bin" / "python"
    if Path(sys.prefix).resolve() == folder.resolve():
        return
    ready, wanted = folder / "ready", "\n".join(packages)
    if not ready.exists() or ready.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=True)
        ready.write_text(wanted)
    os.execv(str(python), [str(python), *sys.argv])


def checkout(given, repository):
    """The folder of a checkout: the given one, or a clone of the repository from GitHub."""
    folder = Path(given or ROOT / "target" / "checkouts" / repository.replace("/", "+")).resolve()
    if given is None and not folder.exists():
        source = f"https://github.com/{repository}"
        subprocess.run(["git", "clone", "--quiet", "--depth", "1", source, str(folder)], check=True)
    if not folder.is_dir():
        sys.exit(f"{folder}: no such folder; give that of a checkout of github.com/{repository}")
    return folder
