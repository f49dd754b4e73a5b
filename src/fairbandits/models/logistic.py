"""Logistic regression, one row at a time: for clicks, or any reward between 0 and 1.

The probability of a click is `sigmoid(theta.x)`. The belief about theta is a normal distribution, `N(theta,
A^-1)`, with the same A and b as a ridge regression. A row moves theta to

    argmin  1/2 (theta - before)' A (theta - before) - log likelihood of the row

and A grows by `mu' x x'`, with mu' = mu (1 - mu) at the new theta. This is the update of Faury et al. 2022
(Jointly Efficient and Optimal Algorithms for Logistic Bandits), and that of Chapelle and Li 2011 with a full
matrix in place of its diagonal. The new theta differs from the old one only along A^-1 x, so finding it takes one
equation in one unknown. A ridge regression learns the same theta from a row of weight mu' with a suitable reward.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairbandits.jit import helper, kernel
from fairbandits.models.disjoint import DisjointModel
from fairbandits.models.hybrid import HybridModel
from fairbandits.models.kernels.layouts import Floats, Ints
from fairbandits.models.reward_model import RewardModel
from fairbandits.models.rows import Row, Rows, as_single_round
from fairbandits.models.shared import SharedModel

# A row whose outcome was certain keeps at least this weight; with less, its reward would leave the range of a
# float64.
_LEAST_WEIGHT = 1e-9
_MOST_STEPS = 100
_EXACT = 1e-16

LinearModel = DisjointModel | SharedModel | HybridModel


class LogisticModel(RewardModel):
    """A linear model of the log-odds of the reward.

    Parameters
    ----------
    model : DisjointModel, SharedModel or HybridModel
        The model of the log-odds.
    """

    order_dependent = True
    is_mergeable = True

    def __init__(self, model: LinearModel) -> None:
        super().__init__(model.width)
        self.model = model

    def score(self, rows: Rows, arms: Ints) -> tuple[Floats, Floats]:
        """Predict the expected reward of each arm, and its rise for one standard deviation of theta.x."""
        return to_rewards(*self.model.score(rows, arms))

    def learn(self, arm: int, row: Row, reward: float) -> None:
        """Learn the reward of an arm with a context."""
        if arm < 0 and not isinstance(self.model, SharedModel):
            return
        z, width = self.model.score(as_single_round(row, self.width), np.array([arm]))
        self.model.learn(arm, row, *working_row(z.item(), width.item() ** 2, reward))

    def forget(self, arm: int) -> None:
        """Discard the learned state of an arm."""
        self.model.forget(arm)

    def merge(self, other: Self, pairs: Iterable[tuple[int, int]]) -> None:
        """Add the learned state of another model."""
        self.model.merge(other.model, pairs)  # type: ignore[arg-type]

    def sample(self, rows: Rows, arms: Ints, rng: np.random.Generator) -> Floats:
        """Draw the error of each mean, in units of its width."""
        return self.model.sample(rows, arms, rng)

    def coefficients(self, arm: int) -> Floats:
        """Return the coefficients of the log-odds."""
        return self.model.coefficients(arm)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as arrays."""
        return self.model.arrays()

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore the state that `arrays` returned."""
        self.model.restore(arrays)


@helper()
def _sigmoid(z: float) -> float:
    if z >= 0.0:
        return 1.0 / (1.0 + math.exp(-z))
    e = math.exp(z)
    return e / (1.0 + e)


@kernel()
def working_row(z: float, variance: float, reward: float) -> tuple[float, float]:
    """Compute the reward and the weight with which a ridge regression takes the logistic step.

    Parameters
    ----------
    z, variance : float
        theta.x and x' A^-1 x before the step.
    reward : float
        The reward, from 0 to 1.
    """
    # The step is A^-1 x times t = reward - sigmoid(z + variance t): one solution, in [reward - 1, reward].
    lo, hi = reward - 1.0, reward
    t = min(max(0.0, lo), hi)
    before = 1.0
    for _ in range(_MOST_STEPS):
        mu = _sigmoid(z + variance * t)
        excess = t + mu - reward
        if excess > 0.0:
            hi = t
        else:
            lo = t
        step = excess / (1.0 + variance * mu * (1.0 - mu))
        # Take Newton's step if it shrinks; if steps oscillate, halve the bracket.
        if not lo <= t - step <= hi or 2.0 * abs(step) > before:
            step = t - 0.5 * (lo + hi)
        before = abs(step)
        t -= step
        if before < _EXACT:
            break
    after = z + variance * t
    mu = _sigmoid(after)
    weight = max(mu * (1.0 - mu), _LEAST_WEIGHT)
    return after + t / weight, weight


@kernel()
def to_rewards(z: Floats, width: Floats) -> tuple[Floats, Floats]:
    """Map theta.x and its width to the scale of rewards: `mu = sigmoid(z)`, and `sigmoid(z + width) - mu`.

    So `mean + width` is the reward at one standard deviation above theta.x, and is never above 1.
    """
    mean, up = np.empty(z.shape), np.empty(z.shape)
    for i in range(len(z)):
        for j in range(z.shape[1]):
            mean[i, j] = _sigmoid(z[i, j])
            # Computed from the smaller tail: near 1, the difference of two sigmoids has no correct digits left.
            if z[i, j] > 0.0:
                up[i, j] = _sigmoid(-z[i, j]) - _sigmoid(-z[i, j] - width[i, j])
            else:
                up[i, j] = _sigmoid(z[i, j] + width[i, j]) - _sigmoid(z[i, j])
    return mean, up
