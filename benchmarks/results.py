"""The file of all results, in which every benchmark keeps a part."""

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
    """Read all parts; none where there is no file yet."""
    parts: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return parts


def keep(part: str, value: Any, path: Path = PATH) -> None:
    """Replace one part, and leave the others."""
    path.write_text(json.dumps(read(path) | {part: _short(value)}, indent=1) + "\n")


def machine() -> dict[str, Any]:
    """Say what it was measured on, as far as it matters for speed."""
    return {"processor": _processor(), "cores": os.cpu_count(), "python": platform.python_version()}


def _processor() -> str:
    cpus = Path("/proc/cpuinfo")
    lines = cpus.read_text().splitlines() if cpus.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _short(value: Any) -> Any:
    """Leave out the digits that mean nothing."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: _short(one) for key, one in value.items()}
    return [_short(one) for one in value] if isinstance(value, list) else value


def rounded(value: float) -> str:
    """Write a number with three digits, or as a whole one."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
