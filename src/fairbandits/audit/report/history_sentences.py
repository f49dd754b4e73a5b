"""Sentences about a gap over time: now, when it opened, closed or reversed."""

from __future__ import annotations

from collections.abc import Callable

from fairbandits.audit.report.time_phrases import format_time
from fairbandits.audit.results import GapAnalysis, GroupResult, History
from fairbandits.audit.windows import Windows
from fairbandits.report.phrases import capitalise, describe_users

Number = Callable[[float], str]


def recent_sentence(
    analysis: GapAnalysis, number: Number, interval_name: str, tolerance: float | None
) -> str | None:
    """Return the gap in the most recent window; None without one."""
    recent, history = analysis.recent, analysis.history
    if recent is None or history is None:
        return None
    when = f"In the most recent window ({window_phrase(history.windows, history.windows.n - 1)})"
    if recent.disadvantaged is None or recent.advantaged is None:
        return f"{when}, there is too little data to compare groups."
    lower, higher = describe_users(analysis.attributes, recent.disadvantaged.labels, recent.advantaged.labels)
    gap = recent.gap
    interval = f"{interval_name}: {number(gap.low)} to {number(gap.high)}"
    ending = {
        "unfair": f"above the tolerance of {tolerance:g}" if tolerance is not None else "",
        "fair": f"within the tolerance of {tolerance:g}" if tolerance is not None else "",
        "gap": "more than chance explains",
    }.get(recent.conclusion, "undecided")
    return f"{when}, {lower} received {number(gap.value)} less than {higher} ({interval}), {ending}."


def history_sentence(analysis: GapAnalysis, tolerance: float | None) -> str | None:
    """Return when the gap opened, closed or reversed; None without a history."""
    history = analysis.history
    if history is None:
        return None
    excess = f"exceeded the tolerance of {tolerance:g}" if tolerance is not None else "was detectable"
    unfair, last = history.unfair, history.windows.n - 1
    if not unfair:
        return f"In no single window has the gap demonstrably {excess}."
    if (turn := _reversal(history)) is not None:
        return _reversed(analysis, history, *turn)
    first_phrase, last_phrase = (window_phrase(history.windows, number) for number in (unfair[0], unfair[-1]))
    if unfair[-1] == last:
        if unfair[0] == 0:
            return f"The gap {excess} in the first window and still does in the most recent one."
        return f"The gap opened during the log: it first {excess} {first_phrase}, and still does."
    if analysis.recent is not None and analysis.recent.conclusion == "fair":
        return f"The gap closed: it last {excess} {last_phrase}, and is within the tolerance now."
    return f"The gap last {excess} {last_phrase}; the most recent window does not decide whether it closed."


def window_phrase(windows: Windows, number: int) -> str:
    """Return a phrase for the time of a window."""
    blocks = windows.blocks
    start, end = windows.start(number), blocks.start(int(windows.first_block[number + 1]))
    if blocks.unit == "row":
        return f"decisions {int(start) + 1:,} to {int(end):,}"
    width = int(blocks.width) if blocks.unit == "date" else 0
    return f"from {format_time(start, width)} to {format_time(end, width)}"


def _reversal(history: History) -> tuple[int, int] | None:
    """Return the last window with the first direction of the gap, and the first one with the opposite direction."""
    unfair = history.unfair
    first = history.gaps[unfair[0]]
    for number in unfair[1:]:
        gap = history.gaps[number]
        if gap.disadvantaged is first.advantaged and gap.advantaged is first.disadvantaged:
            before = [earlier for earlier in unfair if earlier < number]
            return before[-1], number
    return None


def _reversed(analysis: GapAnalysis, history: History, before: int, after: int) -> str:
    groups: list[GroupResult] = []
    for number in (before, after):
        group = history.gaps[number].disadvantaged
        assert group is not None  # noqa: S101 - a window with a conclusion has groups
        groups.append(group)
    first, second = describe_users(analysis.attributes, *(group.labels for group in groups))
    return capitalise(
        f"the gap reversed: {first} received less {window_phrase(history.windows, before)} and earlier, "
        f"{second} {window_phrase(history.windows, after)}."
    )
