"""Means of groups from sums per user, with variances that allow the rewards of a user to depend on each other.

The mean reward of a group is a ratio: the sum of all rewards over their number. Its variance is the sum of squared
residuals of users, `s - m n` with `s` the sum and `n` the number of a user's rewards and `m = S / N`. A user pulls
the mean towards the own rewards, which makes the residual too small; dividing its square by `1 - n / N` corrects
that (Bell and McCaffrey 2002, "CR2").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ClusterMeans:
    """Means of groups whose rows come in clusters (users), in units of the reward range.

    Attributes
    ----------
    rows, users : arrays
        The number of rewards and of users with a reward.
    effective_users : array
        The number of equally active users with the same information: `N^2 / sum n^2` (Kish).
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

    def reshape(self, *shape: int) -> ClusterMeans:
        """Return the same means in another shape."""
        return ClusterMeans(*(getattr(self, name).reshape(shape) for name in self.__dataclass_fields__))

    @property
    def degrees_of_freedom(self) -> Floats:
        """The degrees of freedom of the variance: effective users minus one."""
        return np.maximum(self.effective_users - 1.0, 1.0)


def cluster_means(count: Floats, total: Floats, group: Ints, squares: Floats) -> ClusterMeans:
    """Return the means of groups from the sums of their users.

    Parameters
    ----------
    count, total : arrays with one entry per user
        The number and the sum of the user's rewards, which lie in [0, 1].
    group : array of int
        The group of each user.
    squares : array with one entry per group
        The sum of squared rewards of the group.

    Examples
    --------
    Two users with ten equal rewards each tell as little as two rewards:

    >>> means = cluster_means(np.array([10.0, 10.0]), np.array([10.0, 0.0]), np.array([0, 0]), np.array([10.0]))
    >>> means.mean, means.variance, means.effective_users
    (array([0.5]), array([0.25]), array([2.]))
    """
    n_groups = squares.size

    def summed(values: Floats) -> Floats:
        return np.bincount(group, values, minlength=n_groups).astype(np.float64, copy=False)

    rows, users, sums = summed(count), summed((count > 0).astype(float)), summed(total)
    with np.errstate(all="ignore"):
        mean = sums / rows
        residual = total - mean[group] * count
        squared = np.where(count > 0, residual**2 / (1.0 - count / rows[group]), 0.0)
        clustered = summed(squared) / rows**2
        row_variance = np.maximum(squares / rows - mean * mean, 0.0) * rows / (rows - 1.0)
        # Users whose rewards vary less than chance would have them are luck, more often than not.
        variance = np.where(users > 1, np.maximum(clustered, row_variance / rows), np.inf)
        effective = rows * rows / summed(count * count)
    return ClusterMeans(rows, users, effective, mean, variance, row_variance)


def row_means(rows: Floats, totals: Floats, squares: Floats) -> ClusterMeans:
    """Return the means of groups whose rows are independent: every row is a user of its own."""
    with np.errstate(all="ignore"):
        mean = totals / rows
        row_variance = np.maximum(squares / rows - mean * mean, 0.0) * rows / (rows - 1.0)
        variance = np.where(rows > 1, row_variance / rows, np.inf)
    return ClusterMeans(rows, rows, rows, mean, variance, row_variance)
