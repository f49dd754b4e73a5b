"""Jumps of the clock: the effect of a wrong time on the time blocks is undone when the clock is right again.

Blocks become longer to cover a time that is far away, and never become shorter. If a clock were off by a month for
an hour, the live page would be left with blocks of hours or days permanently. Therefore the blocks from before a
jump are kept. A pause without rewards looks like a jump, but then the time does not return, and the kept blocks
are not needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.time_blocks import TimeBlocks

# The number of microseconds by which a time must be away from all others to be a jump, and the number by which the
# clocks of workers may differ.
_JUMP = 86_400_000_000
_SLACK = 60_000_000
# Every jump that is kept has made the blocks longer, so there cannot be many jumps.
_MAX_JUMPS = 4


@dataclass(frozen=True)
class ClockJump:
    """The blocks before a jump.

    Attributes
    ----------
    to : int
        The time after the jump, in microseconds since 1970.
    blocks : TimeBlocks
        The blocks before the jump.
    sums : array of shape (blocks, groups, 3)
        The sums of these blocks.
    last : float
        The time of the last reward before the jump, in seconds since 1970.
    """

    to: int
    blocks: TimeBlocks
    sums: NDArray[np.float64]
    last: float

    @cached_property
    def is_forward(self) -> bool:
        """Whether the jump was into the future."""
        return self.to > self._start

    @cached_property
    def _start(self) -> int:
        return _edges(self.blocks)[0]

    def is_over(self, tick: int) -> bool:
        """Return whether a time shows that the clock has been corrected."""
        return tick < self.to - _SLACK if self.is_forward else tick >= self._start

    def undone(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums before the jump, with all rewards since then added to the block next to it."""
        missing = sums.shape[1] - self.sums.shape[1]  # groups that have occurred only since
        restored = np.pad(self.sums, ((0, 0), (0, missing), (0, 0)))
        restored[-1 if self.is_forward else 0] += sums.sum(axis=0) - restored.sum(axis=0)
        return restored

    def to_list(self) -> list[Any]:
        """Return everything except the sums as JSON values."""
        return [self.to, self.blocks.level, self.blocks.first, self.blocks.n, self.last]

    @classmethod
    def from_list(cls, plain: list[Any], sums: NDArray[np.float64]) -> ClockJump:
        """Return the jump described by the result of `to_list`."""
        to, level, first, n, last = plain
        return cls(to, TimeBlocks("date", level, first, n), sums, last)


class ClockJumps:
    """The jumps from which the clock may return, oldest first."""

    def __init__(self) -> None:
        self.kept: list[ClockJump] = []

    def note(
        self, tick: int, before: TimeBlocks, after: TimeBlocks, sums: NDArray[np.float64], last: float
    ) -> None:
        """Keep the blocks from before a time, if the time is a jump that makes them longer."""
        if not before.n or before.width == after.width:
            return
        start, end = _edges(before)
        if tick < start - _JUMP or tick > end + _JUMP:
            self.kept = [*self.kept, ClockJump(tick, before, sums, last)][-_MAX_JUMPS:]

    def end(self, tick: int) -> ClockJump | None:
        """Return the jump that a time shows to be over, if there is one, and discard it and all later jumps."""
        for index, jump in enumerate(self.kept):
            if jump.is_over(tick):
                self.kept = self.kept[:index]
                return jump
        return None


def _edges(blocks: TimeBlocks) -> tuple[int, int]:
    """Return the start of the first block and the end of the last one, in microseconds since 1970."""
    start, end = (np.asarray(blocks.start(at)).astype("datetime64[us]").astype(np.int64) for at in (0, blocks.n))
    return int(start), int(end)
