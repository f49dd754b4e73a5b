"""The sums from which an audit is computed: rewards by arm and by time block, for each combination of groups.

One pass over a log fills two tables. Their size depends on the number of arms and groups that occur, not on the
length of the log. The tables of different parts of a log can be added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.combinations import Combinations, merge_labels
from fairbandits.audit.pair_index import Codes, PairIndex
from fairbandits.audit.time_blocks import TimeBlocks, TimeUnit, as_ticks
from fairbandits.audit.time_sample import TimeSample
from fairbandits.jit import kernel
from fairbandits.logs.errors import LogError

if TYPE_CHECKING:
    from fairbandits.logs.chunk import Chunk

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# The columns of the tables. Rewards are measured from the lowest possible one, so that squares remain precise.
COUNT, TOTAL, SQUARES, MISSING = range(4)


class LogSums:
    """Counts and sums of rewards by arm and by time block, for each combination of groups.

    Parameters
    ----------
    attributes : sequence of str
        The attributes that define the groups.
    reward_range : tuple of two floats
        The lowest and the highest possible reward.
    unit : {"row", "date", "number"}
        The unit of time.

    Attributes
    ----------
    rows : int
        The number of decisions added.
    arms : list
        The label of each arm's code.
    combinations : Combinations
        The combinations of groups.
    blocks : TimeBlocks
        The time blocks.
    times : TimeSample
        A sample of the times.
    by_block : array of shape (blocks, combinations, 4)
        The count, the sum and the sum of squares of the rewards, and the number of missing rewards.
    """

    def __init__(
        self, attributes: Sequence[str], reward_range: tuple[float, float] = (0.0, 1.0), unit: TimeUnit = "row"
    ) -> None:
        self.rows = 0
        self.reward_range = reward_range
        self.arms: list[Any] = []
        self.combinations = Combinations(attributes)
        self.blocks = TimeBlocks(unit)
        self.times = TimeSample()
        self.by_block: Floats = np.zeros((0, 0, 4))
        self._arm_pairs = PairIndex()
        self._by_arm: Floats = np.zeros((0, 4))

    # -- adding ----------------------------------------------------------------------------------------

    def add(self, chunk: Chunk) -> int:
        """Add the decisions of a chunk; return the row of a reward outside the range, or -1."""
        self.arms = chunk.arm.labels
        combination = self.combinations.numbers(chunk.group)
        if (error := self.combinations.error) is not None:
            raise chunk.location.error(error)
        pair = self._arm_pairs.numbers(chunk.arm.codes, combination)
        block = self._block_numbers(chunk)
        self.rows += len(chunk)
        return _add(chunk.reward, pair, combination, block, self._by_arm, self.by_block, *self.reward_range)

    def merge(self, other: LogSums) -> None:
        """Add the sums of another part of the log, matching labels, because codes may differ."""
        if self._layout() != other._layout():
            raise ValueError(
                "sums must have the same attributes, reward range and time unit to be merged, "
                f"got {self._layout()} and {other._layout()}"
            )
        self.rows += other.rows
        self.times.merge(other.times)
        self.arms, arm_code = merge_labels(self.arms, other.arms)
        combination = self.combinations.merge(other.combinations)
        if (error := self.combinations.error) is not None:
            raise LogError(error)
        pair = self._arm_pairs.numbers(arm_code[other.arm], combination[other.combination])
        self._resize(self.blocks.union(other.blocks))
        # Pairs are distinct, so plain indexing adds them all, but several blocks may fall into one longer block.
        self._by_arm[pair] += other.sums
        block = other.blocks.numbers_in(self.blocks)
        np.add.at(self.by_block, (block[:, None], combination[None, :]), other.by_block)

    # -- reading ---------------------------------------------------------------------------------------

    @property
    def labels(self) -> dict[str, list[Any]]:
        """The label of each group's code, by attribute."""
        return self.combinations.labels

    @property
    def arm(self) -> Codes:
        """The arm of each entry of `sums`."""
        return self._arm_pairs.left

    @property
    def combination(self) -> Codes:
        """The combination of groups of each entry of `sums`."""
        return self._arm_pairs.right

    @property
    def sums(self) -> Floats:
        """The sums, as in `by_block`, for each pair of an arm and a combination of groups that occurs."""
        return self._by_arm[: len(self._arm_pairs)]

    # -- internals -------------------------------------------------------------------------------------

    def _layout(self) -> tuple[Any, ...]:
        return tuple(self.labels), self.reward_range, self.blocks.unit

    def _block_numbers(self, chunk: Chunk) -> Ints:
        """Return the time block of each decision, or -1 if its time is unknown; extend the tables as needed."""
        if self.blocks.unit == "row":
            self._resize(self.blocks.covering(chunk.first_row, chunk.first_row + len(chunk) - 1))
            return self.blocks.row_numbers(chunk.first_row, len(chunk))
        ticks, known = as_ticks(chunk.time, self.blocks.unit)
        of_known = ticks if known is None else ticks[known]
        self._resize(self.blocks.covering(of_known.min(), of_known.max()) if of_known.size else self.blocks)
        self.times.add(chunk.first_row, ticks, known)
        return self.blocks.known_numbers(ticks, known)

    def _resize(self, blocks: TimeBlocks) -> None:
        n = len(self._arm_pairs)
        if n > len(self._by_arm):
            longer = np.zeros((max(n, 2 * len(self._by_arm)), 4))
            longer[: len(self._by_arm)] = self._by_arm
            self._by_arm = longer
        shape = (blocks.n, len(self.combinations), 4)
        if blocks != self.blocks or shape != self.by_block.shape:
            wider = np.zeros(shape)
            np.add.at(wider[:, : self.by_block.shape[1]], self.blocks.numbers_in(blocks), self.by_block)
            self.by_block, self.blocks = wider, blocks


@kernel()
def _add(
    reward: Floats,
    pair: Codes,
    combination: Codes,
    block: Ints,
    by_arm: Floats,
    by_block: Floats,
    low: float,
    high: float,
) -> int:
    """Add rewards to both tables; return the row of a reward outside the range, or -1."""
    for i in range(reward.size):
        p, c = np.uint64(pair[i]), np.uint64(combination[i])
        b = np.uint64(block[i])
        has_time = block[i] >= 0
        value = reward[i]
        if np.isnan(value):
            by_arm[p, MISSING] += 1.0
            if has_time:
                by_block[b, c, MISSING] += 1.0
        elif low <= value <= high:
            value -= low
            by_arm[p, COUNT] += 1.0
            by_arm[p, TOTAL] += value
            by_arm[p, SQUARES] += value * value
            if has_time:
                by_block[b, c, COUNT] += 1.0
                by_block[b, c, TOTAL] += value
                by_block[b, c, SQUARES] += value * value
        else:
            return i
    return -1
