"""Numbers, times and lists as they are written for people."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from fairbandits.audit.time_blocks import Moment, TimeBlocks

_DAY = 86_400_000_000


def decimals(span: float, width: float) -> int:
    """Say how many digits to write: three of the range, or what the width of an interval asks for.

    Examples
    --------
    >>> decimals(1.0, 0.02), decimals(1.0, 0.0004), decimals(100.0, 3.0)
    (3, 5, 1)
    """
    of_range = 3 - math.floor(math.log10(span))
    of_width = math.ceil(-math.log10(width / 5.0)) if width > 0.0 else 0
    return int(np.clip(max(of_range, of_width), 0, 9))


def percent(share: float) -> str:
    """Write a share.

    Examples
    --------
    >>> percent(0.031), percent(0.0004), percent(0.0)
    ('3.1%', '0.04%', '0.0%')
    """
    return f"{share:.1%}" if share == 0.0 or share >= 0.001 else f"{share:.2%}"


def since(blocks: TimeBlocks, place: int) -> str:
    """Say since when, in words: since a block."""
    start = moment(blocks.start(place), int(blocks.width) if blocks.kind == "date" else 0)
    if blocks.kind == "row":
        return f"since decision {int(blocks.start(place)) + int(blocks.width):,}"
    if blocks.kind == "number":
        return f"since time {start}"
    if blocks.width > 7 * _DAY:
        return f"since the {int(blocks.width) // (7 * _DAY)} weeks from {start}"
    return f"since the week of {start}" if blocks.width == 7 * _DAY else f"since {start}"


def moment(when: Moment, width: int = _DAY) -> str:
    """Write a time: a day where blocks are days or longer, else the time of day too.

    Examples
    --------
    >>> when = np.datetime64("2026-03-03T14:00", "us")
    >>> moment(when), moment(when, _DAY // 24)
    ('3 March 2026', '3 March 2026, 14:00')
    """
    if not isinstance(when, np.datetime64):
        return f"{when:,}" if isinstance(when, int) else f"{when:g}"
    date = when.astype("datetime64[us]").item()
    day = f"{date.day} {date:%B %Y}"
    if width >= _DAY:
        return day
    return f"{day}, {date:%H:%M}" if width >= 60_000_000 else f"{day}, {date:%H:%M:%S}"


def listed(names: Sequence[str], most: int) -> str:
    """List names, and say how many more there are.

    Examples
    --------
    >>> listed(["a", "b", "c"], 3), listed(["a", "b", "c"], 2)
    ('a, b and c', 'a, b and 1 more')
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def writer(digits: int) -> Callable[[float], str]:
    """Give the way to write numbers with so many digits; NaN is nothing."""
    return lambda value: "" if math.isnan(value) else f"{value:z,.{digits}f}".replace("-", "\N{MINUS SIGN}")
