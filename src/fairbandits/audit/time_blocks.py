"""Time blocks of equal length: at most 120, however long a log is.

When more blocks would be needed, blocks become longer. Every length divides the next one and all blocks are
aligned to the same origin, so shorter blocks always combine into longer ones. Therefore the order of decisions
does not matter, and the sums of parts of a log can be added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from fairbandits.logs.chunk import Chunk

TimeUnit = Literal["row", "date", "number"]
Moment = int | float | np.datetime64

MAX_BLOCKS = 120
_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
# Weeks start on Mondays; 1 January 1970 was a Thursday.
_FIRST_MONDAY = 4 * _DAY
_FIRST_DATE, _LAST_DATE = (
    int(np.datetime64(date, "us").astype(np.int64)) for date in ("0001-01-01", "9999-12-31T23:59:59")
)
# Lengths in microseconds; beyond four weeks, each length is twice the previous one.
_DATE_WIDTHS: tuple[int, ...] = (
    *(digit * 10**zeros for zeros in range(7) for digit in (1, 2)),
    *(seconds * _SECOND for seconds in (10, 20, 60, 300, 900, 3600, 6 * 3600)),
    *(days * _DAY for days in (1, 7, 28)),
)
# Lengths of rows and numbers are 1, 2, 10, 20, 100, ...; the shortest for numbers is 1e-15.
_LOWEST_LEVEL = {"row": 0, "date": 0, "number": -30}
_MAX_INDEX = 2**53


@dataclass(frozen=True)
class TimeBlocks:
    """Consecutive time blocks.

    Attributes
    ----------
    unit : {"row", "date", "number"}
        The unit of time: the number of the row, a date (in microseconds), or the log's own numbers.
    level : int
        The length of a block, as an index into the sequence of possible lengths.
    first : int
        The number of blocks between the origin and the first block.
    n : int
        The number of blocks.

    Examples
    --------
    >>> blocks = TimeBlocks("row").covering(0, 999)
    >>> blocks.width, blocks.n
    (10, 100)
    >>> longer = blocks.covering(1_000, 1_999)
    >>> longer.width, blocks.numbers_in(longer)[:5]
    (20, array([0, 0, 1, 1, 2]))
    """

    unit: TimeUnit
    level: int | None = None
    first: int = 0
    n: int = 0

    @property
    def width(self) -> int | float:
        """The length of a block."""
        return _width(self.unit, self._level)

    @property
    def _level(self) -> int:
        return _LOWEST_LEVEL[self.unit] if self.level is None else self.level

    def covering(self, low: Any, high: Any) -> TimeBlocks:
        """Return the shortest blocks that cover these times as well."""
        level = self._level
        while True:
            first, last = (int(_index(self.unit, level, np.asarray(tick))) for tick in (low, high))
            if last - first < MAX_BLOCKS and first > -_MAX_INDEX and last < _MAX_INDEX:
                return self.union(TimeBlocks(self.unit, level, first, last - first + 1))
            level += 1

    def union(self, other: TimeBlocks) -> TimeBlocks:
        """Return the shortest blocks that cover both."""
        both = [blocks for blocks in (self, other) if blocks.n]
        if len(both) < 2:
            return both[0] if both else self
        level = max(self._level, other._level)
        while True:
            ratios = [_ratio(self.unit, blocks._level, level) for blocks in both]
            first = min(blocks.first // ratio for blocks, ratio in zip(both, ratios, strict=True))
            last = max((blocks.first + blocks.n - 1) // ratio for blocks, ratio in zip(both, ratios, strict=True))
            if last - first < MAX_BLOCKS:
                return TimeBlocks(self.unit, level, first, last - first + 1)
            level += 1

    def numbers(self, ticks: NDArray[Any]) -> NDArray[np.int64]:
        """Return the block of each time, counted from 0; times outside belong to the first or the last block."""
        if self.unit == "number":
            # Because of rounding, a number on an edge may fall into different blocks at different lengths.
            index: NDArray[np.int64] = _index(self.unit, self._level, ticks) - self.first
        else:
            index = (ticks - (_origin(self.unit) + self.first * int(self.width))) // int(self.width)
        return np.clip(index, 0, self.n - 1)

    def row_numbers(self, first: int, n: int) -> NDArray[np.int64]:
        """Return the block of each of n consecutive rows, faster than `numbers` does."""
        width = int(self.width)
        indices = np.arange(first // width, (first + n - 1) // width + 1)
        edges = np.clip(np.append(indices, indices[-1:] + 1) * width, first, first + n)
        return np.repeat(indices - self.first, np.diff(edges))

    def chunk_numbers(self, chunk: Chunk) -> NDArray[np.int64]:
        """Return the block of each decision in a chunk, or -1 if its time is unknown."""
        if self.unit == "row":
            return self.row_numbers(chunk.first_row, len(chunk))
        return self.known_numbers(*as_ticks(chunk.time, self.unit))

    def known_numbers(self, ticks: NDArray[Any], known: NDArray[np.bool_] | None) -> NDArray[np.int64]:
        """Return the block of each time, or -1 where `known` is false; None means that all times are known."""
        if known is None:
            return self.numbers(ticks)
        block = np.full(len(ticks), -1, np.int64)
        block[known] = self.numbers(ticks[known])
        return block

    def number(self, tick: int) -> int | None:
        """Return the block of one time, counted from 0, or None if no block covers the time."""
        number = int(_index(self.unit, self._level, tick)) - self.first
        return number if 0 <= number < self.n else None

    def numbers_in(self, other: TimeBlocks) -> NDArray[np.int64]:
        """Return the number of the longer block that contains each of these blocks."""
        # No index exceeds `_MAX_INDEX`, so all ratios beyond it are equivalent, and this one fits into int64.
        ratio = min(_ratio(self.unit, self._level, other._level), 2 * _MAX_INDEX)
        return (self.first + np.arange(self.n, dtype=np.int64)) // ratio - other.first

    def start(self, number: int) -> Moment:
        """Return the time at which a block starts; dates are limited to the years 1 to 9999."""
        at = (self.first + number) * self.width
        if self.unit == "date":
            return np.datetime64(min(max(int(at) + _FIRST_MONDAY, _FIRST_DATE), _LAST_DATE), "us")
        return at


def _width(unit: TimeUnit, level: int) -> int | float:
    if unit == "date":
        beyond = max(0, level - len(_DATE_WIDTHS) + 1)
        return _DATE_WIDTHS[level - beyond] << beyond
    zeros, odd = divmod(level, 2)
    return (1 + odd) * (int(f"1{'0' * zeros}") if zeros >= 0 else float(f"1e{zeros}"))


def _ratio(unit: TimeUnit, fine: int, coarse: int) -> int:
    if unit == "date":
        return int(_width(unit, coarse)) // int(_width(unit, fine))
    lowest = fine - fine % 2
    return int(_width("row", coarse - lowest)) // int(_width("row", fine - lowest))


def _index(unit: TimeUnit, level: int, ticks: Any) -> Any:
    width = _width(unit, level)
    if unit == "number":
        # If the index exceeds int64, the blocks are too short anyway, and `covering` tries longer ones.
        with np.errstate(over="ignore"):
            index = np.floor(ticks / width)
        return np.clip(index, -2.0 * _MAX_INDEX, 2.0 * _MAX_INDEX).astype(np.int64)
    return (ticks - _origin(unit)) // width


def _origin(unit: TimeUnit) -> int:
    return _FIRST_MONDAY if unit == "date" else 0


def as_ticks(time: Any, unit: TimeUnit) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return times as numbers, and a mask of the known times, which is None if all times are known."""
    unknown = np.isnat(time) if unit == "date" else np.isnan(time)
    ticks = time.astype("datetime64[us]").astype(np.int64) if unit == "date" else time
    return ticks, ~unknown if unknown.any() else None
