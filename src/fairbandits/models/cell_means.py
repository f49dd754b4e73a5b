"""Mean rewards of equal contexts: a model for contexts with few different values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairbandits.models.kernels.layouts import Floats, Ints
from fairbandits.models.reward_model import RewardModel
from fairbandits.models.rows import Row, Rows, checked_entries


class CellMeans(RewardModel):
    """The mean reward of each cell, which consists of all equal rows, whatever their arms.

    A cell with n rewards predicts their mean (0 without rewards), with the width `1 / sqrt(max(1, n))`.

    Examples
    --------
    >>> import numpy as np
    >>> from fairbandits.models import as_rows
    >>> from fairbandits.models.cell_means import CellMeans
    >>> model = CellMeans(width=2)
    >>> rows = as_rows([[1.0, 0.0], [0.0, 1.0]])
    >>> for reward in (0.5, 1.0, 0.5, 0.0):
    ...     model.learn(0, rows.row(0, 1), reward)
    >>> [part.tolist() for part in model.score(rows, np.array([0, 1]))]
    [[[0.0, 0.5]], [[1.0, 0.5]]]
    """

    order_dependent = False
    is_mergeable = True

    def __init__(self, width: int) -> None:
        super().__init__(width)
        # The place of each cell, by the bytes of its row.
        self._places: dict[bytes, int] = {}
        self._counts: Floats = np.zeros(0)
        self._sums: Floats = np.zeros(0)

    def score(self, rows: Rows, arms: Ints) -> tuple[Floats, Floats]:
        """Predict the reward of every arm for every user: the mean of the cell, and its width."""
        places = self._places_of(rows.toarray()).reshape(rows.n_users, rows.n_arms)
        # The last entry stands for cells without rewards, whose place is -1.
        counts = np.maximum(np.append(self._counts[: len(self._places)], 0.0), 1.0)[places]
        return np.append(self._sums[: len(self._places)], 0.0)[places] / counts, 1.0 / np.sqrt(counts)

    def _places_of(self, matrix: Floats) -> Ints:
        """Return the place of the cell of each row, -1 for a cell without rewards."""
        # Most rows may be equal; of equal rows, only the first is looked up.
        first, same_as = _equal_rows(matrix)
        places = np.array([self._places.get(key, -1) for key in _keys(matrix[first])])
        return places[same_as]

    def learn(self, arm: int, row: Row, reward: float) -> None:
        """Learn a reward in the cell of a row."""
        columns, values, _ = checked_entries(row, self.width)
        dense = np.zeros((1, self.width))
        dense[0, columns] = values
        self._add(_keys(dense)[0], 1.0, reward)

    def _add(self, key: bytes, count: float, total: float) -> None:
        place = self._places.setdefault(key, len(self._places))
        if place >= len(self._counts):
            # By doubling, so that the cost per cell stays constant.
            room = np.zeros(max(8, len(self._counts)))
            self._counts, self._sums = np.append(self._counts, room), np.append(self._sums, room)
        self._counts[place] += count
        self._sums[place] += total

    def merge(self, other: Self, pairs: Iterable[tuple[int, int]]) -> None:
        """Add the rewards of another model, cell by cell."""
        for key, place in other._places.items():
            self._add(key, float(other._counts[place]), float(other._sums[place]))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the rows of the cells, and the count and sum of their rewards."""
        n = len(self._places)
        cells = np.frombuffer(b"".join(self._places), np.float64).reshape(n, self.width)
        return {"cells": cells, "counts": self._counts[:n], "sums": self._sums[:n]}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore the state that `arrays` returned."""
        cells, counts, sums = arrays["cells"], np.array(arrays["counts"]), np.array(arrays["sums"])
        if cells.shape != (len(counts), self.width) or counts.shape != sums.shape:
            raise ValueError(f"cells must be {self.width} wide with a count and a sum each, got {cells.shape}")
        self._places = {key: place for place, key in enumerate(_keys(cells))}
        if len(self._places) < len(cells):
            raise ValueError("cells must differ")
        self._counts, self._sums = counts, sums


def _equal_rows(matrix: Floats) -> tuple[Ints, Ints]:
    """Return the index of the first of each set of equal rows, and the number of each row's set.

    Rows are compared by their products with fixed weights; if rows that differ have the same product, all rows are
    treated as different.
    """
    products = matrix @ np.sqrt(np.arange(2.0, matrix.shape[1] + 2.0))
    _, first, same_as = np.unique(products, return_index=True, return_inverse=True)
    if (matrix[first[same_as]] == matrix).all():
        return first, same_as
    every = np.arange(len(matrix))
    return every, every


def _keys(matrix: Floats) -> list[bytes]:
    """Return the bytes of each row."""
    # Adding 0 turns -0.0, which equals 0.0 but has different bytes, into 0.0.
    content = (matrix + 0.0).tobytes()
    size = 8 * matrix.shape[1]
    return [content[start : start + size] for start in range(0, len(content), size)]
