"""Differences between two groups with the same distribution of factors: standardised, or doubly robust.

Both methods compare like with like: they estimate the difference in expected reward between users in the two
groups who have the same factors, averaged over the factors of both groups together. The variance follows from
influence functions, summed over the rows of a user, so the rows of a user may depend on each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class AdjustedEstimate:
    """An adjusted difference.

    Attributes
    ----------
    value, standard_error : float
        The difference and its standard error; NaN if nothing is comparable.
    degrees_of_freedom : float
        The degrees of freedom of the standard error.
    """

    value: float
    standard_error: float
    degrees_of_freedom: float

    def interval(self, error: float) -> tuple[float, float]:
        """Return Student's t interval with the given error probability."""
        from scipy.special import stdtrit  # noqa: PLC0415 - slow to import

        radius = -float(stdtrit(max(self.degrees_of_freedom, 1.0), error / 2.0)) * self.standard_error
        return self.value - radius, self.value + radius


NOT_COMPARABLE = AdjustedEstimate(np.nan, np.nan, 0.0)


def comparable_strata(counts: Floats) -> NDArray[np.bool_]:
    """Return the strata in which both groups have rewards in at least two folds of users.

    With a single fold, the variance cannot be estimated.

    Parameters
    ----------
    counts : array of shape (2, strata, folds)
        The number of rewards of the two groups.
    """
    return np.asarray(((counts > 0).sum(axis=2) >= 2).all(axis=0))


def standardised_difference(counts: Floats, totals: Floats) -> AdjustedEstimate:
    """Return the mean reward of the first group minus that of the second, standardised over strata.

    Each stratum is weighted by its number of rewards of both groups. Strata that are not comparable are left out.

    Parameters
    ----------
    counts, totals : arrays of shape (2, strata, folds)
        The number and the sum of the rewards, in random folds of users.

    Examples
    --------
    Both groups have the same mean in each stratum, but the first one is mostly in the worse stratum:

    >>> counts = np.array([[[40.0, 40.0], [10.0, 10.0]], [[10.0, 10.0], [40.0, 40.0]]])
    >>> estimate = standardised_difference(counts, counts * np.array([0.2, 0.6])[:, None])
    >>> abs(round(estimate.value, 12))
    0.0
    """
    used = comparable_strata(counts)
    if not used.any():
        return NOT_COMPARABLE
    counts, totals = counts[:, used], totals[:, used]
    n, both = counts.sum(axis=2), counts.sum(axis=0)
    mean = totals.sum(axis=2) / n
    weight = both.sum(axis=1) / both.sum()
    difference = mean[0] - mean[1]
    value = float(weight @ difference)
    # The changes in the means of strata if a fold is left out (CR3; `clusters.py` uses CR2), and in the weights.
    moves = (totals - mean[..., None] * counts) / (n[..., None] - counts)
    influence = weight @ (moves[0] - moves[1]) + (difference - value) @ both / both.sum()
    sizes = both.sum(axis=0)
    n_folds = int((sizes > 0).sum())
    error = float(np.sqrt((n_folds - 1) / n_folds * (influence**2).sum()))
    return AdjustedEstimate(value, error, _effective(sizes) - 1.0)


def doubly_robust_difference(
    reward: Floats,
    is_first: NDArray[np.bool_],
    propensity: Floats,
    means: tuple[Floats, Floats],
    user: NDArray[Any],
) -> AdjustedEstimate:
    """Return the mean reward of the first group minus that of the second, adjusted for factors (AIPW).

    The augmented inverse probability weighted estimate (Robins, Rotnitzky and Zhao 1994) is the mean over rows of

        m1 - m2 + 1{first} (r - m1) / p - 1{second} (r - m2) / (1 - p)

    It is consistent if either the propensities or the means are. With cross-fitted predictions, its interval is
    valid even if both converge slowly (Chernozhukov and others 2018).

    Parameters
    ----------
    reward : array
        The rewards.
    is_first : array of bool
        Whether the row belongs to the first group.
    propensity : array
        The predicted probability that a row with these factors belongs to the first group.
    means : tuple of two arrays
        The predicted reward of each row if it belonged to the first group, and to the second group.
    user : array
        The user of each row.
    """
    if not reward.size:
        return NOT_COMPARABLE
    first, second = means
    scores = first - second
    scores = scores + np.where(is_first, (reward - first) / propensity, (second - reward) / (1.0 - propensity))
    value = float(scores.mean())
    _, number, rows = np.unique(user, return_inverse=True, return_counts=True)
    influence = np.bincount(number, scores - value) / scores.size
    error = float(np.sqrt(rows.size / (rows.size - 1) * (influence**2).sum())) if rows.size > 1 else np.inf
    return AdjustedEstimate(value, error, _effective(rows) - 1.0)


def _effective(sizes: Any) -> float:
    """Return the effective number of clusters of the given sizes (Kish)."""
    total = np.asarray(sizes, float)
    return float(total.sum() ** 2 / (total**2).sum())
