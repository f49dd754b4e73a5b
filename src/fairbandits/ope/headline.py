"""The headline of an evaluation: the value of a policy with an interval that holds.

The interval is the hull of two. Empirical likelihood with the reward model as a control variate is as narrow as
the doubly robust estimator where there are many rewards, and stays honest where rewards or large weights are rare.
The interval of SNIPS by the effective number of units (as in an audit) covers where few units carry the estimate.
`benchmarks/ope_coverage.py` measures both.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fairbandits.ope.group_index import GroupIndex
from fairbandits.ope.log_units import LogUnits, UnitColumns
from fairbandits.ope.results import BoundedValue, EstimatorResult, GroupedValue, PolicyGap
from fairbandits.statistics.clusters import cluster_means
from fairbandits.statistics.empirical_likelihood import WeightedUnits, improvement_interval, likelihood_interval
from fairbandits.statistics.fixed_sample import mean_bounds

Floats = NDArray[np.float64]

#: The variables of a unit: number of rows, weights, weighted rewards, control variate, logged rewards, and the
#: probability of arms that the log never shows.
COLUMNS = ROWS, WEIGHTS, REWARDS, CONTROL, LOGGED, UNSUPPORTED = range(6)


class Headline:
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
        self._units, self._columns = units, columns
        self._max_weight, self._confidence = max_weight, confidence
        # Values by group and error probability: those of gaps are needed several times.
        self._values: dict[tuple[int, float], BoundedValue | None] = {}

    def result(self, groups: GroupIndex) -> EstimatorResult:
        """Return the values overall and by group, the improvements, and the gaps."""
        gaps: list[PolicyGap] = []
        for attribute in groups.attributes:
            pairs = list(combinations(groups.numbers(attribute).items(), 2))
            # Bonferroni over all pairs
            error = (1.0 - self._confidence) / max(len(pairs), 1)
            for (first, one), (second, two) in pairs:
                values = self.value(one, error), self.value(two, error)
                if values[0] is not None and values[1] is not None:
                    gaps.append(PolicyGap(attribute, first, second, values[0].minus(values[1])))
        return EstimatorResult(
            GroupedValue.from_index(groups, self.value),
            GroupedValue.from_index(groups, self.improvement),
            tuple(gaps),
        )

    def value(self, group: int, error: float | None = None) -> BoundedValue | None:
        """Return the mean reward in a group, from 0 to 1; None without rows.

        Where the policy chooses arms that the log never shows, nothing is known of their rewards: the lower bound
        counts them as 0 and the upper bound as 1.
        """
        key = group, 1.0 - self._confidence if error is None else error
        if key not in self._values:
            self._values[key] = self._value(*key)
        return self._values[key]

    def _value(self, group: int, error: float) -> BoundedValue | None:
        table = self._table(group)
        if not len(table):
            return None
        unknown = table[:, UNSUPPORTED]
        lowest = self._bounded(table, np.zeros_like(unknown), error)
        highest = self._bounded(table, unknown, error) if unknown.any() else lowest
        value = (lowest.value + highest.value) / 2.0
        return BoundedValue(value, lowest.low, highest.high, 1.0 - error)

    def improvement(self, group: int) -> BoundedValue | None:
        """Return the mean reward minus that of the logging policy; None if the log does not show all arms."""
        table = self._table(group)
        if table[:, UNSUPPORTED].any() or not len(table):
            return None
        units = self._weighted(table, np.zeros(len(table)))
        found = improvement_interval(units, table[:, LOGGED], 1.0 - self._confidence)
        return BoundedValue(*found, self._confidence)

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


def _effective_bounds(weights: Floats, rewards: Floats, error: float) -> tuple[float, float]:
    """Return the interval of SNIPS by the effective number of units; only its value if all or none are rewarded.

    There is no variance then, and empirical likelihood is close to the exact binomial interval.
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
