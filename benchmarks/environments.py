"""An environment of its own for each peer, made once and outside of the project.

They lie in the folder that FAIRBANDITS_CACHE names, or in ~/.cache/fairbandits, under the name of what is pinned.
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
    """The environment cannot be made; says why in a line."""


def python_of(contender: Contender) -> Path:
    """Give the interpreter of a contender, and make its environment where there is none."""
    if contender.is_in_tree:
        return Path(sys.executable)
    folder = cache() / f"{contender.module}-{_key(contender)}"
    ready = folder / "ready"
    if not ready.exists():
        shutil.rmtree(folder, ignore_errors=True)
        _make(contender, folder)
        ready.touch()
    return folder / "bin" / "python"


def cache() -> Path:
    """Give the folder of all environments."""
    named = os.environ.get("FAIRBANDITS_CACHE")
    return (Path(named) if named else Path.home() / ".cache" / "fairbandits") / "benchmarks"


def _key(contender: Contender) -> str:
    what = " ".join((*contender.pins, *contender.bare, sys.version.split()[0]))
    return hashlib.sha256(what.encode()).hexdigest()[:12]


def _make(contender: Contender, folder: Path) -> None:
    print(
        f"making the environment of {contender.module}: {' '.join((*contender.pins, *contender.bare))}", flush=True
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
