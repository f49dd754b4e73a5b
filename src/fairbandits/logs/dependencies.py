"""Optional dependencies of logs."""

from __future__ import annotations

from importlib.util import find_spec

from fairbandits.extras import install_hint


def require_arrow() -> None:
    """Raise if pyarrow or narwhals is not installed."""
    for name in ("pyarrow", "narwhals"):
        try:
            is_installed = find_spec(name) is not None
        except ValueError:  # `sys.modules` has an entry without a spec
            is_installed = False
        if not is_installed:
            raise ImportError(f"logs need {name}; {install_hint('logs')}")
