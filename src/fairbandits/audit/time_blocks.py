"""Stretches of time of equal length, at most a hundred or so however long a log is.

Where more would be needed, blocks get longer. Every length divides the next one and all start at the same
origin, so that shorter blocks always join into longer ones, whatever the order in which decisions come, and parts
of a log that were read apart add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["row", "date", "number"]
Moment = int | float | np.datetime64

MOST = 120
_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
# Weeks start on Mondays; the first of January 1970 was a Thursday.
_MONDAY = 4 * _DAY
_FIRST_DATE, _LAST_DATE = (
    int(np.datetime64(date, "us").astype(np.int64)) for date in ("0001-01-01", "9999-12-31T23:59:59")
)
# In microseconds; from four weeks on they double.
_DATE_WIDTHS: tuple[int, ...] = (
    *(digit * 10**zeros for zeros in range(7) for digit in (1, 2)),
    *(seconds * _SECOND for seconds in (10, 20, 60, 300, 900, 3600, 6 * 3600)),
    *(days * _DAY for days in (1, 7, 28)),
)
# Numbers are counted in blocks of 1, 2, 10, 20, 100, ...; the smallest is 1e-15 long.
_LOWEST_RUNG = {"row": 0, "date": 0, "number": -30}
_LARGEST_INDEX = 2**53


@dataclass(frozen=True)
class TimeBlocks:
    """Consecutive blocks of time.

    Attributes
    ----------
    kind : {"row", "date", "number"}
        What time is measured by: the number of the row, a date (in microseconds), or a number of the log's own.
    rung : int
        How long a block is, as a rung of the ladder of lengths.
    first : int
        How many blocks lie between the origin and the first one.
    n : int
        How many there are.

    Examples
    --------
    >>> blocks = TimeBlocks("row").covering(0, 999)
    >>> blocks.width, blocks.n
    (10, 100)
    >>> longer = blocks.covering(1_000, 1_999)
    >>> longer.width, blocks.places_in(longer)[:5]
    (20, array([0, 0, 1, 1, 2]))
    """

    kind: Kind
    rung: int | None = None
    first: int = 0
    n: int = 0

    @property
    def width(self) -> int | float:
        """How long a block is."""
        return _width(self.kind, self._rung)

    @property
    def _rung(self) -> int:
        return _LOWEST_RUNG[self.kind] if self.rung is None else self.rung

    def covering(self, low: Any, high: Any) -> TimeBlocks:
        """Give blocks that hold these times too, as short as they may be."""
        rung = self._rung
        while True:
            first, last = (int(_index(self.kind, rung, np.asarray(tick))) for tick in (low, high))
            if last - first < MOST and first > -_LARGEST_INDEX and last < _LARGEST_INDEX:
                return self.joined(TimeBlocks(self.kind, rung, first, last - first + 1))
            rung += 1

    def joined(self, other: TimeBlocks) -> TimeBlocks:
        """Give blocks that hold both, as short as they may be."""
        both = [blocks for blocks in (self, other) if blocks.n]
        if len(both) < 2:
            return both[0] if both else self
        rung = max(self._rung, other._rung)
        while True:
            ratios = [_ratio(self.kind, blocks._rung, rung) for blocks in both]
            first = min(blocks.first // ratio for blocks, ratio in zip(both, ratios, strict=True))
            last = max((blocks.first + blocks.n - 1) // ratio for blocks, ratio in zip(both, ratios, strict=True))
            if last - first < MOST:
                return TimeBlocks(self.kind, rung, first, last - first + 1)
            rung += 1

    def places(self, ticks: NDArray[Any]) -> NDArray[np.int64]:
        """Give the block of each time, counted from 0."""
        if self.kind == "number":
            index: NDArray[np.int64] = _index(self.kind, self._rung, ticks)
            # By rounding, a number on an edge may lie in one block when they are short, in the next when long.
            return np.clip(index - self.first, 0, self.n - 1)
        return (ticks - (_origin(self.kind) + self.first * int(self.width))) // int(self.width)

    def row_places(self, first: int, n: int) -> NDArray[np.int64]:
        """Give the block of each of so many rows that follow each other."""
        width = int(self.width)
        numbers = np.arange(first // width, (first + n - 1) // width + 1)
        edges = np.clip(np.append(numbers, numbers[-1:] + 1) * width, first, first + n)
        return np.repeat(numbers - self.first, np.diff(edges))

    def place(self, tick: int) -> int | None:
        """Give the block of one time, counted from 0; None where it lies in none of them."""
        place = int(_index(self.kind, self._rung, tick)) - self.first
        return place if 0 <= place < self.n else None

    def places_in(self, other: TimeBlocks) -> NDArray[np.int64]:
        """Say into which of longer blocks each of these goes."""
        # No index is larger than `_LARGEST_INDEX`, so that all larger ratios do the same; int64 holds this one.
        ratio = min(_ratio(self.kind, self._rung, other._rung), 2 * _LARGEST_INDEX)
        return (self.first + np.arange(self.n, dtype=np.int64)) // ratio - other.first

    def start(self, place: int) -> Moment:
        """Give the time at which a block starts; a date as a calendar has it, which knows the years 1 to 9999."""
        at = (self.first + place) * self.width
        if self.kind == "date":
            return np.datetime64(min(max(int(at) + _MONDAY, _FIRST_DATE), _LAST_DATE), "us")
        return at


def _width(kind: Kind, rung: int) -> int | float:
    if kind == "date":
        beyond = max(0, rung - len(_DATE_WIDTHS) + 1)
        return _DATE_WIDTHS[rung - beyond] << beyond
    zeros, odd = divmod(rung, 2)
    return (1 + odd) * (int(f"1{'0' * zeros}") if zeros >= 0 else float(f"1e{zeros}"))


def _ratio(kind: Kind, fine: int, coarse: int) -> int:
    if kind == "date":
        return int(_width(kind, coarse)) // int(_width(kind, fine))
    lowest = fine - fine % 2
    return int(_width("row", coarse - lowest)) // int(_width("row", fine - lowest))


def _index(kind: Kind, rung: int, ticks: Any) -> Any:
    width = _width(kind, rung)
    if kind == "number":
        # Beyond what int64 holds the blocks are too short in any case: `covering` takes longer ones.
        with np.errstate(over="ignore"):
            index = np.floor(ticks / width)
        return np.clip(index, -2.0 * _LARGEST_INDEX, 2.0 * _LARGEST_INDEX).astype(np.int64)
    return (ticks - _origin(kind)) // width


def _origin(kind: Kind) -> int:
    return _MONDAY if kind == "date" else 0
