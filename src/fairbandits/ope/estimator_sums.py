"""Sums over rows from which estimates and their intervals are computed; sums of chunks can be added.

Every estimator is a ratio of two sums over rows, of `numerator` and of `denominator`. Its error follows from the
influence of each row, `numerator - value * denominator`, whose second and third moments give the variance and the
skewness. The value is known only after the last row, but the influence is linear in numerator and denominator, so
it suffices to sum the products of up to three of them.
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

# The factors of a row: 1, numerator, denominator, reward. The products of any three of them are summed.
_ONE, _NUMERATOR, _DENOMINATOR, _REWARD = range(4)
_TRIPLES = [(a, b, c) for a in range(4) for b in range(a, 4) for c in range(b, 4)]
_TRIPLE_NUMBER = np.array(
    [[[_TRIPLES.index(tuple(sorted((a, b, c)))) for c in range(4)] for b in range(4)] for a in range(4)]  # type: ignore[arg-type]
)
_FIRST, _SECOND, _THIRD = (np.array(factor) for factor in zip(*_TRIPLES, strict=True))


# The variance that equal terms have because of rounding alone, relative to the sum of their squares.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class EstimatorTerms:
    """The terms that rows add to the two sums whose ratio is the estimate, and their weights."""

    numerator: Floats
    denominator: Floats
    weight: Floats

    def value(self) -> float:
        """Return the estimate, or NaN if the denominator is zero."""
        denominator = float(self.denominator.sum())
        return float(self.numerator.sum()) / denominator if denominator else float("nan")

    def estimate(self, confidence: float = 0.95) -> ValueEstimate | None:
        """Return the estimate with its interval, or None if there are too few rows."""
        sums = EstimatorSums(1)
        n = len(self.numerator)
        sums.add(self, np.zeros(n), np.zeros((n, 1), np.int64))
        return sums.estimate(0, confidence)

    def select(self, rows: Any) -> EstimatorTerms:
        """Return the terms of some rows, given by a mask or indices."""
        return EstimatorTerms(self.numerator[rows], self.denominator[rows], self.weight[rows])

    def by_group(self, group: ArrayLike, confidence: float = 0.95) -> Mapping[Hashable, ValueEstimate | None]:
        """Return the estimate of each group."""
        names = np.asarray(group)
        return {name: self.select(names == name).estimate(confidence) for name in np.unique(names).tolist()}


class EstimatorSums:
    """The sums of one estimator for each group.

    Parameters
    ----------
    n_groups : int
        The number of groups.
    offset : float
        A number near the rewards that is subtracted from them, so that sums of squares remain precise.
    """

    def __init__(self, n_groups: int, offset: float = 0.0) -> None:
        self.offset = offset
        self._products: Floats = np.zeros((n_groups, len(_TRIPLES)))
        self._weights: Floats = np.zeros((n_groups, 2))

    def add(self, terms: EstimatorTerms, reward: Floats, groups: Ints) -> None:
        """Add rows.

        Parameters
        ----------
        terms : EstimatorTerms
            The terms of the estimator.
        reward : array of shape (n_rows,)
            The rewards.
        groups : array of int, shape (n_rows, any)
            The groups to which each row belongs; -1 for none.
        """
        products, weights = np.zeros_like(self._products), np.zeros_like(self._weights)
        numerator, denominator = terms.numerator - self.offset * terms.denominator, terms.denominator
        factors = numerator, denominator, reward - self.offset, terms.weight
        _add_rows(groups, *factors, products, weights, _FIRST, _SECOND, _THIRD)
        self._products += products
        self._weights += weights

    def merge(self, other: EstimatorSums) -> None:
        """Add the sums of other rows."""
        self._products += other._products
        self._weights += other._weights

    def effective_rows(self, group: int = 0) -> float:
        """Return the effective sample size (Kish), as a number of equally weighted rows."""
        total, squares = self._weights[group]
        return float(total * total / squares) if squares else 0.0

    def rows(self, group: int = 0) -> int:
        """Return the number of rows."""
        return int(self._products[group, 0])

    def mean_weight(self, group: int = 0) -> float:
        """Return the mean weight, or NaN without rows."""
        return float(self._weights[group, 0] / self.rows(group)) if self.rows(group) else math.nan

    def weight_sums(self, group: int = 0) -> tuple[float, float, float]:
        """Return the number of rows, the sum of their weights, and the sum of the squared weights."""
        total, squares = self._weights[group]
        return float(self.rows(group)), float(total), float(squares)

    def estimate(self, group: int = 0, confidence: float = 0.95) -> ValueEstimate | None:
        """Return the estimate with its interval, or None if there are too few rows."""
        return self._estimate(group, confidence, is_improvement=False)

    def improvement(self, group: int = 0, confidence: float = 0.95) -> ValueEstimate | None:
        """Return the estimate minus the mean reward of the same rows, as a paired difference."""
        return self._estimate(group, confidence, is_improvement=True)

    def _estimate(self, group: int, confidence: float, is_improvement: bool) -> ValueEstimate | None:
        products = self._products[group][_TRIPLE_NUMBER]
        n, numerator, denominator, reward = products[_ONE, _ONE]
        if n < 2 or denominator <= 0.0:
            return None
        value = numerator / denominator
        influence = np.array([0.0, 1.0, -value, 0.0]) / denominator
        if is_improvement:
            influence += np.array([reward / n, 0.0, 0.0, -1.0]) / n
            value -= reward / n
        else:
            value += self.offset
        squares = products @ influence @ influence
        # First-order jackknife: a row with a large weight pulls the estimate towards itself.
        pull = squares[_DENOMINATOR] / denominator - squares[_ONE] / n
        variance = max(float(n / (n - 1.0) * (squares[_ONE] + 2.0 * pull)), 0.0)
        if variance < _ROUNDING * products[_ONE, _NUMERATOR, _NUMERATOR] / denominator**2:
            variance = 0.0  # all terms are equal
        third = float(products @ influence @ influence @ influence)
        degrees_of_freedom = max(self.effective_rows(group) - 1.0, 1.0)
        skewness = third / cube if (cube := variance**1.5) else 0.0
        return ValueEstimate(float(value), math.sqrt(variance), skewness, degrees_of_freedom, confidence)


@kernel(reorder_sums=True)
def _add_rows(
    groups: Ints,
    numerator: Floats,
    denominator: Floats,
    reward: Floats,
    weight: Floats,
    products: Floats,
    weights: Floats,
    first: Ints,
    second: Ints,
    third: Ints,
) -> None:
    row, product = np.ones(4), np.empty(first.size)
    for i in range(len(groups)):
        row[1], row[2], row[3] = numerator[i], denominator[i], reward[i]
        for k in range(first.size):
            product[k] = row[first[k]] * row[second[k]] * row[third[k]]
        for j in range(groups.shape[1]):
            group = groups[i, j]
            if group >= 0:
                for k in range(first.size):
                    products[group, k] += product[k]
                weights[group, 0] += weight[i]
                weights[group, 1] += weight[i] * weight[i]
