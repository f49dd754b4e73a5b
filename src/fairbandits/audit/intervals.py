"""Anytime-valid confidence intervals of mean rewards, of shares of missing rewards and of gaps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.grouped_sums import RewardSums
from fairbandits.audit.log_sums import Floats
from fairbandits.fairness import confidence_radius
from fairbandits.views.short_repr import ShortRepr


@dataclass(frozen=True)
class IntervalEstimate:
    """A point estimate with its confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, repr=False)
class GroupMeans(ShortRepr):
    """Means with their intervals, as arrays of any shape with the groups along the last axis; NaN without data."""

    mean: Floats
    low: Floats
    high: Floats

    def gap(self) -> tuple[Floats, Floats, Floats]:
        """Return the range of the means, with the lower and the upper bound implied by the intervals."""
        value = self.mean.max(axis=-1) - self.mean.min(axis=-1)
        low = np.maximum(0.0, self.low.max(axis=-1) - self.high.min(axis=-1))
        return value, low, self.high.max(axis=-1) - self.low.min(axis=-1)

    def select(self, groups: NDArray[np.int64]) -> GroupMeans:
        """Return the means of some groups; the arrays must have one axis."""
        return GroupMeans(self.mean[groups], self.low[groups], self.high[groups])

    def estimate(self, group: int) -> IntervalEstimate:
        """Return the estimate of one group; the arrays must have one axis."""
        return IntervalEstimate(float(self.mean[group]), float(self.low[group]), float(self.high[group]))


def mean_rewards(sums: RewardSums, reward_range: tuple[float, float], error: float) -> GroupMeans:
    """Return mean rewards with confidence sequences at level `1 - error` for each group.

    Examples
    --------
    >>> sums = RewardSums(*np.array([[400.0, 400.0], [200.0, 240.0], [200.0, 240.0], [0.0, 0.0]]))
    >>> means = mean_rewards(sums, (0.0, 1.0), 0.05 / 2)
    >>> means.mean, means.low.round(2), means.high.round(2)
    (array([0.5, 0.6]), array([0.4, 0.5]), array([0.6, 0.7]))
    """
    lowest, highest = reward_range
    span = highest - lowest
    radius = confidence_radius(sums.count, sums.m2, 1.0 - error, span)
    has_rewards = sums.count > 0
    low = np.where(has_rewards, np.maximum(sums.mean - radius, 0.0), 0.0)
    high = np.where(has_rewards, np.minimum(sums.mean + radius, span), span)
    return GroupMeans(np.where(has_rewards, lowest + sums.mean, np.nan), lowest + low, lowest + high)


def missing_shares(sums: RewardSums, error: float) -> GroupMeans:
    """Return the shares of missing rewards with confidence sequences at level `1 - error` for each group."""
    # The share is the mean of indicators: 1 for each missing reward, 0 for every other reward.
    indicators = RewardSums(sums.count + sums.missing, sums.missing, sums.missing, np.zeros_like(sums.count))
    return mean_rewards(indicators, (0.0, 1.0), error)


def start_of_final_run(condition: NDArray[np.bool_]) -> int | None:
    """Return the index from which a condition holds until the end, or None if it does not hold at the end.

    Examples
    --------
    >>> start_of_final_run(np.array([True, False, True, True])), start_of_final_run(np.array([True, False]))
    (2, None)
    """
    if not condition.size or not condition[-1]:
        return None
    false = np.flatnonzero(~condition)
    return int(false[-1]) + 1 if false.size else 0
