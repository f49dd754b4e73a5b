"""Which groups are compared: by each attribute, by every two of them, and by all of them at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.log_sums import COUNT, MISSING, SQUARES, TOTAL, Floats, LogSums
from fairbandits.audit.time_blocks import TimeBlocks


def compared_by(attributes: Sequence[str]) -> list[tuple[str, ...]]:
    """Give what is compared: each attribute, every two of them, and all of them at once.

    Examples
    --------
    >>> compared_by(["sex", "race"])
    [('sex',), ('race',), ('sex', 'race')]
    """
    sizes = sorted({size for size in (1, 2, len(attributes)) if size <= len(attributes)})
    return [chosen for size in sizes for chosen in itertools.combinations(attributes, size)]


@dataclass(frozen=True, eq=False)
class GroupSums:
    """Counts and sums of rewards, of any shape.

    Attributes
    ----------
    count : array
        How many rewards came.
    total, squares : arrays
        Their sum, and that of their squares, counted from the lowest possible reward.
    missing : array
        How many never came.
    """

    count: Floats
    total: Floats
    squares: Floats
    missing: Floats

    @classmethod
    def of(cls, table: Floats) -> GroupSums:
        """Read the last axis of a table of cells."""
        return cls(table[..., COUNT], table[..., TOTAL], table[..., SQUARES], table[..., MISSING])

    @property
    def mean(self) -> Floats:
        """The mean reward, counted from the lowest; 0 where none came."""
        return self.total / np.maximum(self.count, 1.0)

    @property
    def m2(self) -> Floats:
        """The sum of squared deviations from the mean."""
        return np.maximum(self.squares - self.total * self.mean, 0.0)


@dataclass(frozen=True, eq=False)
class Compared:
    """The groups of one or more attributes, and their sums.

    Attributes
    ----------
    attributes : tuple of str
        The attributes; where they are several, a group is an intersection.
    labels : list of tuples
        The labels of each group, in the order of their names.
    in_all : GroupSums
        One entry per group.
    over_time : GroupSums
        One line per block of time, one column per group: what came up to the end of the block.
    blocks : TimeBlocks
        The blocks of time.
    by_arm : callable
        Gives what a group got from each arm, one entry per arm.
    arms : sequence
        The label of each arm.
    reward_range : tuple of two floats
        The lowest and the highest possible reward.
    """

    attributes: tuple[str, ...]
    labels: list[tuple[Any, ...]]
    in_all: GroupSums
    over_time: GroupSums
    blocks: TimeBlocks
    by_arm: Callable[[int], GroupSums]
    arms: Sequence[Any]
    reward_range: tuple[float, float]


def compare(cells: LogSums, attributes: tuple[str, ...]) -> Compared:
    """Bring the cells together by the groups of one or more attributes; who is not known counts for none."""
    columns = [list(cells.labels).index(attribute) for attribute in attributes]
    codes = cells.combinations[:, columns]
    of_combination = np.zeros((len(codes), 4))
    np.add.at(of_combination, cells.combination, cells.sums)
    came = of_combination[:, COUNT] + of_combination[:, MISSING] > 0.0
    known = np.flatnonzero(came & (codes >= 0).all(axis=1))
    unique, inverse = np.unique(codes[known], axis=0, return_inverse=True)
    named = [
        tuple(cells.labels[attribute][code] for attribute, code in zip(attributes, line, strict=True))
        for line in unique
    ]
    # By name, so that nothing depends on who came first.
    order = sorted(range(len(named)), key=lambda number: [str(label) for label in named[number]])
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    group = np.full(len(codes), -1, np.int64)
    group[known] = rank[inverse.ravel()] if known.size else []
    in_all, over_time = np.zeros((len(order), 4)), np.zeros((cells.blocks.n, len(order), 4))
    for combination in known:
        in_all[group[combination]] += of_combination[combination]
        over_time[:, group[combination]] += cells.by_block[:, combination]
    return Compared(
        attributes,
        [named[number] for number in order],
        GroupSums.of(in_all),
        GroupSums.of(np.cumsum(over_time, axis=0)),
        cells.blocks,
        lambda number: _by_arm(cells, group[cells.combination] == number),
        cells.arms,
        cells.reward_range,
    )


def _by_arm(cells: LogSums, mine: NDArray[np.bool_]) -> GroupSums:
    table = np.zeros((len(cells.arms), 4))
    np.add.at(table, cells.arm[mine], cells.sums[mine])
    return GroupSums.of(table)
