"""The headline of an evaluation: the value of a policy, with a valid interval.

The interval is the hull of two intervals. That of empirical likelihood, with the reward model as a control
variate, is as narrow as that of the doubly robust estimator where there are many rewards, and remains honest where
rewards or large weights are rare. That of SNIPS, based on the effective number of units (as in an audit),
maintains coverage where the estimate rests on few units. `benchmarks/ope_coverage.py` measures the coverage of
both.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from fairbandits.ope.group_index import OVERALL
from fairbandits.ope.headline_estimates import HeadlineEstimates
from fairbandits.ope.results import BoundedValue
from fairbandits.ope.unit_tables import CONTROL, LOGGED, REWARDS, ROWS, UNSUPPORTED, WEIGHTS, UnitTables
from fairbandits.statistics.clusters import cluster_means
from fairbandits.statistics.effective_t import hull_with_t
from fairbandits.statistics.empirical_likelihood import WeightedUnits, difference_interval, likelihood_interval
from fairbandits.statistics.fixed_sample import mean_bounds

Floats = NDArray[np.float64]


class Headline(HeadlineEstimates):
    """The headline estimates of one policy.

    Parameters
    ----------
    tables : UnitTables
        The sums of the policy over units.
    confidence : float
        The confidence level of each interval; the intervals of the gaps of an attribute hold jointly.
    observed_weight : float, optional
        The largest observed weight; by default the largest possible one.
    """

    def __init__(self, tables: UnitTables, confidence: float, observed_weight: float | None = None) -> None:
        super().__init__(confidence)
        self._tables = tables
        self._observed_weight = tables.max_weight if observed_weight is None else observed_weight
        # A cache, keyed by the group, the error probability and whether unknown rewards are received, because many
        # estimates need the same values.
        self._bounds: dict[tuple[int, float, bool], BoundedValue] = {}

    def value(self, group: int, error: float) -> BoundedValue | None:
        """Return the mean reward in a group, on the scale from 0 to 1, or None if it has no rows."""
        if not len(self._tables.table(group)):
            return None
        return _hull(self._bounded(group, error, False), self._bounded(group, error, True))

    def gap(self, first: int, second: int, error: float) -> BoundedValue | None:
        """Return the mean reward of one group minus that of another, or None if one has no rows."""
        if not len(self._tables.table(first)) or not len(self._tables.table(second)):
            return None
        # Unknown rewards are not random: one group may receive all of them, and the other none.
        return _hull(
            self._bounded(first, error, False).minus(self._bounded(second, error, True)),
            self._bounded(first, error, True).minus(self._bounded(second, error, False)),
        )

    def minus(self, other: Self | None, error: float, group: int = OVERALL) -> BoundedValue | None:
        """Return the mean reward minus that of another policy, or of the logging policy; None without rows."""
        table = self._tables.table(group)
        if not len(table):
            return None
        if other is None:
            others = [WeightedUnits.logged(table[:, ROWS], table[:, LOGGED])] * 2
        else:
            others = [other._weighted(group, received, other._observed_weight) for received in (True, False)]
        # With the largest possible weights, no policy would be shown to be better than another except in very
        # large logs.
        ours = [self._weighted(group, received, self._observed_weight) for received in (False, True)]
        lowest = _difference(ours[0], others[0], error)
        is_known = not self._has_unknown(group) and (other is None or not other._has_unknown(group))
        return lowest if is_known else _hull(lowest, _difference(ours[1], others[1], error))

    def _weighted(self, group: int, is_received: bool, max_weight: float) -> WeightedUnits:
        """Return the units of a group, assuming that either all or none of the unknown rewards are received."""
        table = self._tables.table(group)
        weights, rewards = table[:, WEIGHTS] + table[:, UNSUPPORTED], table[:, REWARDS]
        if is_received:
            rewards = rewards + table[:, UNSUPPORTED]
        return WeightedUnits(table[:, ROWS], weights, rewards, table[:, [CONTROL]], max_weight)

    def _has_unknown(self, group: int) -> bool:
        return bool(self._tables.table(group)[:, UNSUPPORTED].any())

    def _bounded(self, group: int, error: float, is_received: bool) -> BoundedValue:
        is_received = is_received and self._has_unknown(group)
        key = group, error, is_received
        if key not in self._bounds:
            units = self._weighted(group, is_received, self._tables.max_weight)
            value, low, high = likelihood_interval(units, error)
            exact_low, exact_high = _effective_bounds(units.weights, units.rewards, error)
            self._bounds[key] = BoundedValue(value, min(low, exact_low), max(high, exact_high), 1.0 - error)
        return self._bounds[key]


def _hull(lowest: BoundedValue, highest: BoundedValue) -> BoundedValue:
    """Return the interval that spans both intervals, and the midpoint of both estimates."""
    value = (lowest.value + highest.value) / 2.0
    return BoundedValue(value, min(lowest.low, highest.low), max(lowest.high, highest.high), lowest.confidence)


def _difference(first: WeightedUnits, second: WeightedUnits, error: float) -> BoundedValue:
    """Return the hull of the empirical-likelihood interval and Student's t interval of the doubly robust terms."""
    interval = difference_interval(first, second, error)
    found = hull_with_t(interval, first.terms - second.terms, first.rows, error, (-1.0, 1.0))
    return BoundedValue(*found, 1.0 - error)


def _effective_bounds(weights: Floats, rewards: Floats, error: float) -> tuple[float, float]:
    """Return the interval of SNIPS, based on the effective number of units.

    If all units or none are rewarded, both bounds are the value: there is no variance, and empirical likelihood is
    close to the exact binomial interval.
    """
    if not weights.any():
        return 0.0, 1.0
    if not rewards.any() or np.array_equal(rewards, weights):
        value = float(rewards.sum() / weights.sum())
        return value, value
    sums = np.stack([weights, rewards], axis=1)[:, None]
    means = cluster_means([(sums, np.zeros(len(weights), np.int64))], np.zeros((1, 1)))[0]
    low, high = mean_bounds(means, error)
    return float(low[0]), float(high[0])
