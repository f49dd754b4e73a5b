"""Sums of many rows, before anything is solved: what a log teaches, and what adds up."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fairbandits.models.kernels.split_rows import Parts
from fairbandits.models.kernels.triangles import FAST, Floats, Ints, add_outer, at
from fairbandits.models.rows import DenseRows, Rows


class RowSums:
    """For each of several regressions `sum x x'`, a lower triangle, `sum r x`, and the number of rows.

    A row costs as much as it has pairs of non-zeros, and not the square of the width, which learning it at once
    would take; in the end `RidgeBank.add_rows` solves each regression once.

    Parameters
    ----------
    width : int
        Number of features.

    Examples
    --------
    >>> import numpy as np
    >>> from fairbandits.models import RowSums, as_rows
    >>> sums = RowSums(width=2)
    >>> sums.add(as_rows([[1.0, 0.0], [1.0, 2.0]], n_users=2), np.array([0, 0]), np.array([0.5, 1.0]))
    >>> sums.gram.tolist(), sums.moment.tolist(), sums.count.tolist()
    ([[2.0, 2.0, 4.0]], [[1.5, 2.0]], [2])
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.gram: Floats = np.zeros((0, width * (width + 1) // 2))
        self.moment: Floats = np.zeros((0, width))
        self.count: Ints = np.zeros(0, np.int64)

    def add(self, rows: Rows, slots: Ints, rewards: Floats) -> None:
        """Add rows: one for each user, as if for a single arm; the regression of each, and its reward."""
        if rows.width != self.width or not rows.n_users * rows.n_arms == slots.size == rewards.size:
            raise ValueError(f"{rows.n_users} row(s), {rows.width} wide, do not fit sums {self.width} wide")
        if slots.size:
            self._reach(int(slots.max()) + 1)
            ours = self.gram, self.moment, self.count
            if isinstance(rows, DenseRows):
                _add_full(rows.matrix, slots, rewards, *ours)
            else:
                _add_sparse(rows.parts, slots, rewards, *ours)

    def absorb(self, other: RowSums, ours: Ints, theirs: Ints) -> None:
        """Add the sums of some regressions of another to those of ours."""
        if len(ours):
            self._reach(int(ours.max()) + 1)
            self.gram[ours] += other.gram[theirs]
            self.moment[ours] += other.moment[theirs]
            self.count[ours] += other.count[theirs]

    def _reach(self, n: int) -> None:
        """Make room for at least n regressions, by doubling."""
        old = len(self.count)
        if n > old:
            new = max(n, min(2 * old, old + 1024))
            for name in ("gram", "moment", "count"):
                array: NDArray[np.generic] = getattr(self, name)
                grown = np.zeros((new, *array.shape[1:]), array.dtype)
                grown[:old] = array
                setattr(self, name, grown)


@njit(cache=True, nogil=True, fastmath=FAST)
def _add_sparse(parts: Parts, slots: Ints, rewards: Floats, gram: Floats, moment: Floats, count: Ints) -> None:
    common_starts, common_columns, common_values, users, _, bounds, own_columns, own_values = parts
    d = moment.shape[1]
    columns, values = np.empty(d, np.int64), np.empty(d)
    for i in range(slots.size):
        n = 0
        part = users[i, 0]
        for k in range(common_starts[part], common_starts[part + 1]):
            columns[n], values[n] = common_columns[k], common_values[k]
            n += 1
        own = users[i, 3]
        for k in range(bounds[own, 0], bounds[own, 1]):
            columns[n], values[n] = own_columns[k], own_values[k]
            n += 1
        slot = np.uint64(slots[i])
        for j in range(n):
            moment[slot, columns[j]] += rewards[i] * values[j]
            for k in range(j + 1):
                gram[slot, at(columns[j], columns[k])] += values[j] * values[k]
        count[slot] += 1


@njit(cache=True, nogil=True, fastmath=FAST)
def _add_full(matrix: Floats, slots: Ints, rewards: Floats, gram: Floats, moment: Floats, count: Ints) -> None:
    for i in range(slots.size):
        slot, x = np.uint64(slots[i]), matrix[i]
        for j in range(x.size):
            moment[slot, j] += rewards[i] * x[j]
        add_outer(gram[slot], x, 1.0)
        count[slot] += 1
