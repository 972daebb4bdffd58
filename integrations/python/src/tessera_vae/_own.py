"""The program inside this package."""

import os
from pathlib import Path


def name() -> str:
    return "tessera.exe" if os.name == "nt" else "tessera"


def own() -> str:
    """Return the program's file; empty if the package was installed without it."""
    file = Path(__file__).with_name("bin") / name()
    return str(file) if file.is_file() else ""
