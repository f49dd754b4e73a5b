"""Sums of rewards grouped by one or more attributes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.combinations import Combinations
from fairbandits.audit.log_sums import COUNT, MISSING, SQUARES, TOTAL, Floats, LogSums
from fairbandits.audit.time_blocks import TimeBlocks


def attribute_combinations(attributes: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the combinations of attributes to compare: each one, each pair, and all of them.

    Examples
    --------
    >>> attribute_combinations(["sex", "race"])
    [('sex',), ('race',), ('sex', 'race')]
    """
    sizes = sorted({size for size in (1, 2, len(attributes)) if size <= len(attributes)})
    return [chosen for size in sizes for chosen in itertools.combinations(attributes, size)]


@dataclass(frozen=True, eq=False)
class RewardSums:
    """Counts and sums of rewards, of any shape.

    Attributes
    ----------
    count : array
        The number of rewards.
    total, squares : arrays
        The sum and the sum of squares of the rewards, measured from the lowest possible reward.
    missing : array
        The number of missing rewards.
    """

    count: Floats
    total: Floats
    squares: Floats
    missing: Floats

    @classmethod
    def from_table(cls, table: Floats) -> RewardSums:
        """Return the sums stored along the last axis of a table of `LogSums`."""
        return cls(table[..., COUNT], table[..., TOTAL], table[..., SQUARES], table[..., MISSING])

    @property
    def mean(self) -> Floats:
        """The mean reward, measured from the lowest possible reward; 0 without rewards."""
        return self.total / np.maximum(self.count, 1.0)

    @property
    def m2(self) -> Floats:
        """The sum of squared deviations from the mean."""
        return np.maximum(self.squares - self.total * self.mean, 0.0)

    def select(self, indices: NDArray[np.int64]) -> RewardSums:
        """Return the sums at some indices of the last axis."""
        parts: list[Floats] = [part[..., indices] for part in (self.count, self.total, self.squares, self.missing)]
        return RewardSums(*parts)


@dataclass(frozen=True, eq=False)
class GroupedSums:
    """The sums of the groups of one or more attributes.

    Attributes
    ----------
    attributes : tuple of str
        The attributes; the groups of several attributes are intersections.
    labels : list of tuples
        The labels of each group, sorted by name.
    overall : RewardSums
        One entry per group.
    by_block : RewardSums
        One row per time block and one column per group.
    blocks : TimeBlocks
        The time blocks.
    by_arm : callable
        A function that takes the number of a group and returns the group's sums for each arm.
    arms : sequence
        The label of each arm.
    reward_range : tuple of two floats
        The lowest and the highest possible reward.
    unknown : RewardSums
        The sums of users whose group is unknown.
    """

    attributes: tuple[str, ...]
    labels: list[tuple[Any, ...]]
    overall: RewardSums
    by_block: RewardSums
    blocks: TimeBlocks
    by_arm: Callable[[int], RewardSums]
    arms: Sequence[Any]
    reward_range: tuple[float, float]
    unknown: RewardSums

    def groups_of(self, combinations: Combinations) -> NDArray[np.int64]:
        """Return the group of each combination, or -1 if it is unknown."""
        number = {labels: number for number, labels in enumerate(self.labels)}
        columns = [list(combinations.labels).index(attribute) for attribute in self.attributes]
        lists = [combinations.labels[attribute] for attribute in self.attributes]
        return np.array(
            [
                number.get(tuple(labels[code] for labels, code in zip(lists, row, strict=True)), -1)
                if (row >= 0).all()
                else -1
                for row in combinations.codes[:, columns]
            ],
            np.int64,
        )

    @property
    def cumulative(self) -> RewardSums:
        """The sums up to the end of each time block."""
        parts = (self.by_block.count, self.by_block.total, self.by_block.squares, self.by_block.missing)
        return RewardSums(*(np.cumsum(part, axis=0) for part in parts))


def group_by(sums: LogSums, attributes: tuple[str, ...]) -> GroupedSums:
    """Group the sums of a log by attributes; users with an unknown attribute belong to no group."""
    columns = [list(sums.labels).index(attribute) for attribute in attributes]
    codes = sums.combinations.codes[:, columns]
    by_combination = np.zeros((len(codes), 4))
    np.add.at(by_combination, sums.combination, sums.sums)
    has_decisions = by_combination[:, COUNT] + by_combination[:, MISSING] > 0.0
    known = np.flatnonzero(has_decisions & (codes >= 0).all(axis=1))
    labels, group = _groups(sums, attributes, codes, known)
    overall, by_block = np.zeros((len(labels), 4)), np.zeros((sums.blocks.n, len(labels), 4))
    for combination in known:
        overall[group[combination]] += by_combination[combination]
        by_block[:, group[combination]] += sums.by_block[:, combination]
    return GroupedSums(
        attributes,
        labels,
        RewardSums.from_table(overall),
        RewardSums.from_table(by_block),
        sums.blocks,
        lambda number: _by_arm(sums, group[sums.combination] == number),
        sums.arms,
        sums.reward_range,
        RewardSums.from_table(by_combination[group < 0].sum(axis=0)),
    )


def _groups(
    sums: LogSums, attributes: tuple[str, ...], codes: NDArray[Any], known: NDArray[np.int64]
) -> tuple[list[tuple[Any, ...]], NDArray[np.int64]]:
    """Return the labels of all groups, sorted by name, and the group of each combination, or -1 if it has none."""
    unique, inverse = np.unique(codes[known], axis=0, return_inverse=True)
    labels = [
        tuple(sums.labels[attribute][code] for attribute, code in zip(attributes, row, strict=True))
        for row in unique
    ]
    # Groups are sorted by name, so that results do not depend on the order of the rows.
    order = sorted(range(len(labels)), key=lambda number: [str(label) for label in labels[number]])
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    group = np.full(len(codes), -1, np.int64)
    group[known] = rank[inverse.ravel()] if known.size else []
    return [labels[number] for number in order], group


def _by_arm(sums: LogSums, is_in_group: NDArray[np.bool_]) -> RewardSums:
    table = np.zeros((len(sums.arms), 4))
    np.add.at(table, sums.arm[is_in_group], sums.sums[is_in_group])
    return RewardSums.from_table(table)
