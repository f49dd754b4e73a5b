"""Gaps that are demonstrable between groups other than those with the highest and the lowest mean reward.

With more than two groups, the interval of the largest gap may exclude zero, or the tolerance, because of two large
groups, while the groups with the extreme means are so small that their difference may be chance.
"""

from __future__ import annotations

from collections.abc import Callable

from fairbandits.audit.report.group_phrases import describe_groups
from fairbandits.audit.results import ClearestGap, GapAnalysis, WindowGap

Number = Callable[[float], str]


def clearest_gap(result: GapAnalysis | WindowGap, tolerance: float | None) -> ClearestGap | None:
    """Return the clearest gap if it exceeds the tolerance but that of the extreme means does not, or else None."""
    clearest, threshold = result.clearest, tolerance or 0.0
    if clearest is None or result.gap.low <= threshold or clearest.extremes.low > threshold:
        return None
    return clearest


def clearest_sentence(analysis: GapAnalysis, clearest: ClearestGap, number: Number, interval_name: str) -> str:
    """Explain that an interval is not for the groups with the extreme means, and state the clearest gap."""
    lower, higher = describe_groups(analysis, clearest.disadvantaged, clearest.advantaged)
    pair, extremes = clearest.difference, clearest.extremes
    return (
        f"This interval is for the largest gap between any two groups; for these two it is {number(extremes.low)} "
        f"to {number(extremes.high)}. The clearest gap is {number(pair.value)}, between {lower} and {higher} "
        f"({interval_name}: {number(pair.low)} to {number(pair.high)})."
    )


def clearest_note(
    analysis: GapAnalysis,
    result: GapAnalysis | WindowGap,
    clearest: ClearestGap,
    number: Number,
    interval_name: str,
) -> str:
    """Return the note for a table row that shows the clearest gap instead of the largest."""
    lower, higher = describe_groups(analysis, clearest.disadvantaged, clearest.advantaged)
    groups = [group for group in (result.disadvantaged, result.advantaged) if group is not None]
    lowest, highest = describe_groups(analysis, *groups)
    extremes = clearest.extremes
    return (
        f"the clearest gap, between {lower} and {higher}. The largest, {number(extremes.value)} between {lowest} "
        f"and {highest}, is less certain ({interval_name}: {number(extremes.low)} to {number(extremes.high)})."
    )
