"""A model of the reward for the direct method: one ridge regression per arm, never shown what it predicts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fairbandits.linear import RidgeBank

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class RewardModel:
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
    >>> model = RewardModel(n_arms=1, width=1, folds=2, ridge=1e-9)
    >>> ones, arm, fold = np.ones((4, 1)), np.zeros(4, int), np.array([0, 0, 1, 1])
    >>> model.learn(ones, arm, np.array([0.0, 0.2, 0.8, 1.0]), fold)
    >>> model.solve()
    >>> model.predict(ones, fold)[:, 0].round(6)
    array([0.9, 0.9, 0.1, 0.1])
    """

    def __init__(self, n_arms: int, width: int, folds: int = 5, ridge: float = 1.0) -> None:
        self.n_arms, self.width, self.folds, self.ridge = n_arms, width, folds, ridge
        self._gram: Floats = np.zeros((folds, n_arms, width, width))
        self._moment: Floats = np.zeros((folds, n_arms, width))
        self._theta: Floats = np.zeros((folds, n_arms, width))
        self._inverse: Floats = np.zeros((n_arms, width, width))
        self._meat: Floats = np.zeros((n_arms, width, width))

    @staticmethod
    def bytes_needed(n_arms: int, width: int, folds: int) -> int:
        """Give about how much memory a model takes."""
        return 8 * n_arms * width * width * (folds + 3)

    def learn(self, features: Floats, arm: Ints, reward: Floats, fold: Ints) -> None:
        """Add rows to the sums.

        Parameters
        ----------
        features : array of shape (n_rows, width)
            What is known of the user.
        arm, fold : arrays of int, shape (n_rows,)
            The arm that was shown, and the fold of the row.
        reward : array of shape (n_rows,)
            What came.
        """
        for slot, rows in by_slot(fold * self.n_arms + arm):
            at, X = divmod(slot, self.n_arms), features[rows]
            self._gram[at] += X.T @ X
            self._moment[at] += X.T @ reward[rows]

    def solve(self) -> None:
        """Solve for the models of all folds, once all rows are learned."""
        gram, moment = self._gram.sum(axis=0), self._moment.sum(axis=0)
        for fold in range(self.folds):
            # What the others have learned is what all have learned less its own.
            bank = self._bank(gram - self._gram[fold], moment - self._moment[fold])
            self._theta[fold] = bank.theta[: self.n_arms]
        bank = self._bank(gram, moment)
        self._inverse = np.array([bank.inverse_of(arm) for arm in range(self.n_arms)])

    def predict(self, features: Floats, fold: Ints) -> Floats:
        """Predict the reward of every arm for every row: an array of shape (n_rows, n_arms)."""
        predicted = np.empty((len(features), self.n_arms))
        for number, rows in by_slot(fold):
            predicted[rows] = features[rows] @ self._theta[number].T
        return predicted

    def note(self, features: Floats, arm: Ints, surprise: Floats) -> None:
        """Note by how much the rewards that came differ from those predicted: it says how sure the model is."""
        for slot, rows in by_slot(arm):
            X = features[rows] * surprise[rows, None]
            self._meat[slot] += X.T @ X

    def variance(self, wanted: Floats) -> float:
        """Give the variance that the model's own error lends to `sum over arms of wanted[arm] . theta[arm]`.

        The sandwich of White (1980), which holds whatever the spread of the rewards; that the model is
        wrong in kind, it cannot see.
        """
        lever = np.einsum("kde,ke->kd", self._inverse, wanted)
        return float(np.einsum("kd,kde,ke->", lever, self._meat, lever))

    def _bank(self, gram: Floats, moment: Floats) -> RidgeBank:
        bank = RidgeBank(self.width, self.ridge)
        lower = np.tril_indices(self.width)
        for arm in range(self.n_arms):
            bank.add_sums(arm, gram[arm][lower], moment[arm])
        return bank


def by_slot(slot: Ints) -> Iterator[tuple[int, Ints]]:
    """Give every number that occurs, and where it does.

    Examples
    --------
    >>> [(number, rows.tolist()) for number, rows in by_slot(np.array([7, 2, 7]))]
    [(2, [1]), (7, [0, 2])]
    """
    order = np.argsort(slot, kind="stable")
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
