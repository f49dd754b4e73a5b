"""The sums from which an audit is computed: who got how much from which arm, and when.

One pass over a log fills two tables, one by arm and one by block of time, each by combination of groups. They are
as large as what happened is varied, not as long as the log; and they are sums, so that those of parts of a log add
up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fairbandits.audit.pair_index import Codes, PairIndex
from fairbandits.audit.time_blocks import Kind, TimeBlocks
from fairbandits.logs.errors import LogError

if TYPE_CHECKING:
    from fairbandits.logs.chunk import Chunk

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

# The columns of the sums. Rewards are counted from the lowest possible one, so that their squares lose no digits.
COUNT, TOTAL, SQUARES, MISSING = range(4)
# Beyond this many combinations of groups nobody compares them, and memory would grow with the log.
MOST_GROUPS = 10_000


class LogSums:
    """Counts and sums of rewards by arm and by block of time, each by combination of groups.

    Parameters
    ----------
    attributes : sequence of str
        The attributes whose groups are told apart.
    reward_range : tuple of two floats
        The lowest and the highest possible reward.
    kind : {"row", "date", "number"}
        What time is measured by.

    Attributes
    ----------
    rows : int
        How many decisions were added.
    arms : list
        The label of each arm's code.
    labels : mapping of str to list
        By attribute, the label of each group's code.
    blocks : TimeBlocks
        The blocks of time.
    by_block : array of shape (blocks, combinations, 4)
        Count, sum, sum of squares of the rewards (counted from the lowest), and how many never came.
    """

    def __init__(
        self, attributes: Sequence[str], reward_range: tuple[float, float] = (0.0, 1.0), kind: Kind = "row"
    ) -> None:
        self.rows = 0
        self.reward_range = reward_range
        self.arms: list[Any] = []
        self.labels: dict[str, list[Any]] = {attribute: [] for attribute in attributes}
        self.blocks = TimeBlocks(kind)
        self.by_block: Floats = np.zeros((0, 0, 4))
        # The first attribute is a combination by itself; each further one makes pairs with those before it.
        self._steps = [PairIndex() for _ in attributes[1:]]
        self._pairs = PairIndex()
        self._by_arm: Floats = np.zeros((0, 4))

    # -- adding ----------------------------------------------------------------------------------------

    def add(self, chunk: Chunk) -> int:
        """Add the decisions of a chunk; give the place of a reward that lies outside the range, or -1."""
        self.arms = chunk.arm.labels
        self.labels = {attribute: chunk.group[attribute].labels for attribute in self.labels}
        combination = self._combine([chunk.group[attribute].codes for attribute in self.labels])
        if self._n_combinations > MOST_GROUPS:
            raise chunk.location.error(self._too_many())
        arm = self._pairs.numbers(chunk.arm.codes, combination)
        block = self._place(chunk)
        self.rows += len(chunk)
        return _add(chunk.reward, arm, combination, block, self._by_arm, self.by_block, *self.reward_range)

    def merge(self, other: LogSums) -> None:
        """Add the cells of another part of the log; its codes may differ, its labels count."""
        if self._form() != other._form():
            raise ValueError(f"cells of logs that differ do not add up: {self._form()} and {other._form()}")
        self.rows += other.rows
        self.arms, arm_code = _united(self.arms, other.arms)
        columns = []
        for attribute, codes in zip(other.labels, other.combinations.T, strict=True):
            self.labels[attribute], code = _united(self.labels[attribute], other.labels[attribute])
            columns.append(code[codes])
        combination = self._combine(columns)
        if self._n_combinations > MOST_GROUPS:
            raise LogError(self._too_many())
        ours = self._pairs.numbers(arm_code[other.arm], combination[other.combination])
        before = other.blocks
        self._make_room(self.blocks.joined(before))
        # No two cells of theirs go into the same cell of ours by arm; blocks of theirs may join.
        self._by_arm[ours] += other.sums
        places = before.places_in(self.blocks)
        np.add.at(self.by_block, (places[:, None], combination[None, :]), other.by_block)

    # -- reading ---------------------------------------------------------------------------------------

    @property
    def combinations(self) -> Codes:
        """The code of each attribute (across) in each combination of groups (down); -1 where it is not known.

        Not all of them need have come.
        """
        columns: list[Codes] = []
        follow = np.arange(self._n_combinations, dtype=np.int32)
        for step in reversed(self._steps):
            columns.append(step.right[follow])
            follow = step.left[follow]
        return np.stack([follow - 1, *reversed(columns)], axis=1)

    @property
    def arm(self) -> Codes:
        """The arm of each cell by arm."""
        return self._pairs.left

    @property
    def combination(self) -> Codes:
        """The combination of groups of each cell by arm."""
        return self._pairs.right

    @property
    def sums(self) -> Floats:
        """Count, sum, sum of squares of the rewards, and how many never came, of each cell by arm."""
        return self._by_arm[: len(self._pairs)]

    # -- inside ----------------------------------------------------------------------------------------

    def _too_many(self) -> str:
        return (
            f"more than {MOST_GROUPS:,} combinations of groups by {', '.join(self.labels)}; an attribute has few, "
            "an id is none, and numbers are to be binned first"
        )

    def _form(self) -> tuple[Any, ...]:
        return tuple(self.labels), self.reward_range, self.blocks.kind

    @property
    def _n_combinations(self) -> int:
        return len(self._steps[-1]) if self._steps else len(next(iter(self.labels.values()))) + 1

    def _combine(self, columns: Sequence[Codes]) -> Codes:
        numbers: Codes = columns[0] + np.int32(1)
        for step, codes in zip(self._steps, columns[1:], strict=True):
            numbers = step.numbers(numbers, codes)
        return numbers

    def _place(self, chunk: Chunk) -> Places:
        """Give the block of each decision, -1 where its time is not known, and have room for all of them."""
        if self.blocks.kind == "row":
            first, n = chunk.first_row, len(chunk)
            self._make_room(self.blocks.covering(first, first + n - 1))
            return self.blocks.row_places(first, n)
        ticks, known = _as_ticks(chunk.time, self.blocks.kind)
        there = ticks if known is None else ticks[known]
        self._make_room(self.blocks.covering(there.min(), there.max()) if there.size else self.blocks)
        if known is None:
            return self.blocks.places(ticks)
        block = np.full(len(chunk), -1, np.int64)
        block[known] = self.blocks.places(there)
        return block

    def _make_room(self, blocks: TimeBlocks) -> None:
        n = len(self._pairs)
        if n > len(self._by_arm):
            longer = np.zeros((max(n, 2 * len(self._by_arm)), 4))
            longer[: len(self._by_arm)] = self._by_arm
            self._by_arm = longer
        shape = (blocks.n, self._n_combinations, 4)
        if blocks != self.blocks or shape != self.by_block.shape:
            wider = np.zeros(shape)
            np.add.at(wider[:, : self.by_block.shape[1]], self.blocks.places_in(blocks), self.by_block)
            self.by_block, self.blocks = wider, blocks


def _as_ticks(time: Any, kind: Kind) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Give times as numbers, and which of them are known; None where all are."""
    unknown = np.isnat(time) if kind == "date" else np.isnan(time)
    ticks = time.astype("datetime64[us]").astype(np.int64) if kind == "date" else time
    return ticks, ~unknown if unknown.any() else None


def _united(ours: Sequence[Any], theirs: Sequence[Any]) -> tuple[list[Any], NDArray[np.int32]]:
    """Give the labels of both, and for each code of theirs the one of ours; that of -1 comes last, and is -1."""
    code: Mapping[Any, int] = {label: number for number, label in enumerate(dict.fromkeys([*ours, *theirs]))}
    return [*code], np.array([*(code[label] for label in theirs), -1], np.int32)


@njit(cache=True, nogil=True)
def _add(
    reward: Floats,
    arm: Codes,
    combination: Codes,
    block: Places,
    by_arm: Floats,
    by_block: Floats,
    low: float,
    high: float,
) -> int:
    """Add rewards to their cells; give the place of one outside the range, or -1."""
    for i in range(reward.size):
        cell, c = np.uint64(arm[i]), np.uint64(combination[i])
        b = np.uint64(block[i])
        timed = block[i] >= 0
        value = reward[i]
        if np.isnan(value):
            by_arm[cell, MISSING] += 1.0
            if timed:
                by_block[b, c, MISSING] += 1.0
        elif low <= value <= high:
            value -= low
            by_arm[cell, COUNT] += 1.0
            by_arm[cell, TOTAL] += value
            by_arm[cell, SQUARES] += value * value
            if timed:
                by_block[b, c, COUNT] += 1.0
                by_block[b, c, TOTAL] += value
                by_block[b, c, SQUARES] += value * value
        else:
            return i
    return -1
