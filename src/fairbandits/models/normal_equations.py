"""Normal equations: sums over many rows, from which regressions are solved once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairbandits.jit import kernel
from fairbandits.models.kernels.layouts import Fields, Floats, Ints, SplitRows
from fairbandits.models.kernels.split_rows import take_row
from fairbandits.models.kernels.triangles import add_row
from fairbandits.models.rows import DenseRows, Rows


class NormalEquations:
    """The normal equations of several regressions: `sum x x'` (packed), `sum r x`, and the number of rows.

    Adding a row takes as many operations as the row has pairs of non-zeros, while learning it at once would take
    the square of the width. Each regression is solved once, at the end. The equations of two parts of a log can be
    added to obtain those of both.

    Parameters
    ----------
    width : int
        The number of features.

    Examples
    --------
    >>> import numpy as np
    >>> from fairbandits.models import NormalEquations, as_rows
    >>> equations = NormalEquations(width=2)
    >>> equations.add(as_rows([[1.0, 0.0], [1.0, 2.0]], n_users=2), np.array([0, 0]), np.array([0.5, 1.0]))
    >>> equations.gram.tolist(), equations.moment.tolist(), equations.count.tolist()
    ([[2.0, 2.0, 4.0]], [[1.5, 2.0]], [2])
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.gram: Floats = np.zeros((0, width * (width + 1) // 2))
        self.moment: Floats = np.zeros((0, width))
        self.count: Ints = np.zeros(0, np.int64)

    def add(self, rows: Rows, slots: Ints, rewards: Floats) -> None:
        """Add rows with a single arm, one per user, given the regression and the reward of each row."""
        if rows.width != self.width or not rows.n_users * rows.n_arms == slots.size == rewards.size:
            raise ValueError(
                f"rows must be {self.width} wide, one per slot and reward, got {rows.n_users} row(s), "
                f"{rows.width} wide"
            )
        if slots.size:
            self._reserve(int(slots.max()) + 1)
            if isinstance(rows, DenseRows):
                _add_dense(rows.matrix, slots, rewards, self.gram, self.moment, self.count)
            else:
                _add_sparse(tuple(rows.parts), slots, rewards, self.gram, self.moment, self.count)

    def merge(self, other: NormalEquations, ours: Ints, theirs: Ints) -> None:
        """Add some regressions of other equations to ours."""
        if len(ours):
            self._reserve(int(ours.max()) + 1)
            self.gram[ours] += other.gram[theirs]
            self.moment[ours] += other.moment[theirs]
            self.count[ours] += other.count[theirs]

    def _reserve(self, n: int) -> None:
        """Make room for at least n regressions, by doubling."""
        old = len(self.count)
        if n > old:
            new = max(n, min(2 * old, old + 1024))
            for name in ("gram", "moment", "count"):
                array: NDArray[np.generic] = getattr(self, name)
                grown = np.zeros((new, *array.shape[1:]), array.dtype)
                grown[:old] = array
                setattr(self, name, grown)


@kernel(reorder_sums=True)
def _add_sparse(
    rows: Fields,
    slots: Ints,
    rewards: Floats,
    gram: Floats,
    moment: Floats,
    count: Ints,
) -> None:
    split = SplitRows(*rows)
    for user in range(slots.size):
        columns, values, _ = take_row(split, user, 0)
        add_row(columns, values, rewards[user], 1.0, gram, slots[user], moment, slots[user])
        count[slots[user]] += 1


@kernel(reorder_sums=True)
def _add_dense(matrix: Floats, slots: Ints, rewards: Floats, gram: Floats, moment: Floats, count: Ints) -> None:
    for i in range(slots.size):
        slot, start = np.uint64(slots[i]), np.uint64(0)
        for j in range(np.uint64(matrix.shape[1])):
            value = matrix[i, j]
            moment[slot, j] += rewards[i] * value
            for k in range(j + np.uint64(1)):
                gram[slot, start + k] += value * matrix[i, k]
            start += j + np.uint64(1)
        count[slot] += 1
