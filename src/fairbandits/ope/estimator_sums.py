"""All that an estimate and its interval need of a log, as sums: chunks add up, and so do machines.

Every estimator is a ratio of two sums over rows, of `above` and of `below`. Its error comes from the influence
of each row, `above - value * below`, whose second and third moments give the variance and the skewness. The
value is not known before the last row has been read; but the influence is linear in `above` and `below`, so it
is enough to sum the products of up to three of them.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbandits.jit import kernel
from fairbandits.ope.value_estimate import ValueEstimate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# What a row is multiplied out of: 1, above, below, reward; the products of any three of them are summed.
_ONE, _ABOVE, _BELOW, _REWARD = range(4)
_TRIPLES = [(a, b, c) for a in range(4) for b in range(a, 4) for c in range(b, 4)]
_PLACE = np.array(
    [[[_TRIPLES.index(tuple(sorted((a, b, c)))) for c in range(4)] for b in range(4)] for a in range(4)]  # type: ignore[arg-type]
)
_A, _B, _C = (np.array(side) for side in zip(*_TRIPLES, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """What each row adds to the two sums whose ratio is the estimate, and the weight that it has there."""

    above: Floats
    below: Floats
    weight: Floats

    def value(self) -> float:
        """Give the estimate; NaN where no row says anything."""
        below = float(self.below.sum())
        return float(self.above.sum()) / below if below else float("nan")

    def estimate(self, confidence: float = 0.95) -> ValueEstimate | None:
        """Give the estimate with its interval; None where the rows cannot say."""
        sums = EstimatorSums(1)
        sums.add(self, np.zeros(len(self.above)), np.zeros((len(self.above), 1), np.int64))
        return sums.estimate(0, confidence)

    def where(self, rows: Any) -> Terms:
        """Give those of some rows: a mask, or their numbers."""
        return Terms(self.above[rows], self.below[rows], self.weight[rows])

    def by(self, group: ArrayLike, confidence: float = 0.95) -> Mapping[Hashable, ValueEstimate | None]:
        """Give the estimate of each group, by the name of the group."""
        names = np.asarray(group)
        return {name: self.where(names == name).estimate(confidence) for name in np.unique(names).tolist()}


class EstimatorSums:
    """The sums over the rows of each cell: of all rows, of each group.

    Parameters
    ----------
    n_cells : int
        How many cells there are.
    origin : float
        A number near the rewards, from which they are counted: sums of squares of small numbers keep more digits.
    """

    def __init__(self, n_cells: int, origin: float = 0.0) -> None:
        self.origin = origin
        self._products: Floats = np.zeros((n_cells, len(_TRIPLES)))
        self._weights: Floats = np.zeros((n_cells, 2))

    def add(self, terms: Terms, reward: Floats, cells: Ints) -> None:
        """Add rows.

        Parameters
        ----------
        terms : Terms
            What an estimator makes of them.
        reward : array of shape (n_rows,)
            Their rewards.
        cells : array of int, shape (n_rows, any)
            The cells in which each row counts; -1 for none.
        """
        products, weights = np.zeros_like(self._products), np.zeros_like(self._weights)
        parts = terms.above - self.origin * terms.below, terms.below, reward - self.origin, terms.weight
        _add_rows(cells, *parts, products, weights, _A, _B, _C)
        self._products += products
        self._weights += weights

    def effective(self, cell: int = 0) -> float:
        """Give the effective number of rows: how many of equal weight would say as much (Kish 1965)."""
        total, squares = self._weights[cell]
        return float(total * total / squares) if squares else 0.0

    def rows(self, cell: int = 0) -> int:
        """Give the number of rows."""
        return int(self._products[cell, 0])

    def mean_weight(self, cell: int = 0) -> float:
        """Give the mean of the weights."""
        return float(self._weights[cell, 0] / self.rows(cell)) if self.rows(cell) else math.nan

    def weight_error(self, cell: int = 0) -> float:
        """Give the standard error of that."""
        n = self.rows(cell)
        spread = self._weights[cell, 1] / n - self.mean_weight(cell) ** 2 if n else math.nan
        return math.sqrt(max(spread, 0.0) / n) if n else math.nan

    def estimate(self, cell: int = 0, confidence: float = 0.95) -> ValueEstimate | None:
        """Give the ratio and how sure it is; None where the rows cannot say."""
        return self._estimate(cell, confidence, beside_log=False)

    def gain(self, cell: int = 0, confidence: float = 0.95) -> ValueEstimate | None:
        """Give by how much the ratio is above the mean reward of the same rows, and how sure that is."""
        return self._estimate(cell, confidence, beside_log=True)

    def _estimate(self, cell: int, confidence: float, beside_log: bool) -> ValueEstimate | None:
        products = self._products[cell][_PLACE]
        n, above, below, reward = products[_ONE, _ONE]
        if n < 2 or below <= 0.0:
            return None
        value = above / below
        influence = np.array([0.0, 1.0, -value, 0.0]) / below
        if beside_log:
            influence += np.array([reward / n, 0.0, 0.0, -1.0]) / n
            value -= reward / n
        else:
            value += self.origin
        squares = products @ influence @ influence
        # The jackknife, to first order: a row of large weight pulls the value towards itself.
        pull = squares[_BELOW] / below - squares[_ONE] / n
        variance = max(float(n / (n - 1.0) * (squares[_ONE] + 2.0 * pull)), 0.0)
        third = float(products @ influence @ influence @ influence)
        freedom = max(self.effective(cell) - 1.0, 1.0)
        skew = third / cube if (cube := variance**1.5) else 0.0
        return ValueEstimate(float(value), math.sqrt(variance), skew, freedom, confidence)


@kernel(reorder_sums=True)
def _add_rows(
    cells: Ints,
    above: Floats,
    below: Floats,
    reward: Floats,
    weight: Floats,
    products: Floats,
    weights: Floats,
    first: Ints,
    second: Ints,
    third: Ints,
) -> None:
    row, product = np.ones(4), np.empty(first.size)
    for i in range(len(cells)):
        row[1], row[2], row[3] = above[i], below[i], reward[i]
        for k in range(first.size):
            product[k] = row[first[k]] * row[second[k]] * row[third[k]]
        for j in range(cells.shape[1]):
            cell = cells[i, j]
            if cell >= 0:
                for k in range(first.size):
                    products[cell, k] += product[k]
                weights[cell, 0] += weight[i]
                weights[cell, 1] += weight[i] * weight[i]
