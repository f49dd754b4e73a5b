"""Fixed-sample confidence intervals for means of bounded rewards, and for their differences.

The interval of a mean is that of Korn and Graubard (*Confidence intervals for proportions with small expected
number of positive counts estimated from survey data*, Survey Methodology 1998): the exact binomial interval of
Clopper and Pearson, for the number of independent rewards that would have the same variance, reduced to account
for the degrees of freedom of that variance. It is valid even if rewards are rare or absent, where the interval
`mean +- t se` is too short or empty, and converges to that interval for large samples. Rewards between 0 and 1 are
treated as fractions of a success.

The interval of a difference combines those of the two means (MOVER; Newcombe 1998, Zou and Donner 2008).
`benchmarks/audit_coverage.py` measures the coverage of both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.statistics.clusters import ClusterMeans, Floats

#: The number of users and of expected successes and failures that a group needs for an interval.
MIN_USERS, MIN_SUCCESSES = 10, 5.0
# At most this many rows per effective user count towards the expected number of successes. Rare successes of a few
# very active users say little about other users, and the variance does not reflect this.
_MAX_ROWS_PER_USER = 20.0


def is_large_enough(means: ClusterMeans) -> NDArray[np.bool_]:
    """Return a mask of groups with enough users and enough expected successes and failures at the common mean."""
    rows = np.minimum(means.rows, _MAX_ROWS_PER_USER * means.effective_users)
    total = means.rows.sum(axis=-1, keepdims=True)
    with np.errstate(all="ignore"):
        weights = np.where(means.rows > 0, means.rows / total, 0.0)
        common = np.where(means.rows > 0, weights * means.mean, 0.0).sum(axis=-1, keepdims=True)
        spread = np.where(means.rows > 1, weights * means.row_variance, 0.0).sum(axis=-1, keepdims=True)
        # 1 for rewards that are 0 or 1; more for rewards that vary less, whose mean is known more precisely.
        information = np.maximum(common * (1.0 - common) / spread, 1.0)
        expected = (
            rows * np.minimum(common, 1.0 - common) * np.where(common * (1.0 - common) > 0.0, information, 0.0)
        )
    enough: NDArray[np.bool_] = (means.users >= MIN_USERS) & ~(expected < MIN_SUCCESSES)
    return enough


def mean_bounds(means: ClusterMeans, error: Any) -> tuple[Floats, Floats]:
    """Return the bounds of the mean of each group, with error probability `error` each.

    Examples
    --------
    None of 100 users was rewarded; the upper bound is close to 3.6 / 100, the exact bound for independent rewards:

    >>> from fairbandits.statistics.clusters import row_means
    >>> low, high = mean_bounds(row_means(np.array([100.0]), np.array([0.0]), np.array([0.0])), 0.05)
    >>> low, high.round(4)
    (array([0.]), array([0.0371]))
    """
    from scipy.special import betaincinv, ndtri, stdtrit  # noqa: PLC0415 - slow to import

    mean, half = means.mean, np.asarray(error) / 2.0
    with np.errstate(all="ignore"):
        spread = mean * (1.0 - mean)
        # If rewards do not vary, the variance is uninformative, so users are counted instead of rows.
        equivalent = np.where(spread * means.variance > 0.0, spread / means.variance, means.effective_users)
        size = equivalent * (ndtri(half) / stdtrit(means.degrees_of_freedom, half)) ** 2
        successes = size * mean
        failures = size - successes
        low = np.where(mean > 0.0, betaincinv(successes, failures + 1.0, half), 0.0)
        high = np.where(mean < 1.0, betaincinv(successes + 1.0, failures, 1.0 - half), 1.0)
    unknown = ~(np.isfinite(mean) & np.isfinite(means.variance))
    return np.where(unknown, 0.0, low), np.where(unknown, 1.0, high)


def difference_bounds(
    mean: Floats, low: Floats, high: Floats, i: Any, j: Any, are_dependent: bool = False
) -> tuple[Floats, Floats]:
    """Return the bounds of `mean[i] - mean[j]`, from the bounds of the means.

    For independent groups, the distances to the bounds are combined like standard errors. If the means depend on
    each other in an unknown way, the distances are added.
    """
    combined = np.add if are_dependent else np.hypot
    difference = mean[..., i] - mean[..., j]
    down = combined(mean[..., i] - low[..., i], high[..., j] - mean[..., j])
    up = combined(high[..., i] - mean[..., i], mean[..., j] - low[..., j])
    return difference - down, difference + up
