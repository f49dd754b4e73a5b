"""Means of groups from sums per user, with variances that allow for dependence between the rewards of a user.

The mean reward of a group is a ratio, `m = S / N`: the sum of all rewards divided by their number. Its variance is
estimated from the squared residuals of users, `s - m n`, where `s` is the sum and `n` the number of a user's
rewards. A user pulls the mean towards their own rewards, which makes the residual too small. Dividing its
square by `1 - n / N` corrects for this (Bell and McCaffrey 2002, "CR2").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.jit import kernel
from fairbandits.views.short_repr import ShortRepr

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class ClusterMeans(ShortRepr):
    """Means of groups whose rows come in clusters (users), in units of the reward range.

    Attributes
    ----------
    rows, users : arrays
        The number of rewards and of users with a reward.
    effective_users : array
        The number of equally active users that would be as informative: `N^2 / sum n^2` (Kish).
    mean : array
        The mean reward, from 0 (lowest possible) to 1 (highest); NaN without rewards.
    variance : array
        The variance of the mean; infinite with fewer than two users.
    row_variance : array
        The variance of a single reward.
    """

    rows: Floats
    users: Floats
    effective_users: Floats
    mean: Floats
    variance: Floats
    row_variance: Floats

    def __getitem__(self, groups: Any) -> ClusterMeans:
        """Return the means of some groups."""
        return ClusterMeans(*(getattr(self, name)[groups] for name in self.__dataclass_fields__))

    @property
    def degrees_of_freedom(self) -> Floats:
        """The degrees of freedom of the variance: effective users minus one."""
        return np.maximum(self.effective_users - 1.0, 1.0)


def cluster_means(shards: Sequence[tuple[Floats, Ints]], squares: Floats, unit: float = 1.0) -> ClusterMeans:
    """Return the means of groups, in one or several windows, from the sums of their users.

    Parameters
    ----------
    shards : sequence of pairs of arrays
        For the users of each shard, the number and the sum of the rewards of each user in each window, of shape
        (users, windows, 2), and the group of each user, or -1 if it is unknown.
    squares : array of shape (windows, groups)
        The sum of squared rewards.
    unit : float
        The difference between the highest and the lowest possible reward.

    Returns
    -------
    ClusterMeans of shape (windows, groups)

    Examples
    --------
    Two users with ten equal rewards each are only as informative as two rewards:

    >>> users = np.array([[[10.0, 10.0]], [[10.0, 0.0]]]), np.array([0, 0])
    >>> means = cluster_means([users], squares=np.array([[10.0]]))
    >>> means.mean, means.variance, means.effective_users
    (array([[0.5]]), array([[0.25]]), array([[2.]]))
    """
    moments, residuals = np.zeros((*squares.shape, 4)), np.zeros(squares.shape)
    for sums, group in shards:
        _add_moments(sums, group, moments)
    rows, users, totals, rows_squared = np.moveaxis(moments, -1, 0)
    with np.errstate(all="ignore"):
        mean = totals / rows
        for sums, group in shards:
            _add_residuals(sums, group, mean, np.ascontiguousarray(rows), residuals)
        mean, clustered = mean / unit, residuals / (unit * rows) ** 2
        row_variance = np.maximum(squares / unit**2 / rows - mean * mean, 0.0) * rows / (rows - 1.0)
        # If users vary less than independent rewards would, that is more often than not due to luck.
        variance = np.where(users > 1, np.maximum(clustered, row_variance / rows), np.inf)
        effective = rows * rows / rows_squared
    return ClusterMeans(rows, users, effective, mean, variance, row_variance)


@kernel()
def _add_moments(sums: Floats, group: Ints, moments: Floats) -> None:
    """Add the numbers of rewards and of users, the sum of rewards, and the sum of squared numbers of rewards."""
    for user in range(len(group)):
        g = group[user]
        if g < 0:
            continue
        for window in range(len(moments)):
            count = sums[user, window, 0]
            if count > 0.0:
                moments[window, g, 0] += count
                moments[window, g, 1] += 1.0
                moments[window, g, 2] += sums[user, window, 1]
                moments[window, g, 3] += count * count


@kernel()
def _add_residuals(sums: Floats, group: Ints, mean: Floats, rows: Floats, residuals: Floats) -> None:
    """Add the squared residuals of users, corrected for their leverage on the mean."""
    for user in range(len(group)):
        g = group[user]
        if g < 0:
            continue
        for window in range(len(mean)):
            count = sums[user, window, 0]
            # With a single user, the variance of the mean is infinite anyway.
            if 0.0 < count < rows[window, g]:
                residual = sums[user, window, 1] - mean[window, g] * count
                residuals[window, g] += residual * residual / (1.0 - count / rows[window, g])


def row_means(rows: Floats, totals: Floats, squares: Floats) -> ClusterMeans:
    """Return the means of groups whose rows are independent, so that every row counts as a separate user."""
    with np.errstate(all="ignore"):
        mean = totals / rows
        row_variance = np.maximum(squares / rows - mean * mean, 0.0) * rows / (rows - 1.0)
        variance = np.where(rows > 1, row_variance / rows, np.inf)
    return ClusterMeans(rows, rows, rows, mean, variance, row_variance)
