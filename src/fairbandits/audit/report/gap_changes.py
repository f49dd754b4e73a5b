"""How a gap changed over time: it opened, closed, reversed, or none of these.

All conclusions follow from the simultaneous intervals of the windows. A gap is *excessive* in a window if its
interval lies above the tolerance (above zero, without one). Two windows differ if their intervals do not overlap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from fairbandits.audit.results import GroupResult, History


@dataclass(frozen=True)
class GapChange:
    """The change of a gap over time.

    Attributes
    ----------
    kind : str
        "none" (the gap is excessive in no window), "opened", "closed" (it is within the tolerance again), "grew",
        "shrank" (it is smaller, and not shown to be within the tolerance), "returned" (it closed and opened
        again), "reversed" (another group is disadvantaged), "ended" (its groups have too little data since), or
        "steady".
    first, last : int or None
        The first and the last window in which the gap is excessive.
    turn : tuple of two ints or None
        If it reversed: the last window before, and the first one after.
    """

    kind: str
    first: int | None = None
    last: int | None = None
    turn: tuple[int, int] | None = None


def gap_change(history: History) -> GapChange:
    """Return how the gap changed over the windows of time."""
    unfair, n = history.unfair, history.windows.n
    if not unfair:
        return GapChange("none")
    first, last = unfair[0], unfair[-1]
    turn = _turn(history)
    if turn is not None:
        return GapChange("reversed", first, last, turn)
    if any(history.gaps[number].conclusion == "fair" for number in range(first, last)):
        return GapChange("returned", first, last)
    later = range(last + 1, n)
    if later:
        return GapChange(_ending(history, last, later), first, last)
    if any(_is_below(history, number, *unfair) for number in range(first)):
        return GapChange("opened", first, last)
    earlier = unfair[:-1]
    has_shrunk = _is_below(history, last, *earlier)
    has_grown = any(_is_below(history, number, last) for number in earlier)
    return GapChange("shrank" if has_shrunk else "grew" if has_grown else "steady", first, last)


def absent_groups(history: History) -> list[GroupResult]:
    """Return the groups that are compared over the whole log, and not in the most recent window."""
    return [group for i, group in enumerate(history.groups) if math.isnan(history.means.mean[-1, i])]


def _ending(history: History, last: int, later: range) -> str:
    comparable = [number for number in later if _has_groups_of(history, last, number)]
    if not comparable:
        return "ended"
    if any(history.gaps[number].conclusion == "fair" for number in comparable):
        return "closed"
    return "shrank" if any(_is_below(history, number, *history.unfair) for number in comparable) else "steady"


def _is_below(history: History, number: int, *others: int) -> bool:
    """Return whether the gap of a window is demonstrably smaller than that of any of the other ones."""
    gap = history.gaps[number]
    return gap.conclusion == "fair" or any(gap.gap.high < history.gaps[other].gap.low for other in others)


def _has_groups_of(history: History, window: int, number: int) -> bool:
    """Return whether the two groups that a window sets apart are also compared in another one."""
    gap = history.gaps[window]
    return not any(
        math.isnan(history.means.mean[number, i])
        for i, group in enumerate(history.groups)
        if group in (gap.advantaged, gap.disadvantaged)
    )


def _turn(history: History) -> tuple[int, int] | None:
    unfair = history.unfair
    first = history.gaps[unfair[0]]
    for before, number in pairwise(unfair):
        gap = history.gaps[number]
        if _is_same(gap.disadvantaged, first.advantaged) and _is_same(gap.advantaged, first.disadvantaged):
            return before, number
    return None


def _is_same(group: GroupResult | None, other: GroupResult | None) -> bool:
    return group is not None and other is not None and group.labels == other.labels
