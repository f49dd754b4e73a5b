"""Packages that only some parts need: the extras of the installation."""

from __future__ import annotations


def install_hint(extra: str) -> str:
    """Return how to install an extra, for the end of an error.

    Examples
    --------
    >>> install_hint("plot")
    "install fairbandits with its extra: pip install '.[plot]' in the folder of its source"
    """
    return f"install fairbandits with its extra: pip install '.[{extra}]' in the folder of its source"
