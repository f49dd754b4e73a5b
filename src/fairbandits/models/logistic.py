"""Rewards that are clicks, or anything between a lowest and a highest: logistic regression, one row at a time.

The chance of a click is `sigmoid(theta.x)`. What is known of theta is kept as a normal distribution,
`N(theta, A^-1)`, in the same A and b as a ridge regression has. A row moves theta to

    argmin  1/2 (theta - before)' A (theta - before) - log likelihood of the row

and A grows by `mu' x x'`, with mu' = mu (1 - mu) at the new theta. This is the update of Faury et al. 2022
(Jointly Efficient and Optimal Algorithms for Logistic Bandits), and of Chapelle and Li 2011 with a full matrix in
place of its diagonal. The new theta differs from the old one along A^-1 x alone, so that it takes one equation in
one unknown; and it is what a ridge regression learns from a row of weight mu' and a suitable reward.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fairbandits.models.kernels import split_rows
from fairbandits.models.rows import Row, SparseRows, checked_entries

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# A row of which the outcome was certain still counts for something; by less, its reward would leave the range of
# a float64.
_LEAST_WEIGHT = 1e-9
_MOST_STEPS = 100
_EXACT = 1e-16


@njit(cache=True, nogil=True)
def _sigmoid(z: float) -> float:
    if z >= 0.0:
        return 1.0 / (1.0 + math.exp(-z))
    e = math.exp(z)
    return e / (1.0 + e)


@njit(cache=True, nogil=True)
def working_row(z: float, variance: float, reward: float) -> tuple[float, float]:
    """Find what a ridge regression must learn to do the logistic step: a reward, and a weight.

    Parameters
    ----------
    z, variance : float
        theta.x and x' A^-1 x before the step.
    reward : float
        From 0 to 1.
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
        # Newton's steps where they shrink; where they swing to and fro, half of what is left.
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


def look(bank: Any, slots: Ints | None, row: Row) -> tuple[float, float]:
    """Look up theta.x and x' A^-1 x of a row that is going to be learned, by the model of its arm."""
    entries = checked_entries(row, bank.width)
    alone = SparseRows(1, 1, bank.width, split_rows.one_row(*entries))
    mean, width = bank.score(alone, slots)
    return mean.item(), width.item() ** 2


@njit(cache=True, nogil=True)
def to_rewards(z: Floats, width: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Take theta.x and its width to the scale of rewards: `mu = sigmoid(z)`, and `sigmoid(z + width) - mu`.

    So `mean + width` is the reward one standard deviation up, and never beyond the highest reward.
    """
    mean, up = np.empty(z.shape), np.empty(z.shape)
    for i in range(len(z)):
        for j in range(z.shape[1]):
            mean[i, j] = low + (high - low) * _sigmoid(z[i, j])
            # By the tail on its own side: near 1 the difference of two sigmoids has no digits left.
            if z[i, j] > 0.0:
                rise = _sigmoid(-z[i, j]) - _sigmoid(-z[i, j] - width[i, j])
            else:
                rise = _sigmoid(z[i, j] + width[i, j]) - _sigmoid(z[i, j])
            up[i, j] = (high - low) * rise
    return mean, up
