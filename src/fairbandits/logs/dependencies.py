"""What logs need that not everybody has."""

from __future__ import annotations

from importlib.util import find_spec


def need_arrow() -> None:
    """Say what to install where it is missing."""
    for name in ("pyarrow", "narwhals"):
        try:
            is_there = find_spec(name) is not None
        except ValueError:  # somebody has put nothing in its place
            is_there = False
        if not is_there:
            raise ImportError(f"logs need {name}, which is not installed: pip install 'fairbandits[logs]'")
