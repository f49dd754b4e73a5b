"""Sums per user and window of time, and by arm in folds of users: the second pass of a fixed-sample audit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.combinations import Combinations, merge_labels
from fairbandits.audit.pair_index import Codes, PairIndex
from fairbandits.audit.unit_index import N_FOLDS, Keys, fold_numbers, row_keys
from fairbandits.audit.unit_table import Floats, Folds, Ints, UnitTable, rows_of_shard, with_room
from fairbandits.jit import kernel

if TYPE_CHECKING:
    from fairbandits.logs.chunk import Chunk

#: Users are divided into shards, whose sums two threads can add up at the same time.
N_SHARDS = 2


class UnitSums:
    """Counts and sums of rewards by unit and window, and by arm, combination and fold.

    A unit is a user within a combination of groups. Users of unknown identity count as one user per row; a log
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
    n_known : int
        The number of decisions whose user is known.
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
        self.n_known = 0
        self.arms: list[Any] = []
        self.combinations = Combinations(attributes)
        self.shards = tuple(UnitTable(n_windows) for _ in range(N_SHARDS if has_users else 0))
        self._pairs = PairIndex()
        self._fold_counts = np.zeros((0, N_FOLDS), np.int32)
        self._fold_totals = np.zeros((0, N_FOLDS))

    def add(self, chunk: Chunk, window: Ints, lowest: float) -> None:
        """Add the decisions of a chunk, given the window of each."""
        for task in self.tasks(chunk, window, lowest):
            task()

    def tasks(self, chunk: Chunk, window: Ints, lowest: float) -> list[Callable[[], None]]:
        """Add the decisions of a chunk to the sums in folds; return what remains to be done, a task per shard.

        Tasks of different shards may run at the same time, those of the same shard in their order.
        """
        self.arms = chunk.arm.labels
        combination = self.combinations.numbers(chunk.group)
        keys = user_keys(chunk)
        self.n_known += 0 if chunk.user is None else int(np.count_nonzero(chunk.user))
        values = chunk.reward - lowest
        fold = fold_numbers(keys)
        pair = self._pair_numbers(chunk.arm.codes, combination)
        _add_to_folds(values, pair, fold, self._fold_counts, self._fold_totals)
        return [
            partial(_add_to_shard, table, number, fold, (keys, combination, window, values))
            for number, table in enumerate(self.shards)
        ]

    def merge(self, other: UnitSums) -> None:
        """Add the sums of another part of the log; codes may differ, labels are matched."""
        self.arms, arm = merge_labels(self.arms, other.arms)
        combination = self.combinations.merge(other.combinations)
        self.n_known += other.n_known
        pair = self._pair_numbers(arm[other.arm], combination[other.combination])
        self._fold_counts[pair] += other.fold_counts
        self._fold_totals[pair] += other.fold_totals
        for ours, theirs in zip(self.shards, other.shards, strict=True):
            ours.merge(theirs, combination)

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
    """Return the key of each decision's user; a decision of an unknown user has a key of its own."""
    if chunk.user is None:
        return row_keys(chunk.first_row, len(chunk))
    if (chunk.user != 0).all():
        return chunk.user
    return np.where(chunk.user == 0, row_keys(chunk.first_row, len(chunk)), chunk.user)


def _add_to_shard(table: UnitTable, number: int, fold: Folds, columns: tuple[Keys, Codes, Ints, Floats]) -> None:
    table.add(*rows_of_shard(number, N_SHARDS, fold, *columns))


@kernel()
def _add_to_folds(values: Floats, pair: Codes, fold: Folds, counts: Codes, totals: Floats) -> None:
    for i in range(values.size):
        value = values[i]
        if not np.isnan(value):
            p, f = np.uint64(pair[i]), np.uint64(fold[i])
            counts[p, f] += 1
            totals[p, f] += value
