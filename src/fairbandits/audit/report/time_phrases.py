"""Times, time blocks and windows as they appear in sentences."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

from fairbandits.audit.time_blocks import Moment, TimeBlocks
from fairbandits.audit.windows import Windows

_DAY = 86_400_000_000


def since(blocks: TimeBlocks, number: int) -> str:
    """Return a phrase for the time since the start of a block."""
    start = format_time(blocks.start(number), int(blocks.width) if blocks.unit == "date" else 0)
    if blocks.unit == "row":
        return f"since decision {int(blocks.start(number)) + int(blocks.width):,}"
    if blocks.unit == "number":
        return f"since time {start}"
    if blocks.width > 7 * _DAY:
        return f"since the {int(blocks.width) // (7 * _DAY)}-week period from {start}"
    return f"since the week of {start}" if blocks.width == 7 * _DAY else f"since {start}"


def window_start(windows: Windows, number: int) -> str:
    """Return the time at which a window starts."""
    blocks, start = windows.blocks, windows.start(number)
    if blocks.unit == "row":
        return f"decision {int(start) + 1:,}"
    return f"time {format_time(start)}" if blocks.unit == "number" else format_time(start, int(blocks.width))


def window_end(windows: Windows, number: int) -> str:
    """Return the time at which a window ends; if blocks are days or longer, the last day of the window."""
    blocks, end = windows.blocks, windows.end(number)
    if blocks.unit == "row":
        return f"decision {int(end):,}"
    if blocks.unit == "number":
        return f"time {format_time(end)}"
    return format_time(_last_day(windows, number)) if blocks.width >= _DAY else format_time(end, int(blocks.width))


def window_span(windows: Windows, number: int) -> str:
    """Return the time of a window, as a noun: "10 to 19 February 2024", "decisions 401 to 800", "times 3 to 4"."""
    blocks, start, end = windows.blocks, windows.start(number), windows.end(number)
    if blocks.unit == "row":
        # The last block may be longer than the log.
        is_last = number == windows.n - 1
        return (
            f"decisions from {int(start) + 1:,} on" if is_last else f"decisions {int(start) + 1:,} to {int(end):,}"
        )
    if blocks.unit == "number":
        return f"times {format_time(start)} to {format_time(end)}"
    if blocks.width >= _DAY:
        return _format_days(_as_date(start), _as_date(_last_day(windows, number)))
    first, last = window_start(windows, number), window_end(windows, number)
    is_same_day = _as_date(start) == _as_date(end)
    return f"{first} to {last.rsplit(', ', 1)[-1] if is_same_day else last}"


def during(windows: Windows, number: int) -> str:
    """Return the time of a window, as an adverb: "from 10 to 19 February 2024", "in decisions 401 to 800"."""
    span = window_span(windows, number)
    if windows.blocks.unit == "row":
        return f"in {span}"
    if windows.blocks.unit == "number":
        return f"at {span}"
    return f"from {span}" if " to " in span else f"on {span}"


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


def _format_days(first: datetime.date, last: datetime.date) -> str:
    """Format a range of days, without repeating the month or the year.

    Examples
    --------
    >>> _format_days(datetime.date(2024, 3, 31), datetime.date(2024, 4, 9))
    '31 March to 9 April 2024'
    """
    end = f"{last.day} {last:%B %Y}"
    if first >= last:
        return end
    if first.year != last.year:
        return f"{first.day} {first:%B %Y} to {end}"
    return f"{first.day} to {end}" if first.month == last.month else f"{first.day} {first:%B} to {end}"


def _last_day(windows: Windows, number: int) -> Moment:
    end: Any = windows.end(number)
    day: Moment = end - np.timedelta64(_DAY, "us")
    return day


def _as_date(time: Moment) -> datetime.date:
    moment: Any = time
    day: datetime.date = moment.astype("datetime64[D]").item()
    return day
