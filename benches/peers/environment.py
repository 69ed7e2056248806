"""The virtual environments that the peers of the benchmarks live in, each made on first use."""

import os
import subprocess
import sys
from pathlib import Path


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
