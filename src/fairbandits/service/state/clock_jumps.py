"""Clocks that jump: what a wrong time did to the blocks of time is undone when the clock is right again.

Blocks grow longer to cover a time that is far away, and never grow shorter. A clock that was off by a month for an
hour would leave the live page with blocks of hours or days for good. So the blocks are kept as they were before a
jump. After a pause without rewards, which looks the same, the time does not come back, and they are not needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.time_blocks import TimeBlocks

# Microseconds by which a time must be away from all others to be a jump; by which clocks of workers may differ.
_JUMP = 86_400_000_000
_SLACK = 60_000_000
# Every jump that is kept has made blocks longer, so there cannot be many.
_MAX_JUMPS = 4


@dataclass(frozen=True)
class ClockJump:
    """The blocks before a jump.

    Attributes
    ----------
    to : int
        The time after the jump, in microseconds since 1970.
    blocks : TimeBlocks
        The blocks before it.
    sums : array of shape (blocks, groups, 3)
        Their sums.
    last : float
        The time of the last reward before it, in seconds since 1970.
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
        """Return whether a time shows that the clock has come back."""
        return tick < self.to - _SLACK if self.is_forward else tick >= self._start

    def undone(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums before the jump, with those that came since in the block next to it."""
        missing = sums.shape[1] - self.sums.shape[1]  # of groups that came since
        restored = np.pad(self.sums, ((0, 0), (0, missing), (0, 0)))
        restored[-1 if self.is_forward else 0] += sums.sum(axis=0) - restored.sum(axis=0)
        return restored

    def to_list(self) -> list[Any]:
        """Return everything but the sums as values that JSON can hold."""
        return [self.to, self.blocks.level, self.blocks.first, self.blocks.n, self.last]

    @classmethod
    def from_list(cls, plain: list[Any], sums: NDArray[np.float64]) -> ClockJump:
        """Return the jump that `to_list` described."""
        to, level, first, n, last = plain
        return cls(to, TimeBlocks("date", level, first, n), sums, last)


class ClockJumps:
    """The jumps from which the clock may come back, oldest first."""

    def __init__(self) -> None:
        self.kept: list[ClockJump] = []

    def note(
        self, tick: int, before: TimeBlocks, after: TimeBlocks, sums: NDArray[np.float64], last: float
    ) -> None:
        """Keep the blocks before a time, if it is a jump that makes them longer."""
        if not before.n or before.width == after.width:
            return
        start, end = _edges(before)
        if tick < start - _JUMP or tick > end + _JUMP:
            self.kept = [*self.kept, ClockJump(tick, before, sums, last)][-_MAX_JUMPS:]

    def end(self, tick: int) -> ClockJump | None:
        """Return the jump that a time shows to be over, if there is one, and forget it and those after it."""
        for index, jump in enumerate(self.kept):
            if jump.is_over(tick):
                self.kept = self.kept[:index]
                return jump
        return None


def _edges(blocks: TimeBlocks) -> tuple[int, int]:
    """Return the start of the first block and the end of the last one, in microseconds since 1970."""
    start, end = (np.asarray(blocks.start(at)).astype("datetime64[us]").astype(np.int64) for at in (0, blocks.n))
    return int(start), int(end)
