"""A shared regression on the first half of the rewards, so that the second half is independent of it."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.models.kernels.layouts import Floats, Ints
from fairbandits.models.reward_model import RewardModel, with_prefix
from fairbandits.models.rows import Row, Rows
from fairbandits.models.shared import SharedModel


def next_update(n: int, growth: float) -> int:
    """Return the number of observations at which an update is due, given that the last one was at n.

    Examples
    --------
    >>> next_update(100, 0.1), next_update(100, 0.0)
    (110, 101)
    """
    return n + max(1, math.ceil(growth * n))


class FirstHalfModel(RewardModel):
    """A ridge regression for all arms that has learned the first half of the rewards it was given.

    Parameters
    ----------
    width : int
        The number of features.
    ridge : float
        The ridge penalty.
    growth : float
        The share by which the number of rewards must grow before the regression learns more of them; 0 to learn
        them at once.

    Examples
    --------
    >>> from fairbandits.models import as_rows
    >>> model = FirstHalfModel(width=1, ridge=1.0, growth=0.0)
    >>> for reward in (1.0, 0.0, 0.0):
    ...     model.learn(0, as_rows([[1.0]]).row(0, 0), reward)
    >>> model.coefficients(0)
    array([0.5])
    """

    def __init__(self, width: int, ridge: float, growth: float) -> None:
        super().__init__(width)
        self._growth = growth
        self._regression = SharedModel(width, ridge)
        self._waiting: deque[tuple[Floats, float]] = deque()
        self._given = 0
        self._due = 1

    def score(self, rows: Rows, arms: Ints) -> tuple[Floats, Floats]:
        """Return the expected reward and the width `sqrt(x' A^-1 x)` of every arm for every user."""
        return self._regression.score(rows, arms)

    def coefficients(self, arm: int) -> Floats:
        """Return theta, the same for all arms."""
        return self._regression.coefficients(0)

    def learn(self, arm: int, row: Row, reward: float) -> None:
        """Queue a reward, and learn the oldest rewards until half of all have been learned."""
        if row.width != self.width:
            raise ValueError(f"row must be {self.width} wide, got {row.width}")
        self._waiting.append((row.dense(), reward))
        self._given += 1
        if self._given >= self._due:
            self._due = next_update(self._given, self._growth)
            while len(self._waiting) > self._given - self._given // 2:
                self._learn_oldest()

    def _learn_oldest(self) -> None:
        context, reward = self._waiting.popleft()
        try:
            self._regression.learn(0, Row.of_vector(context), reward)
        except ValueError:
            return  # a row that float64 cannot hold; it is too late to reject it

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the regression, and the rewards that have not been learned yet."""
        named = {f"regression.{name}": array for name, array in self._regression.arrays().items()}
        return named | {
            "contexts": np.array([context for context, _ in self._waiting]).reshape(-1, self.width),
            "rewards": np.array([reward for _, reward in self._waiting]),
            "given": np.array([self._given, self._due]),
        }

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore the state that `arrays` returned."""
        contexts, rewards = np.array(arrays["contexts"]), arrays["rewards"]
        if contexts.shape != (len(rewards), self.width):
            raise ValueError(f"contexts has shape {contexts.shape}, for {len(rewards)} rewards")
        self._regression.restore(with_prefix(arrays, "regression."))
        self._waiting = deque(zip(contexts, rewards.tolist(), strict=True))
        self._given, self._due = arrays["given"].tolist()
