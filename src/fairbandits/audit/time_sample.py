"""A sample of the times in a log, for finding quantiles in bounded memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The sample has at most twice this many times.
_SIZE = 1 << 16
_MIN_TIMES = 20
# One time in a thousand at either end may be wrong. Such times are left out if that makes the period far shorter.
_OUTSIDE_SHARE = 0.001
_MIN_FACTOR = 3.0


class TimeSample:
    """The times of every k-th row, and the overall first and last times.

    Whether a row is kept depends on its number alone, so samples of parts of a log can be merged.

    Examples
    --------
    >>> sample = TimeSample()
    >>> sample.add(0, np.array([1970.0, *np.linspace(2024.0, 2025.0, 50)]), None)
    >>> low, high = sample.period()
    >>> bool(low > 2023), bool(high <= 2025)
    (True, True)
    """

    def __init__(self) -> None:
        self._step = 1
        self._rows: list[NDArray[np.int64]] = []
        self._ticks: list[NDArray[Any]] = []
        self._ends: list[Any] = []

    def add(self, first_row: int, ticks: NDArray[Any], known: NDArray[np.bool_] | None) -> None:
        """Add the times of consecutive rows; `known` marks the times that are known, None meaning all of them."""
        start = -first_row % self._step
        rows, kept = np.arange(start, len(ticks), self._step), ticks[start :: self._step]
        if known is not None:
            rows, kept, ticks = rows[known[rows]], kept[known[rows]], ticks[known]
        if ticks.size:
            self._ends += [ticks.min(), ticks.max()]
            self._rows.append(rows + first_row)
            self._ticks.append(kept)
            self._thin()

    def merge(self, other: TimeSample) -> None:
        """Add the sample of another part of the log."""
        self._rows += other._rows
        self._ticks += other._ticks
        self._ends += other._ends
        if self._step != other._step:
            self._step = max(self._step, other._step)
            self._select_rows()
        self._thin()

    def period(self) -> tuple[Any, Any] | None:
        """Return the period without the times far outside it, or None if there are no such times."""
        ticks = self._sorted()
        if len(ticks) < _MIN_TIMES:
            return None
        k = max(1, int(_OUTSIDE_SHARE * len(ticks)))
        low, high = ticks[k], ticks[-1 - k]
        # As floats, because the distance between two dates may exceed the range of integers.
        whole, period = float(max(self._ends)) - float(min(self._ends)), float(high) - float(low)
        return (low, high) if whole > _MIN_FACTOR * period > 0.0 else None

    def quantile(self, share: float) -> Any:
        """Return the time before which approximately the given share of times lies; None if there are no times."""
        ticks = self._sorted()
        return ticks[math.floor(share * len(ticks))] if len(ticks) else None

    def _sorted(self) -> NDArray[Any]:
        return np.sort(np.concatenate(self._ticks)) if self._ticks else np.empty(0)

    def _thin(self) -> None:
        """Drop every other row for as long as there are too many."""
        self._ends = [min(self._ends), max(self._ends)] if self._ends else []
        while sum(map(len, self._rows)) > 2 * _SIZE:
            self._step *= 2
            self._select_rows()

    def _select_rows(self) -> None:
        kept = [rows % self._step == 0 for rows in self._rows]
        self._rows = [rows[keep] for rows, keep in zip(self._rows, kept, strict=True)]
        self._ticks = [ticks[keep] for ticks, keep in zip(self._ticks, kept, strict=True)]
