"""Scopes: the permissions of a key. Each route declares the scope that it needs (see `http/routing.py`)."""

from __future__ import annotations

from collections.abc import Iterable

#: All scopes: decisions, rewards, reading, and changing the arms. No scope implies another.
SCOPES = ("decide", "reward", "read", "admin")


def parse_scopes(scopes: Iterable[str]) -> frozenset[str]:
    """Return scopes as a set; raise ValueError if any is unknown or if there are none."""
    wanted = list(scopes)
    unknown = [scope for scope in wanted if scope not in SCOPES]
    if unknown or not wanted:
        got = ", ".join(map(repr, unknown)) or "none"
        raise ValueError(f"scopes must be one or more of {', '.join(SCOPES)}, got {got}")
    return frozenset(wanted)
