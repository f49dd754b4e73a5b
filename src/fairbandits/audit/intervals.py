"""How far groups are apart, how sure that is, and since when it shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.group_sums import GroupSums
from fairbandits.audit.log_sums import Floats
from fairbandits.fairness import confidence_radius


@dataclass(frozen=True)
class IntervalEstimate:
    """A number with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class GroupMeans:
    """GroupMeans with their intervals, of any shape, the groups last; NaN is the mean of nothing."""

    mean: Floats
    low: Floats
    high: Floats

    def apart(self) -> tuple[Floats, Floats, Floats]:
        """Give how far apart the highest and the lowest mean are, at least and at most.

        The true range is at least what the intervals force and at most what they allow.
        """
        value = self.mean.max(axis=-1) - self.mean.min(axis=-1)
        low = np.maximum(0.0, self.low.max(axis=-1) - self.high.min(axis=-1))
        return value, low, self.high.max(axis=-1) - self.low.min(axis=-1)


def mean_rewards(sums: GroupSums, reward_range: tuple[float, float], error: float) -> GroupMeans:
    """Give mean rewards with intervals that hold at all times at once, but for the `error` of each group.

    Examples
    --------
    >>> some = GroupSums(*np.array([[400.0, 400.0], [200.0, 240.0], [200.0, 240.0], [0.0, 0.0]]))
    >>> means = mean_rewards(some, (0.0, 1.0), 0.05 / 2)
    >>> means.mean, means.low.round(2), means.high.round(2)
    (array([0.5, 0.6]), array([0.4, 0.5]), array([0.6, 0.7]))
    """
    lowest, highest = reward_range
    span = highest - lowest
    radius = confidence_radius(sums.count, sums.m2, 1.0 - error, span)
    some = sums.count > 0
    low = np.where(some, np.maximum(sums.mean - radius, 0.0), 0.0)
    high = np.where(some, np.minimum(sums.mean + radius, span), span)
    return GroupMeans(np.where(some, lowest + sums.mean, np.nan), lowest + low, lowest + high)


def missing_shares(sums: GroupSums, error: float) -> GroupMeans:
    """Give which share of the rewards never came, with intervals as those of means."""
    # The mean of a one for each that never came and a zero for each that did.
    ones = GroupSums(sums.count + sums.missing, sums.missing, sums.missing, np.zeros_like(sums.count))
    return mean_rewards(ones, (0.0, 1.0), error)


def first_that_stays(true: NDArray[np.bool_]) -> int | None:
    """Give the place from which on all are true; None where the last is not.

    Examples
    --------
    >>> first_that_stays(np.array([True, False, True, True])), first_that_stays(np.array([True, False]))
    (2, None)
    """
    if not true.size or not true[-1]:
        return None
    false = np.flatnonzero(~true)
    return int(false[-1]) + 1 if false.size else 0
