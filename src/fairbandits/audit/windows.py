"""Windows of time: consecutive time blocks, combined into at most ten parts of equal length.

The last window, a tenth of the time, is the most recent one. Decisions whose time is unknown are in no window;
they have their own column after that of the last window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.time_blocks import Moment, TimeBlocks, as_ticks
from fairbandits.views.short_repr import ShortRepr

if TYPE_CHECKING:
    from fairbandits.logs.chunk import Chunk

MAX_WINDOWS = 10


@dataclass(frozen=True, eq=False, repr=False)
class Windows(ShortRepr):
    """Windows of time.

    Attributes
    ----------
    blocks : TimeBlocks
        The time blocks.
    first_block : array of shape (n + 1,)
        The first block of each window, followed by the total number of blocks.
    is_trimmed : bool
        Whether some times lie far outside the windows.

    Examples
    --------
    >>> windows = Windows.covering(TimeBlocks("row").covering(0, 999))
    >>> windows.n, windows.first_block[:3], windows.of_block[:12]
    (10, array([ 0, 10, 20]), array([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]))
    """

    blocks: TimeBlocks
    first_block: NDArray[np.int64]
    is_trimmed: bool = False

    @classmethod
    def covering(cls, blocks: TimeBlocks, period: tuple[Any, Any] | None = None) -> Windows:
        """Divide time blocks into windows of equal length; the last one has at least a tenth of the blocks.

        Parameters
        ----------
        blocks : TimeBlocks
            The time blocks of a log.
        period : tuple of two times, optional
            The period to cover, if individual times lie far outside it. Those times are assigned to the first or
            the last window.
        """
        if period is not None:
            blocks = TimeBlocks(blocks.unit).covering(*period)
        n = max(1, min(MAX_WINDOWS, blocks.n))
        return cls(blocks, np.arange(n + 1) * blocks.n // n, period is not None)

    @property
    def n(self) -> int:
        """The number of windows."""
        return len(self.first_block) - 1

    @property
    def of_block(self) -> NDArray[np.int64]:
        """The window of each block."""
        return np.repeat(np.arange(self.n), np.diff(self.first_block))

    def numbers(self, block: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the window of each block number, or `n` where the block is -1."""
        return np.append(self.of_block, self.n)[block]

    def count_outside(self, chunk: Chunk) -> int:
        """Return the number of times in a chunk that lie outside all windows."""
        if not self.is_trimmed:
            return 0
        ticks, known = as_ticks(chunk.time, self.blocks.unit)
        ticks = ticks if known is None else ticks[known]
        low, high = (
            as_ticks(np.asarray(end), self.blocks.unit)[0] for end in (self.start(0), self.end(self.n - 1))
        )
        return int(((ticks < low) | (ticks >= high)).sum())

    def start(self, window: int) -> Moment:
        """Return the time at which a window starts."""
        return self.blocks.start(int(self.first_block[window]))

    def end(self, window: int) -> Moment:
        """Return the time at which a window ends."""
        return self.blocks.start(int(self.first_block[window + 1]))
