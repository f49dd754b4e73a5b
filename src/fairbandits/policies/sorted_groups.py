"""Numbers in groups, each group in ascending order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairbandits.jit import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# A group has room for this many more numbers, plus as many as it already has.
_ROOM = 64


class SortedGroups:
    """Numbers in groups, to which more numbers can be added.

    Parameters
    ----------
    groups : array of int
        The group of each number, from 0.
    values : array
        The numbers.
    n_groups : int
        The number of groups.

    Examples
    --------
    >>> numbers = SortedGroups(np.array([0, 1, 0]), np.array([0.3, 0.5, 0.1]), n_groups=2)
    >>> numbers.add(np.array([1]), np.array([0.2]))
    True
    >>> numbers.shares_up_to(np.array([0, 1]), np.array([[0.2, 0.6]]), unknown=0.5)
    array([[0.5, 1. ]])
    """

    def __init__(self, groups: Ints, values: Floats, n_groups: int) -> None:
        self._sizes: Ints = np.bincount(groups, minlength=n_groups)
        self._starts: Ints = np.append(0, np.cumsum(2 * self._sizes + _ROOM))
        self._values: Floats = np.empty(self._starts[-1])
        order = np.lexsort((values, groups))
        # The groups are stored end to end in `order`, and with room between them in `_values`.
        moved = self._starts[:-1] - (np.cumsum(self._sizes) - self._sizes)
        self._values[np.arange(order.size) + np.repeat(moved, self._sizes)] = values[order]

    def add(self, groups: Ints, values: Floats) -> bool:
        """Add numbers; return False for a group that does not exist or has no room, having added only some."""
        if groups.shape != values.shape:  # kernels do not check their indices
            raise ValueError(f"groups and values must have the same shape, got {groups.shape} and {values.shape}")
        return bool(_insert(self._values, self._starts, self._sizes, groups, values))

    def shares_up_to(self, groups: Ints, limits: Floats, unknown: float) -> Floats:
        """Return the share of each group's numbers that do not exceed a limit.

        Parameters
        ----------
        groups : array of int, shape (n,)
            The group of each column; -1 for none.
        limits : array of shape (n_rows, n)
            The limits.
        unknown : float
            The share to return for a group without numbers.
        """
        if limits.shape[1:] != groups.shape:
            raise ValueError(f"limits must have a column for each group, got {limits.shape} and {groups.shape}")
        shares = np.full(limits.shape, unknown)
        _fill_shares(self._values, self._starts, self._sizes, groups, limits, shares)
        return shares


@kernel()
def _insert(values: Floats, starts: Ints, sizes: Ints, groups: Ints, added: Floats) -> bool:
    for i in range(added.size):
        group = groups[i]
        if group >= sizes.size or starts[group] + sizes[group] == starts[group + 1]:
            return False
        place = starts[group] + sizes[group]
        while place > starts[group] and values[place - 1] > added[i]:
            values[place] = values[place - 1]
            place -= 1
        values[place] = added[i]
        sizes[group] += 1
    return True


@kernel()
def _fill_shares(values: Floats, starts: Ints, sizes: Ints, groups: Ints, limits: Floats, shares: Floats) -> None:
    for i in range(groups.size):
        group = groups[i]
        if 0 <= group < sizes.size and sizes[group]:
            own = values[starts[group] : starts[group] + sizes[group]]
            for row in range(len(limits)):
                shares[row, i] = np.searchsorted(own, limits[row, i], side="right") / own.size
