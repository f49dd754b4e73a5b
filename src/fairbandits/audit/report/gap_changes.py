"""The change of a gap over time: it opened, closed, reversed, or none of these.

All conclusions follow from the simultaneous intervals of the windows, for the two groups that are demonstrably
furthest apart in any window. Other groups may be so small that their means, and therefore the range of all means,
are uninformative in a single window. The difference is *excessive* in a window if its interval lies beyond the
tolerance (or beyond zero, if there is no tolerance). Two windows differ if their intervals do not overlap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.results import GroupResult, History


@dataclass(frozen=True)
class GapChange:
    """The change of a gap over time.

    Attributes
    ----------
    kind : str
        "none" (the gap is excessive in no window), "opened", "closed" (it is within the tolerance again), "grew",
        "shrank" (it is smaller, but not shown to be within the tolerance), "returned" (it closed and opened
        again), "reversed" (the other group is now disadvantaged), "ended" (its groups have had too little data
        since), or "steady".
    pair : tuple of two GroupResult
        The two groups, the one whose mean was higher first; empty if the kind is "none".
    windows : tuple of int
        The windows in which the gap between them is excessive.
    turns : tuple of pairs of ints
        For each reversal, the last window before it and the first window after it.
    """

    kind: str
    pair: tuple[GroupResult, ...] = ()
    windows: tuple[int, ...] = ()
    turns: tuple[tuple[int, int], ...] = ()

    @property
    def first(self) -> int | None:
        """The first window in which the gap is excessive."""
        return self.windows[0] if self.windows else None

    @property
    def last(self) -> int | None:
        """The last window in which the gap is excessive."""
        return self.windows[-1] if self.windows else None


def gap_change(history: History) -> GapChange:
    """Determine how the gap changed over the windows of time."""
    if not history.unfair:
        return GapChange("none")
    line = _DifferenceLine(history)
    turns = line.turns
    return GapChange("reversed" if turns else line.change(), line.groups, tuple(line.excessive), turns)


def absent_groups(history: History) -> list[GroupResult]:
    """Return the groups that are compared over the whole log but not in the most recent window."""
    return [group for i, group in enumerate(history.groups) if math.isnan(history.means.mean[-1, i])]


class _DifferenceLine:
    """The difference between two groups in each window, with simultaneous intervals; NaN without enough data."""

    def __init__(self, history: History) -> None:
        self.n, self.tolerance = history.windows.n, history.tolerance or 0.0
        lower = history.difference_low
        _, i, j = np.unravel_index(np.nanargmax(lower), lower.shape)
        low, high = lower[:, i, j], -lower[:, j, i]
        first = next(window for window in range(self.n) if max(low[window], -high[window]) > self.tolerance)
        if high[first] < 0.0:
            i, j, low, high = j, i, -high, -low
        self.groups = history.groups[i], history.groups[j]
        self.low, self.high = low, high

    @property
    def excessive(self) -> list[int]:
        """The windows in which the difference is excessive, in either direction."""
        return [int(window) for window in np.flatnonzero(self._is_above | self._is_reversed)]

    @property
    def _is_above(self) -> NDArray[np.bool_]:
        return self.low > self.tolerance

    @property
    def _is_reversed(self) -> NDArray[np.bool_]:
        return self.high < -self.tolerance

    @property
    def _is_within(self) -> NDArray[np.bool_]:
        return (self.low >= -self.tolerance) & (self.high <= self.tolerance)

    @property
    def turns(self) -> tuple[tuple[int, int], ...]:
        """The windows between which the difference reversed."""
        is_reversed = self._is_reversed
        return tuple(pair for pair in pairwise(self.excessive) if is_reversed[pair[0]] != is_reversed[pair[1]])

    def change(self) -> str:
        """Return the kind of change of a difference that did not reverse."""
        excessive = self.excessive
        first, last = excessive[0], excessive[-1]
        if self._is_within[first:last].any():
            return "returned"
        if last < self.n - 1:
            return self._ending(last)
        if self._is_within[:first].any():
            return "opened"
        if self._is_smaller(last, excessive[:-1]):
            return "shrank"
        has_grown = any(self._is_smaller(window, excessive) for window in range(first))
        has_grown |= any(self._is_smaller(window, [last]) for window in excessive[:-1])
        return "grew" if has_grown else "steady"

    def _ending(self, last: int) -> str:
        later = [window for window in range(last + 1, self.n) if not math.isnan(self.low[window])]
        if not later:
            return "ended"
        if self._is_within[later].any():
            return "closed"
        return "shrank" if any(self._is_smaller(window, self.excessive) for window in later) else "steady"

    def _is_smaller(self, window: int, others: list[int]) -> bool:
        """Return whether the difference is demonstrably smaller than in any of the other given windows."""
        return bool(self._is_within[window]) or any(self.high[window] < self.low[other] for other in others)
