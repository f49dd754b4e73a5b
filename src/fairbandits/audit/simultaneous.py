"""Simultaneous fixed-sample intervals of the gaps between all pairs of groups."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fairbandits.statistics.clusters import ClusterMeans, Floats
from fairbandits.statistics.fixed_sample import difference_bounds, mean_bounds
from fairbandits.statistics.multiplicity import sidak
from fairbandits.views.short_repr import ShortRepr

# The power with which the smallest detectable gap would be found.
_POWER = 0.8


@dataclass(frozen=True, eq=False, repr=False)
class PairwiseGaps(ShortRepr):
    """The differences between the mean rewards of all pairs of groups, with simultaneous intervals.

    Attributes
    ----------
    means : ClusterMeans
        The means of the groups, in units of the reward range.
    large : array of int
        The groups that are compared.
    error : float
        The error probability of all intervals together.
    are_shared : bool
        Whether the same users appear in several groups, so that the means depend on each other.
    """

    means: ClusterMeans
    large: NDArray[np.int64]
    error: float
    are_shared: bool = False

    @property
    def n_pairs(self) -> int:
        """The number of pairs."""
        return len(self.large) * (len(self.large) - 1) // 2

    @cached_property
    def lower_bounds(self) -> Floats:
        """The lower bound of the mean of group i minus that of group j, for compared groups; -inf for i = j."""
        means = self.means[self.large]
        low, high = mean_bounds(means, sidak(self.error, self.n_pairs))
        n = len(self.large)
        bounds = np.full((n, n), -np.inf)
        for i in range(n):
            others = np.flatnonzero(np.arange(n) != i)
            bounds[i, others], _ = difference_bounds(
                means.mean, low, high, np.full(n - 1, i), others, self.are_shared
            )
        return bounds

    def range(self) -> tuple[float, float, float]:
        """Return the highest mean minus the lowest, and its bounds.

        The true range is the largest of all differences, so the largest lower bound and the largest upper bound
        of a difference bound it. The upper bound of i minus j is minus the lower bound of j minus i.
        """
        if not self.n_pairs:
            return math.nan, 0.0, 1.0
        mean = self.means.mean[self.large]
        low = self.lower_bounds
        high = np.where(np.isfinite(low), -low.T, -np.inf)
        return float(mean.max() - mean.min()), max(0.0, float(low.max())), min(1.0, float(high.max()))

    def detectable(self, i: int, j: int) -> float:
        """Return the distance beyond a threshold at which the gap between two groups is found with 80% power."""
        from scipy.special import ndtri, stdtrit  # noqa: PLC0415 - slow to import

        variance = self.means.variance[[i, j]]
        freedom = float(self.means.degrees_of_freedom[[i, j]].min())
        quantile = -float(stdtrit(freedom, sidak(self.error, self.n_pairs) / 2.0)) + float(ndtri(_POWER))
        errors = np.sqrt(variance)
        return quantile * float(errors.sum() if self.are_shared else np.hypot(*errors))
