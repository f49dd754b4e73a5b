"""Durations as people write them, such as `90d` or `180 days`."""

from __future__ import annotations

import re

_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_DURATION = re.compile(r"(\d{1,6}(?:\.\d{1,6})?) ?(?:([smhdw])|(second|minute|hour|day|week)s?)", re.ASCII)


def parse_duration(text: str, name: str) -> float:
    """Return a duration in seconds; raise ValueError, with the name of the setting, if the text is not a duration.

    Examples
    --------
    >>> parse_duration("90d", "--expires"), parse_duration("1.5 hours", "--grace")
    (7776000.0, 5400.0)
    """
    match = _DURATION.fullmatch(text.strip())
    seconds = float(match[1]) * _SECONDS[match[2] or match[3][0]] if match else 0.0
    if not seconds:
        raise ValueError(f"{name} must be a duration such as 90d, 12h or '2 weeks', got {text!r}")
    return seconds
