"""Sums of rewards per unit and window of time, for one shard of a log's users."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.pair_index import Codes
from fairbandits.audit.unit_index import Keys, UnitIndex
from fairbandits.jit import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Folds = NDArray[np.uint8]

#: The columns of the table: the number and the sum of the rewards.
COUNT, TOTAL = range(2)


class UnitTable:
    """Counts and sums of rewards by unit and window.

    Parameters
    ----------
    n_windows : int
        The number of windows of time.

    Attributes
    ----------
    units : UnitIndex
        The units.
    """

    def __init__(self, n_windows: int) -> None:
        self.units = UnitIndex()
        # The count and the sum are adjacent, so that adding a reward waits for memory only once.
        self._sums = np.zeros((0, n_windows + 1, 2))
        self._missing = np.zeros(0)

    @property
    def sums(self) -> Floats:
        """The number and the sum of the rewards of each unit in each window, of shape (units, windows + 1, 2).

        Rewards are measured from the lowest possible one; the last window is for decisions whose time is unknown.
        """
        return self._sums[: len(self.units)]

    @property
    def missing(self) -> Floats:
        """The number of missing rewards of each unit."""
        return self._missing[: len(self.units)]

    def add(self, keys: Keys, combination: Codes, window: Ints, values: Floats) -> None:
        """Add decisions, given the user, the combination of groups, the window and the reward of each."""
        unit = self._numbers(keys, combination)
        _add_to_units(values, unit, window, self._sums, self._missing)

    def merge(self, other: UnitTable, combination: Codes) -> None:
        """Add the sums of another part of the log, given the number of each of its combinations in this object."""
        unit = self._numbers(other.units.users, combination[other.units.combinations])
        self._sums[unit] += other.sums
        self._missing[unit] += other.missing

    def _numbers(self, keys: Keys, combination: Codes) -> Codes:
        unit = self.units.numbers(keys, combination)
        self._sums = with_room(self._sums, len(self.units))
        self._missing = with_room(self._missing, len(self.units))
        return unit


def with_room(array: NDArray[Any], n: int) -> NDArray[Any]:
    """Return an array with room for n rows; the capacity grows by a quarter, so a row costs O(1) amortised."""
    if n <= len(array):
        return array
    # Reallocation moves large arrays without copying them. No other reference to the array exists yet.
    array.resize((max(n, len(array) * 5 // 4), *array.shape[1:]), refcheck=False)
    return array


@kernel()
def rows_of_shard(
    shard: int, n_shards: int, fold: Folds, keys: Keys, combination: Codes, window: Ints, values: Floats
) -> tuple[Keys, Codes, Ints, Floats]:
    """Return the users, combinations, windows and rewards of the decisions whose user is in a shard."""
    n = keys.size
    chosen = np.empty(n, np.uint64), np.empty(n, np.int32), np.empty(n, np.int64), np.empty(n, np.float64)
    k = 0
    for i in range(n):
        # Every row is written, and overwritten by the next if it is not in the shard: a branch would be
        # mispredicted half of the time.
        chosen[0][k], chosen[1][k], chosen[2][k], chosen[3][k] = keys[i], combination[i], window[i], values[i]
        k += fold[i] % n_shards == shard
    return chosen[0][:k], chosen[1][:k], chosen[2][:k], chosen[3][:k]


@kernel()
def _add_to_units(values: Floats, unit: Codes, window: Ints, sums: Floats, missing: Floats) -> None:
    for i in range(values.size):
        u, w, value = np.uint64(unit[i]), np.uint64(window[i]), values[i]
        if np.isnan(value):
            missing[u] += 1.0
        else:
            sums[u, w, COUNT] += 1.0
            sums[u, w, TOTAL] += value
