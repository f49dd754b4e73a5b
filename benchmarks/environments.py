"""Virtual environments of the peers, created once and outside of the project.

They are in the folder that FAIRBANDITS_CACHE names, or in ~/.cache/fairbandits, named by a hash of the pinned
packages.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from contenders import Contender


class NoEnvironmentError(Exception):
    """Raised if an environment cannot be created; the message is one line."""


def python_of(contender: Contender) -> Path:
    """Return the interpreter of a contender; create its environment if needed."""
    if contender.is_in_tree:
        return Path(sys.executable)
    folder = cache() / f"{contender.module}-{_key(contender)}"
    ready = folder / "ready"
    if not ready.exists():
        shutil.rmtree(folder, ignore_errors=True)
        _create(contender, folder)
        ready.touch()
    return folder / "bin" / "python"


def cache() -> Path:
    """Return the folder of all environments."""
    named = os.environ.get("FAIRBANDITS_CACHE")
    return (Path(named) if named else Path.home() / ".cache" / "fairbandits") / "benchmarks"


def _key(contender: Contender) -> str:
    packages = " ".join((*contender.pins, *contender.bare, sys.version.split()[0]))
    return hashlib.sha256(packages.encode()).hexdigest()[:12]


def _create(contender: Contender, folder: Path) -> None:
    print(
        f"creating the environment of {contender.module}: {' '.join((*contender.pins, *contender.bare))}",
        flush=True,
    )
    _run([sys.executable, "-m", "venv", str(folder)])
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, *contender.pins])
    if contender.bare:
        _run([*pip, "--no-deps", "--ignore-requires-python", *contender.bare])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["pip failed"]
        raise NoEnvironmentError(lines[-1])
