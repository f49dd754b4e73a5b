"""Sums per user and window of time, and by arm in folds of users: the second pass of a fixed-sample audit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.combinations import Combinations, merge_labels
from fairbandits.audit.log_sums import COUNT, MISSING, SQUARES, TOTAL
from fairbandits.audit.pair_index import Codes, PairIndex
from fairbandits.audit.unit_index import N_FOLDS, Keys, fold_numbers, row_keys
from fairbandits.audit.unit_table import Floats, Folds, Ints, UnitTable, rows_of_shard, with_room
from fairbandits.jit import kernel

if TYPE_CHECKING:
    from fairbandits.logs.chunk import Chunk

#: The number of shards of users; two threads can add up the sums of different shards at the same time.
N_SHARDS = 2


class UnitSums:
    """Counts and sums of rewards by unit and window, and by arm, combination and fold.

    A unit is a user within a combination of groups. Each row of an unknown user counts as a separate user. A log
    without a user column has no units, only folds of rows.

    Parameters
    ----------
    attributes : sequence of str
        The attributes that define the groups.
    n_windows : int
        The number of windows of time.
    has_users : bool
        Whether the log has a user column.

    Attributes
    ----------
    arms : list
        The label of each arm's code.
    n_known, n_unknown : int
        The number of decisions whose user is known, and of those whose user is unknown, if the log has a user
        column.
    n_outside : int
        The number of decisions whose time lies far outside all windows.
    combinations : Combinations
        The combinations of groups.
    shards : tuple of UnitTable
        The sums of the units; all units of a user are in the same shard.
    arm, combination : arrays
        The arm and the combination of groups of each entry of the tables by fold.
    fold_counts, fold_totals : arrays of shape (entries, folds)
        The number and the sum of the rewards.
    """

    def __init__(self, attributes: Sequence[str], n_windows: int, has_users: bool) -> None:
        self.has_users = has_users
        self.n_known = self.n_unknown = self.n_outside = 0
        self.arms: list[Any] = []
        self.combinations = Combinations(attributes)
        self.shards = tuple(UnitTable(n_windows) for _ in range(N_SHARDS if has_users else 0))
        self._by_window = np.zeros((n_windows + 1, 0, 4))
        self._pairs = PairIndex()
        self._fold_counts = np.zeros((0, N_FOLDS), np.int32)
        self._fold_totals = np.zeros((0, N_FOLDS))

    def add(self, chunk: Chunk, window: Ints, lowest: float) -> None:
        """Add the decisions of a chunk, given the window of each."""
        for task in self.tasks(chunk, window, lowest):
            task()

    def tasks(self, chunk: Chunk, window: Ints, lowest: float) -> list[Callable[[], None]]:
        """Add the decisions of a chunk to the sums by fold; return the remaining work as one task per shard.

        Tasks of different shards may run at the same time, but those of the same shard must run in order.
        """
        self.arms = chunk.arm.labels
        combination = self.combinations.numbers(chunk.group)
        keys = user_keys(chunk)
        if chunk.user is not None:
            n_known = int(np.count_nonzero(chunk.user))
            self.n_known, self.n_unknown = self.n_known + n_known, self.n_unknown + len(chunk) - n_known
        values = chunk.reward - lowest
        fold = fold_numbers(keys)
        pair = self._pair_numbers(chunk.arm.codes, combination)
        self._by_window = _widened(self._by_window, len(self.combinations))
        _add_to_windows(values, combination, window, self._by_window)
        _add_to_folds(values, pair, fold, self._fold_counts, self._fold_totals)
        return [
            partial(_add_to_shard, table, number, fold, (keys, combination, window, values))
            for number, table in enumerate(self.shards)
        ]

    def merge(self, other: UnitSums) -> None:
        """Add the sums of another part of the log, matching labels, because codes may differ."""
        self.arms, arm = merge_labels(self.arms, other.arms)
        combination = self.combinations.merge(other.combinations)
        self.n_known, self.n_unknown = self.n_known + other.n_known, self.n_unknown + other.n_unknown
        self.n_outside += other.n_outside
        self._by_window = _widened(self._by_window, len(self.combinations))
        by_window = other.by_window.swapaxes(0, 1)
        np.add.at(self._by_window.swapaxes(0, 1), combination[: len(by_window)], by_window)
        pair = self._pair_numbers(arm[other.arm], combination[other.combination])
        self._fold_counts[pair] += other.fold_counts
        self._fold_totals[pair] += other.fold_totals
        for ours, theirs in zip(self.shards, other.shards, strict=True):
            ours.merge(theirs, combination)

    @cached_property
    def n_users(self) -> int:
        """The number of distinct users; valid once all rows have been added."""
        return sum(len(np.unique(table.units.users)) for table in self.shards)

    @property
    def by_window(self) -> Floats:
        """The sums of each combination in each window, of shape (windows + 1, combinations, 4)."""
        return self._by_window

    @property
    def arm(self) -> Codes:
        """The arm of each entry of the tables by fold."""
        return self._pairs.left

    @property
    def combination(self) -> Codes:
        """The combination of groups of each entry of the tables by fold."""
        return self._pairs.right

    @property
    def fold_counts(self) -> NDArray[np.int32]:
        """The number of rewards by arm and combination, in each fold of users."""
        return self._fold_counts[: len(self._pairs)]

    @property
    def fold_totals(self) -> Floats:
        """The sum of rewards by arm and combination, in each fold of users."""
        return self._fold_totals[: len(self._pairs)]

    def _pair_numbers(self, arm: Codes, combination: Codes) -> Codes:
        pair = self._pairs.numbers(arm, combination)
        self._fold_counts = with_room(self._fold_counts, len(self._pairs))
        self._fold_totals = with_room(self._fold_totals, len(self._pairs))
        return pair


def user_keys(chunk: Chunk) -> Keys:
    """Return the key of each decision's user; each decision of an unknown user has its own key."""
    if chunk.user is None:
        return row_keys(chunk.first_row, len(chunk))
    if (chunk.user != 0).all():
        return chunk.user
    return np.where(chunk.user == 0, row_keys(chunk.first_row, len(chunk)), chunk.user)


def _add_to_shard(table: UnitTable, number: int, fold: Folds, columns: tuple[Keys, Codes, Ints, Floats]) -> None:
    table.add(*rows_of_shard(number, N_SHARDS, fold, *columns))


def _widened(table: Floats, n: int) -> Floats:
    """Return a table with room for n combinations."""
    if n <= table.shape[1]:
        return table
    wider = np.zeros((table.shape[0], n, table.shape[2]))
    wider[:, : table.shape[1]] = table
    return wider


@kernel()
def _add_to_windows(values: Floats, combination: Codes, window: Ints, table: Floats) -> None:
    for i in range(values.size):
        w, c, value = np.uint64(window[i]), np.uint64(combination[i]), values[i]
        if np.isnan(value):
            table[w, c, MISSING] += 1.0
        else:
            table[w, c, COUNT] += 1.0
            table[w, c, TOTAL] += value
            table[w, c, SQUARES] += value * value


@kernel()
def _add_to_folds(values: Floats, pair: Codes, fold: Folds, counts: Codes, totals: Floats) -> None:
    for i in range(values.size):
        value = values[i]
        if not np.isnan(value):
            p, f = np.uint64(pair[i]), np.uint64(fold[i])
            counts[p, f] += 1
            totals[p, f] += value
