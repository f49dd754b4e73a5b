"""Rows of slates, one per position, and sums over the positions of a slate.

Rows of the same slate are dependent, because one user saw them together. Estimators for slates therefore sum over
the positions first, so that a slate is one term.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbandits.ope.array_validation import Floats, Ints, as_integers, check_lengths

# Probabilities of the same event may differ because of rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class SlateRows:
    """The rows of slates, sorted by slate and position.

    Attributes
    ----------
    ids : array of int, shape (n_slates,)
        The ids of the slates, in ascending order.
    start, length : arrays of int, shape (n_slates,)
        The first row of each slate, and its number of rows.
    position : array of int, shape (n_rows,)
        The position of each row.

    Examples
    --------
    >>> rows, order = SlateRows.from_arrays(slate=[7, 7, 3, 7], position=[1, 0, 0, 2])
    >>> rows.ids, rows.length, order
    (array([3, 7]), array([1, 3]), array([2, 1, 0, 3]))
    >>> rows.sum(np.array([1.0, 0.0, 1.0, 1.0])), rows.mean(np.array([1.0, 0.5, 0.5, 2.0]))
    (array([1., 2.]), array([1., 1.]))
    """

    ids: Ints
    start: Ints
    length: Ints
    position: Ints

    @classmethod
    def from_arrays(cls, slate: ArrayLike, position: ArrayLike, first: int = 0) -> tuple[SlateRows, Ints]:
        """Return the sorted rows, and the indices that sort the given arrays, whose positions start at `first`."""
        unsorted, positions = as_integers("slate", slate), as_integers("position", position)
        check_lengths(slate=unsorted, position=positions)
        order = np.lexsort((positions, unsorted))
        ids, start, length = np.unique(unsorted[order], return_index=True, return_counts=True)
        rows = cls(ids, start, length, positions[order] - first)
        is_wrong = rows.position != np.arange(len(order)) - np.repeat(start, length)
        if is_wrong.any():
            slate_number = rows.number()[is_wrong][0]
            got = positions[order][start[slate_number] :][: min(length[slate_number], 10)].tolist()
            raise ValueError(
                f"position must be {first}, {first + 1}, {first + 2}, ... in each slate, without gaps or "
                f"repetitions, got {got} in slate {ids[slate_number]}; leave out whole slates, not single rows"
            )
        return rows, order

    def number(self) -> Ints:
        """Return the index of the slate of each row."""
        return np.repeat(np.arange(len(self.ids)), self.length)

    def sum(self, values: Floats) -> Floats:
        """Return the sum over the positions of each slate."""
        return np.bincount(self.number(), values, minlength=len(self.ids)).astype(np.float64, copy=False)

    def mean(self, values: Floats) -> Floats:
        """Return the mean over the positions of each slate."""
        return self.sum(values) / self.length

    def select(self, slates: Any) -> tuple[SlateRows, Ints]:
        """Return the rows of the slates selected by a mask or by indices, and the indices of these rows."""
        length = self.length[slates]
        start = np.cumsum(length) - length
        picked = np.arange(length.sum()) + np.repeat(self.start[slates] - start, length)
        return SlateRows(self.ids[slates], start, length, self.position[picked]), picked

    def previous(self, values: Floats, first: float) -> Floats:
        """Return the value at the previous position, or `first` at position 0."""
        shifted = np.roll(values, 1)
        shifted[self.start] = first
        return shifted

    def prefix_product(self, values: Floats) -> Floats:
        """Return the product of the values from position 0 to each position."""
        product = values.copy()
        for position in range(1, self.length.max(initial=0)):
            row = self.start[self.length > position] + position
            product[row] *= product[row - 1]
        return product

    def check_joint(self, values: Floats, name: str) -> None:
        """Raise an error unless all rows of a slate have the same probability."""
        rule = f"{name} must be that of the whole slate, the same at every position"
        first = self._first(values)
        self._refuse(np.abs(values - first) > _ROUNDING * first, rule, first, values)

    def check_prefix(self, values: Floats, name: str) -> None:
        """Raise an error if a probability is higher than the one at the previous position."""
        rule = f"{name} must be that of all arms from position 0 to this one, which cannot increase"
        before = self.previous(values, np.inf)
        self._refuse(values > before * (1.0 + _ROUNDING), rule, before, values)

    def check_same(self, values: NDArray[Any], rule: str) -> None:
        """Raise an error unless all rows of a slate have the same value."""
        first = self._first(values)
        self._refuse(values != first, rule, first, values)

    def _first(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.repeat(values[self.start], self.length)

    def _refuse(self, is_wrong: NDArray[np.bool_], rule: str, one: NDArray[Any], two: NDArray[Any]) -> None:
        if is_wrong.any():
            row = int(is_wrong.argmax())
            slate = self.ids[self.number()[row]]
            raise ValueError(f"{rule}, got {one[row]} and then {two[row]} in slate {slate}")
