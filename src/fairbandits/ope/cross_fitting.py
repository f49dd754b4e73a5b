"""A cross-fitted reward model: one ridge regression per arm, for the direct method and doubly robust estimates."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fairbandits.contexts.table_encoder import Features
from fairbandits.models import NormalEquations, RidgeRegressions, as_rows
from fairbandits.models.kernels.cholesky import unpacked

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class CrossFittedRidge:
    """A linear model of each arm's reward whose prediction for a row is based only on the rows of other folds.

    Call `learn` for all rows, then `solve`. In a second pass, call `predict` for the rows and pass the residuals
    to `add_residuals`. The model stores only sums, not rows.

    Parameters
    ----------
    n_arms, width : int
        The number of arms and the number of features.
    folds : int
        The number of folds.
    ridge : float
        The ridge penalty, > 0.

    Examples
    --------
    >>> model = CrossFittedRidge(n_arms=1, width=1, folds=2, ridge=1e-9)
    >>> ones, arm, fold = np.ones((4, 1)), np.zeros(4, int), np.array([0, 0, 1, 1])
    >>> model.learn(ones, arm, np.array([0.0, 0.2, 0.8, 1.0]), fold)
    >>> model.solve()
    >>> model.predict(ones, fold)[:, 0].round(6)
    array([0.9, 0.9, 0.1, 0.1])
    """

    def __init__(self, n_arms: int, width: int, folds: int = 5, ridge: float = 1.0) -> None:
        self.n_arms, self.width, self.folds, self.ridge = n_arms, width, folds, ridge
        self._sums = [NormalEquations(width) for _ in range(folds)]
        # The middle of White's sandwich: the same sums, but of rows scaled by their residuals.
        self._residual_sums = NormalEquations(width)
        self._theta: Floats = np.zeros((folds, n_arms, width))
        self._bank = RidgeRegressions(width, ridge)

    @staticmethod
    def bytes_needed(n_arms: int, width: int, folds: int) -> int:
        """Return the approximate peak memory of a model."""
        return 4 * n_arms * width * width * (folds + 6)

    def learn(self, features: Features, arm: Ints, reward: Floats, fold: Ints) -> None:
        """Add rows to the sums.

        Parameters
        ----------
        features : array or scipy sparse, shape (n_rows, width)
            The features.
        arm, fold : arrays of int, shape (n_rows,)
            The arm and the fold of each row.
        reward : array of shape (n_rows,)
            The rewards.
        """
        for number, rows in rows_by_value(fold):
            self._sums[number].add(as_rows(features[rows], self.width, len(rows)), arm[rows], reward[rows])

    def merge(self, other: CrossFittedRidge) -> None:
        """Add the rows from which another model has learned."""
        for sums, others in zip(self._sums, other._sums, strict=True):
            arms = np.arange(len(others.count))
            sums.merge(others, arms, arms)

    def merge_residuals(self, residuals: NormalEquations) -> None:
        """Add the residual sums of other rows."""
        arms = np.arange(len(residuals.count))
        self._residual_sums.merge(residuals, arms, arms)

    def with_new_residuals(self) -> CrossFittedRidge:
        """Return the same model without residuals."""
        model = copy.copy(self)
        model._residual_sums = NormalEquations(self.width)
        return model

    @property
    def residuals(self) -> NormalEquations:
        """The residual sums."""
        return self._residual_sums

    def solve(self) -> None:
        """Solve the models of all folds, after all rows have been learned."""
        self._bank = self._solve_folds(range(self.folds))
        for fold in range(self.folds):
            others = self._solve_folds(number for number in range(self.folds) if number != fold)
            self._theta[fold] = [others.coefficients(arm) for arm in range(self.n_arms)]

    def _solve_folds(self, folds: Iterable[int]) -> RidgeRegressions:
        total = NormalEquations(self.width)
        for fold in folds:
            arms = np.arange(len(self._sums[fold].count))
            total.merge(self._sums[fold], arms, arms)
        bank = RidgeRegressions(self.width, self.ridge)
        bank.learn_equations(total, ((arm, arm) for arm in range(len(total.count))))
        return bank

    def predict(self, features: Features, fold: Ints) -> Floats:
        """Return the predicted reward of every arm for every row, of shape (n_rows, n_arms)."""
        predictions = np.empty((len(fold), self.n_arms))
        for number, rows in rows_by_value(fold):
            predictions[rows] = features[rows] @ self._theta[number].T
        return predictions

    def add_residuals(self, features: Features, arm: Ints, residual: Floats) -> None:
        """Add residuals, the rewards minus their predictions, from which `variance` is estimated."""
        scaled = (
            sparse.diags_array(residual) @ features if sparse.issparse(features) else features * residual[:, None]
        )
        self._residual_sums.add(as_rows(scaled, self.width, len(arm)), arm, np.zeros(len(arm)))

    def variance(self, weights: Floats) -> float:
        """Return the variance of `sum over arms of weights[arm] . theta[arm]`.

        The estimate is White's (1980) sandwich estimator, which is valid for heteroscedastic rewards, but does not
        account for a misspecified model.
        """
        total = 0.0
        # The sums may have room for more arms than have appeared so far.
        for arm in np.flatnonzero(self._residual_sums.count).tolist():
            bread = self._bank.inverse_of(arm) @ weights[arm]
            total += float(bread @ unpacked(self._residual_sums.gram[arm], self.width) @ bread)
        return total


def rows_by_value(values: Ints) -> Iterator[tuple[int, Ints]]:
    """Yield each distinct value with the rows that have it.

    Examples
    --------
    >>> [(value, rows.tolist()) for value, rows in rows_by_value(np.array([7, 2, 7]))]
    [(2, [1]), (7, [0, 2])]
    """
    narrow = values.astype(np.int16) if values.size and values.max() < 2**15 else values  # sorts much faster
    order = np.argsort(narrow, kind="stable")
    distinct, starts = np.unique(values[order], return_index=True)
    yield from zip(distinct.tolist(), np.split(order, starts)[1:], strict=True)


def assign_folds(rows: Ints, folds: int) -> Ints:
    """Return pseudo-random folds from row numbers, so that periodic patterns in the log do not matter.

    Examples
    --------
    >>> np.bincount(assign_folds(np.arange(100_000), 5)).tolist()
    [20115, 19759, 20022, 19967, 20137]
    """
    # The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
    z = (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) % np.uint64(folds)).astype(np.int64)
