"""The headline of an evaluation: the value of a policy with an interval that holds.

The interval is the hull of two. Empirical likelihood with the reward model as a control variate is as narrow as
the doubly robust estimator where there are many rewards, and stays honest where rewards or large weights are rare.
The interval of SNIPS by the effective number of units (as in an audit) covers where few units carry the estimate.
`benchmarks/ope_coverage.py` measures both.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from fairbandits.ope.group_index import OVERALL
from fairbandits.ope.headline_estimates import HeadlineEstimates
from fairbandits.ope.log_units import LogUnits, UnitColumns
from fairbandits.ope.results import BoundedValue
from fairbandits.statistics.clusters import cluster_means
from fairbandits.statistics.effective_t import StandardError
from fairbandits.statistics.empirical_likelihood import WeightedUnits, difference_interval, likelihood_interval
from fairbandits.statistics.fixed_sample import mean_bounds

Floats = NDArray[np.float64]

#: The variables of a unit: number of rows, weights, weighted rewards, control variate, logged rewards, and the
#: probability of arms that the log never shows.
COLUMNS = ROWS, WEIGHTS, REWARDS, CONTROL, LOGGED, UNSUPPORTED = range(6)


class Headline(HeadlineEstimates):
    """The headline estimates of one policy.

    Parameters
    ----------
    units : LogUnits
        The units of the log.
    columns : UnitColumns
        The sums of the policy.
    max_weight : float
        The largest possible weight.
    confidence : float
        The confidence of each interval; those of the gaps of an attribute hold jointly.
    """

    def __init__(self, units: LogUnits, columns: UnitColumns, max_weight: float, confidence: float) -> None:
        super().__init__(confidence)
        self._units, self._columns, self._max_weight = units, columns, max_weight
        # Values by group and error probability: those of gaps are needed several times.
        self._values: dict[tuple[int, float], BoundedValue | None] = {}

    def value(self, group: int, error: float) -> BoundedValue | None:
        """Return the mean reward in a group, from 0 to 1; None without rows."""
        if (group, error) not in self._values:
            self._values[group, error] = self._value(group, error)
        return self._values[group, error]

    def gap(self, first: int, second: int, error: float) -> BoundedValue | None:
        """Return the mean reward of one group minus that of another; None if one has no rows."""
        one, two = self.value(first, error), self.value(second, error)
        return None if one is None or two is None else one.minus(two)

    def _value(self, group: int, error: float) -> BoundedValue | None:
        table = self._table(group)
        if not len(table):
            return None
        unknown = table[:, UNSUPPORTED]
        lowest = self._bounded(table, np.zeros_like(unknown), error)
        highest = self._bounded(table, unknown, error) if unknown.any() else lowest
        value = (lowest.value + highest.value) / 2.0
        return BoundedValue(value, lowest.low, highest.high, 1.0 - error)

    def minus(self, other: Self | None, error: float, group: int = OVERALL) -> BoundedValue | None:
        """Return the mean reward minus that of another policy, or of the logging policy; None without rows."""
        table = self._table(group)
        if not len(table):
            return None
        theirs = None if other is None else other._table(group)
        nothing = np.zeros(len(table))
        unknown = table[:, UNSUPPORTED]
        also_unknown = nothing if theirs is None else theirs[:, UNSUPPORTED]

        def bounded(mine: Floats, others: Floats) -> BoundedValue:
            second = _logging(table) if other is None or theirs is None else other._weighted(theirs, others)
            return _difference(self._weighted(table, mine), second, error)

        lowest = bounded(nothing, also_unknown)
        highest = bounded(unknown, nothing) if unknown.any() or also_unknown.any() else lowest
        value = (lowest.value + highest.value) / 2.0
        return BoundedValue(value, lowest.low, highest.high, 1.0 - error)

    def _table(self, group: int) -> Floats:
        return self._columns.totals(*self._units.members(group))

    def _weighted(self, table: Floats, unknown_rewards: Floats) -> WeightedUnits:
        weights, rewards = table[:, WEIGHTS] + table[:, UNSUPPORTED], table[:, REWARDS] + unknown_rewards
        return WeightedUnits(table[:, ROWS], weights, rewards, table[:, [CONTROL]], self._max_weight)

    def _bounded(self, table: Floats, unknown_rewards: Floats, error: float) -> BoundedValue:
        units = self._weighted(table, unknown_rewards)
        value, low, high = likelihood_interval(units, error)
        exact_low, exact_high = _effective_bounds(units.weights, units.rewards, error)
        return BoundedValue(value, min(low, exact_low), max(high, exact_high), 1.0 - error)


def _logging(table: Floats) -> WeightedUnits:
    """Return the units of the logging policy, whose weights are 1."""
    return WeightedUnits(table[:, ROWS], table[:, ROWS], table[:, LOGGED], np.empty((len(table), 0)), 1.0)


def _difference(first: WeightedUnits, second: WeightedUnits, error: float) -> BoundedValue:
    """Return the hull of the intervals by empirical likelihood and by Student's t of the doubly robust terms."""
    value, low, high = difference_interval(first, second, error)
    terms = first.rewards - first.controls.sum(axis=1) - second.rewards + second.controls.sum(axis=1)
    total = float(first.rows.sum())
    mean = float(terms.sum()) / total
    half = StandardError.of_influences((terms - mean * first.rows) / total).half_width(error)
    return BoundedValue(value, max(min(low, mean - half), -1.0), min(max(high, mean + half), 1.0), 1.0 - error)


def _effective_bounds(weights: Floats, rewards: Floats, error: float) -> tuple[float, float]:
    """Return the interval of SNIPS by the effective number of units."""
    if not weights.any():
        return 0.0, 1.0
    sums = np.stack([weights, rewards], axis=1)[:, None]
    means = cluster_means([(sums, np.zeros(len(weights), np.int64))], np.zeros((1, 1)))[0]
    low, high = mean_bounds(means, error)
    return float(low[0]), float(high[0])
