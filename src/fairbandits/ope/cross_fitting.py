"""A model of the reward for the direct method: one ridge regression per arm, never shown what it predicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fairbandits.logs.encoder import Features
from fairbandits.models import NormalEquations, RidgeRegressions, as_rows
from fairbandits.models.kernels.cholesky import unpacked

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class CrossFittedModel:
    """A linear model of each arm's reward, by cross-fitting: a row is predicted from rows of other folds alone.

    First `learn` all rows, then `solve`; `predict` them in a second pass, and `note` how far off that was. What is
    learned are sums, so neither pass keeps rows.

    Parameters
    ----------
    n_arms, width : int
        How many arms there are, and how many features a row has.
    folds : int
        Into how many folds rows are dealt.
    ridge : float
        The ridge penalty, > 0.

    Examples
    --------
    >>> model = CrossFittedModel(n_arms=1, width=1, folds=2, ridge=1e-9)
    >>> ones, arm, fold = np.ones((4, 1)), np.zeros(4, int), np.array([0, 0, 1, 1])
    >>> model.learn(ones, arm, np.array([0.0, 0.2, 0.8, 1.0]), fold)
    >>> model.solve()
    >>> model.predict(ones, fold)[:, 0].round(6)
    array([0.9, 0.9, 0.1, 0.1])
    """

    def __init__(self, n_arms: int, width: int, folds: int = 5, ridge: float = 1.0) -> None:
        self.n_arms, self.width, self.folds, self.ridge = n_arms, width, folds, ridge
        self._sums = [NormalEquations(width) for _ in range(folds)]
        # What White's sandwich is filled with: the same sums, each row times how far off its prediction was.
        self._noted = NormalEquations(width)
        self._theta: Floats = np.zeros((folds, n_arms, width))
        self._bank = RidgeRegressions(width, ridge)

    @staticmethod
    def bytes_needed(n_arms: int, width: int, folds: int) -> int:
        """Give about how much memory a model takes, while it solves."""
        return 4 * n_arms * width * width * (folds + 6)

    def learn(self, features: Features, arm: Ints, reward: Floats, fold: Ints) -> None:
        """Add rows to the sums.

        Parameters
        ----------
        features : array or scipy sparse, shape (n_rows, width)
            What is known of the user.
        arm, fold : arrays of int, shape (n_rows,)
            The arm that was shown, and the fold of the row.
        reward : array of shape (n_rows,)
            What came.
        """
        for number, rows in by_slot(fold):
            self._sums[number].add(as_rows(features[rows], self.width, len(rows)), arm[rows], reward[rows])

    def solve(self) -> None:
        """Solve for the models of all folds, once all rows are learned."""
        self._bank = self._learned_from(range(self.folds))
        for fold in range(self.folds):
            others = self._learned_from(number for number in range(self.folds) if number != fold)
            self._theta[fold] = [others.coefficients(arm) for arm in range(self.n_arms)]

    def _learned_from(self, folds: Iterable[int]) -> RidgeRegressions:
        both = NormalEquations(self.width)
        for fold in folds:
            every = np.arange(len(self._sums[fold].count))
            both.merge(self._sums[fold], every, every)
        bank = RidgeRegressions(self.width, self.ridge)
        bank.learn_equations(both, ((arm, arm) for arm in range(len(both.count))))
        return bank

    def predict(self, features: Features, fold: Ints) -> Floats:
        """Predict the reward of every arm for every row: an array of shape (n_rows, n_arms)."""
        predicted = np.empty((len(fold), self.n_arms))
        for number, rows in by_slot(fold):
            predicted[rows] = features[rows] @ self._theta[number].T
        return predicted

    def note(self, features: Features, arm: Ints, surprise: Floats) -> None:
        """Note by how much the rewards that came differ from those predicted: it says how sure the model is."""
        scaled = (
            sparse.diags_array(surprise) @ features if sparse.issparse(features) else features * surprise[:, None]
        )
        self._noted.add(as_rows(scaled, self.width, len(arm)), arm, np.zeros(len(arm)))

    def variance(self, wanted: Floats) -> float:
        """Give the variance that the model's own error lends to `sum over arms of wanted[arm] . theta[arm]`.

        The sandwich of White (1980), which holds whatever the spread of the rewards; that the model is
        wrong in kind, it cannot see.
        """
        total = 0.0
        for arm in range(len(self._noted.count)):
            lever = self._bank.inverse_of(arm) @ wanted[arm]
            total += float(lever @ unpacked(self._noted.gram[arm], self.width) @ lever)
        return total


def by_slot(slot: Ints) -> Iterator[tuple[int, Ints]]:
    """Give every number that occurs, and where it does.

    Examples
    --------
    >>> [(number, rows.tolist()) for number, rows in by_slot(np.array([7, 2, 7]))]
    [(2, [1]), (7, [0, 2])]
    """
    small = slot.astype(np.int16) if slot.size and slot.max() < 2**15 else slot  # which is sorted much faster
    order = np.argsort(small, kind="stable")
    numbers, starts = np.unique(slot[order], return_index=True)
    yield from zip(numbers.tolist(), np.split(order, starts)[1:], strict=True)


def deal(rows: Ints, folds: int) -> Ints:
    """Deal rows into folds by their number, as if at random: a log may repeat itself every so many rows.

    Examples
    --------
    >>> np.bincount(deal(np.arange(100_000), 5)).tolist()
    [20115, 19759, 20022, 19967, 20137]
    """
    # The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
    z = (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) % np.uint64(folds)).astype(np.int64)
