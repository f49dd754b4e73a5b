"""The file of all results, with one part per benchmark."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent
PATH = ROOT / "results.json"
IMAGES = ROOT.parent / "docs" / "images"


def read(path: Path = PATH) -> dict[str, Any]:
    """Return all parts; an empty dictionary if there is no file."""
    parts: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return parts


def save(part: str, value: Any, path: Path = PATH) -> None:
    """Replace one part of the file."""
    path.write_text(json.dumps(read(path) | {part: _rounded(value)}, indent=1) + "\n")


def machine() -> dict[str, Any]:
    """Return processor, cores and Python version of this machine."""
    return {"processor": _processor(), "cores": os.cpu_count(), "python": platform.python_version()}


def _processor() -> str:
    cpus = Path("/proc/cpuinfo")
    lines = cpus.read_text().splitlines() if cpus.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _rounded(value: Any) -> Any:
    """Round all floats to five significant digits."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list) else value


def rounded(value: float) -> str:
    """Format a number with three significant digits, or as an integer."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
