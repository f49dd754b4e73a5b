"""Times and time blocks as they appear in sentences."""

from __future__ import annotations

import numpy as np

from fairbandits.audit.time_blocks import Moment, TimeBlocks

_DAY = 86_400_000_000


def since(blocks: TimeBlocks, number: int) -> str:
    """Return a phrase for the time from a block on."""
    start = format_time(blocks.start(number), int(blocks.width) if blocks.unit == "date" else 0)
    if blocks.unit == "row":
        return f"since decision {int(blocks.start(number)) + int(blocks.width):,}"
    if blocks.unit == "number":
        return f"since time {start}"
    if blocks.width > 7 * _DAY:
        return f"since the {int(blocks.width) // (7 * _DAY)} weeks from {start}"
    return f"since the week of {start}" if blocks.width == 7 * _DAY else f"since {start}"


def format_time(time: Moment, width: int = _DAY) -> str:
    """Format a time: the day if blocks are days or longer, otherwise with the time of day.

    Examples
    --------
    >>> time = np.datetime64("2026-03-03T14:00", "us")
    >>> format_time(time), format_time(time, _DAY // 24)
    ('3 March 2026', '3 March 2026, 14:00')
    """
    if not isinstance(time, np.datetime64):
        return f"{time:,}" if isinstance(time, int) else f"{time:g}"
    date = time.astype("datetime64[us]").item()
    day = f"{date.day} {date:%B %Y}"
    if width >= _DAY:
        return day
    return f"{day}, {date:%H:%M}" if width >= 60_000_000 else f"{day}, {date:%H:%M:%S}"
