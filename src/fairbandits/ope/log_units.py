"""Units of a log: users, or blocks of rows where users are unknown. Rows of the same unit may be dependent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.unit_index import Keys, UnitIndex
from fairbandits.jit import kernel
from fairbandits.ope.group_index import OVERALL, distinct_rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]

#: The largest number of buckets into which users are put, and of blocks into which rows are put, so that memory is
#: bounded. Buckets are independent of each other, as users are, and numerous enough not to widen intervals.
MAX_UNITS = 1 << 16
_SHIFT = np.uint64(64 - 16)
_MIX = np.uint64(0x9E3779B97F4A7C15)


class LogUnits:
    """The units of a log, numbered in order of appearance; a user in several groups is a unit in each of them.

    Parameters
    ----------
    n_rows : int
        The number of rows of the log.
    """

    def __init__(self, n_rows: int) -> None:
        self._rows_per_block = max(1, -(-n_rows // MAX_UNITS))
        self._index = UnitIndex()
        self._combinations: dict[bytes, int] = {}
        self._groups: list[Ints] = []
        # The units of each group, cached until units are added, because many estimates need them.
        self._members: dict[int, tuple[int, Ints, Ints]] = {}

    def __len__(self) -> int:
        return len(self._index)

    def numbers(self, users: Keys | None, rows: Ints, groups: Ints) -> Codes:
        """Return the unit of each row.

        Parameters
        ----------
        users : array of uint64 or None
            The key of the user of each row, or 0 if it is unknown.
        rows : array of int
            The row numbers within the log.
        groups : array of int, shape (n_rows, any)
            The numbers of the row's groups, from `GroupIndex.encode`.
        """
        keys = (rows // self._rows_per_block).astype(np.uint64)
        if users is not None:
            # Blocks of rows without a user get keys above those of the buckets.
            keys = np.where(users != 0, (users * _MIX) >> _SHIFT, keys + np.uint64(MAX_UNITS))
        return self._index.numbers(keys, self._combination_numbers(groups))

    def members(self, group: int) -> tuple[Ints, Ints]:
        """Return the units of a group, and a number for each unit that is the same for all units of a user."""
        if self._members.get(group, (0,))[0] != len(self):
            of_combination = np.array([group == OVERALL or group in row for row in self._groups], bool)
            units = np.flatnonzero(of_combination[self._index.combinations])
            _, numbers = np.unique(self._index.users[units], return_inverse=True)
            self._members[group] = len(self), units, numbers
        return self._members[group][1:]

    def merge(self, other: LogUnits) -> Codes:
        """Add the units of other rows; return the number of each of them in this object."""
        if not len(other):
            return np.empty(0, np.int32)
        combinations = self._combination_numbers(np.array(other._groups))
        return self._index.numbers(other._index.users, combinations[other._index.combinations])

    def _combination_numbers(self, groups: Ints) -> Codes:
        distinct, inverse = distinct_rows(groups)
        numbers = []
        for row in distinct:
            key = row.tobytes()
            if key not in self._combinations:
                self._combinations[key] = len(self._groups)
                self._groups.append(row)
            numbers.append(self._combinations[key])
        return np.array(numbers, np.int32)[inverse]


class UnitColumns:
    """Sums of several variables over the rows of each unit.

    Parameters
    ----------
    n_columns : int
        The number of variables.
    """

    def __init__(self, n_columns: int) -> None:
        self._sums = np.zeros((0, n_columns))

    def add(self, units: Codes, columns: Floats, n_units: int) -> None:
        """Add rows, given the unit of each row and its variables, of shape (n_rows, n_columns)."""
        if n_units > len(self._sums):
            longer = np.zeros((max(n_units, 2 * len(self._sums)), self._sums.shape[1]))
            longer[: len(self._sums)] = self._sums
            self._sums = longer
        _add_rows(units, columns, self._sums)

    def merge(self, other: UnitColumns, units: Codes, n_units: int) -> None:
        """Add the sums of other rows, given the numbers of their units."""
        sums = other._sums[: len(units)]
        self.add(units[: len(sums)], sums, n_units)

    def totals(self, units: Ints, numbers: Ints) -> Floats:
        """Return the sums of some units, adding up units with the same number."""
        if not units.size:
            return np.zeros((0, self._sums.shape[1]))
        if int(numbers.max()) + 1 == units.size:
            return self._sums[units]
        return np.column_stack([np.bincount(numbers, column) for column in self._sums[units].T])


@kernel()
def _add_rows(units: Codes, columns: Floats, table: Floats) -> None:
    for i in range(len(units)):
        unit = np.uint64(units[i])
        for column in range(columns.shape[1]):
            table[unit, column] += columns[i, column]
