"""Sums per user and window of time, and by arm in folds of users: the second pass of a fixed-sample audit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.combinations import Combinations, merge_labels
from fairbandits.audit.pair_index import Codes, PairIndex
from fairbandits.audit.unit_index import N_FOLDS, Keys, UnitIndex, fold_numbers, row_keys
from fairbandits.jit import kernel

if TYPE_CHECKING:
    from fairbandits.logs.chunk import Chunk

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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
    units : UnitIndex
        The units.
    counts, totals : arrays of shape (units, windows + 1)
        The number and the sum of the rewards, measured from the lowest possible reward; the last column is for
        decisions whose time is unknown.
    missing : array of shape (units,)
        The number of missing rewards.
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
        self.units = UnitIndex()
        self._counts = np.zeros((0, n_windows + 1), np.int32)
        self._totals = np.zeros((0, n_windows + 1))
        self._missing = np.zeros(0, np.int32)
        self._pairs = PairIndex()
        self._fold_counts = np.zeros((0, N_FOLDS), np.int32)
        self._fold_totals = np.zeros((0, N_FOLDS))

    def add(self, chunk: Chunk, window: Ints, lowest: float) -> None:
        """Add the decisions of a chunk, given the window of each."""
        self.arms = chunk.arm.labels
        combination = self.combinations.numbers(chunk.group)
        keys = user_keys(chunk)
        self.n_known += 0 if chunk.user is None else int(np.count_nonzero(chunk.user))
        values = chunk.reward - lowest
        pair = self._pairs.numbers(chunk.arm.codes, combination)
        self._fold_counts = _grown(self._fold_counts, len(self._pairs))
        self._fold_totals = _grown(self._fold_totals, len(self._pairs))
        _add_to_folds(values, pair, fold_numbers(keys), self._fold_counts, self._fold_totals)
        if self.has_users:
            unit = self.units.numbers(keys, combination)
            self._resize_units()
            _add_to_units(values, unit, window, self._counts, self._totals, self._missing)

    def merge(self, other: UnitSums) -> None:
        """Add the sums of another part of the log; codes may differ, labels are matched."""
        self.arms, arm = merge_labels(self.arms, other.arms)
        combination = self.combinations.merge(other.combinations)
        self.n_known += other.n_known
        pair = self._pairs.numbers(arm[other.arm], combination[other.combination])
        self._fold_counts = _grown(self._fold_counts, len(self._pairs))
        self._fold_totals = _grown(self._fold_totals, len(self._pairs))
        self._fold_counts[pair] += other.fold_counts
        self._fold_totals[pair] += other.fold_totals
        if other.has_users:
            unit = self.units.numbers(other.units.users, combination[other.units.combinations])
            self._resize_units()
            self._counts[unit] += other.counts
            self._totals[unit] += other.totals
            self._missing[unit] += other.missing

    @property
    def counts(self) -> NDArray[np.int32]:
        """The number of rewards of each unit in each window."""
        return self._counts[: len(self.units)]

    @property
    def totals(self) -> Floats:
        """The sum of the rewards of each unit in each window."""
        return self._totals[: len(self.units)]

    @property
    def missing(self) -> NDArray[np.int32]:
        """The number of missing rewards of each unit."""
        return self._missing[: len(self.units)]

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

    def _resize_units(self) -> None:
        n = len(self.units)
        self._counts, self._totals = _grown(self._counts, n), _grown(self._totals, n)
        self._missing = _grown(self._missing, n)


def user_keys(chunk: Chunk) -> Keys:
    """Return the key of each decision's user; a decision of an unknown user has a key of its own."""
    if chunk.user is None:
        return row_keys(chunk.first_row, len(chunk))
    if (chunk.user != 0).all():
        return chunk.user
    return np.where(chunk.user == 0, row_keys(chunk.first_row, len(chunk)), chunk.user)


def _grown(array: NDArray[Any], n: int) -> NDArray[Any]:
    """Return an array with room for n rows; room grows by halves, so that a row costs O(1) amortised."""
    if n <= len(array):
        return array
    longer = np.zeros((max(n, len(array) * 3 // 2), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


@kernel()
def _add_to_units(
    values: Floats, unit: Codes, window: Ints, counts: Codes, totals: Floats, missing: Codes
) -> None:
    for i in range(values.size):
        u, w, value = np.uint64(unit[i]), np.uint64(window[i]), values[i]
        if np.isnan(value):
            missing[u] += 1
        else:
            counts[u, w] += 1
            totals[u, w] += value


@kernel()
def _add_to_folds(values: Floats, pair: Codes, fold: NDArray[np.uint8], counts: Codes, totals: Floats) -> None:
    for i in range(values.size):
        value = values[i]
        if not np.isnan(value):
            p, f = np.uint64(pair[i]), np.uint64(fold[i])
            counts[p, f] += 1
            totals[p, f] += value
