"""Optional dependencies: the extras of the installation."""

from __future__ import annotations


def install_hint(extra: str) -> str:
    """Return instructions for installing an extra, for the end of an error message.

    pip keeps the installed version, wherever it came from, and adds the packages that the extra needs.

    Examples
    --------
    >>> install_hint("plot")
    "install fairbandits with its extra: pip install 'fairbandits[plot]'"
    """
    return f"install fairbandits with its extra: pip install 'fairbandits[{extra}]'"
