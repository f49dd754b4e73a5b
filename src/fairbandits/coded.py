"""Columns of labels as numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Label = str | int


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of labels as numbers.

    Attributes
    ----------
    codes : array of int32
        The number of each row's label; -1 where the label is missing.
    labels : list
        The label of each number. In a log it grows from chunk to chunk: the same number is the same label in all
        of it.
    """

    codes: NDArray[np.int32]
    labels: list[Label]

    def take(self, rows: NDArray[np.bool_]) -> Coded:
        """Give some of the rows."""
        return Coded(self.codes[rows], self.labels)

    def renumbered(self, claim: Callable[[Label], int]) -> NDArray[np.int64]:
        """Give other numbers, -1 where there is no label; labels claim theirs in the order of their first rows."""
        first = np.full(len(self.labels) + 1, len(self.codes))
        # What is written last stays: the first row of each label. Rows without one are the last entry's.
        first[self.codes[::-1]] = np.arange(len(self.codes))[::-1]
        table = np.full(len(self.labels) + 1, -1)
        for code in np.argsort(first[:-1], kind="stable").tolist():
            if first[code] < len(self.codes):
                table[code] = claim(self.labels[code])
        return table[self.codes]
