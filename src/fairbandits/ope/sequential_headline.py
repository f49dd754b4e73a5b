"""Anytime-valid headline estimates, for a log that is evaluated repeatedly while it grows.

With correct propensities, the conditional expectation of weight times reward in every row is the policy's value,
whatever happened before. That of weight times (1 - reward) is 1 minus the value. Both variables are non-negative,
so each has a lower confidence sequence from the empirical Bernstein supermartingale (Fan's inequality, as in
Howard et al. 2021 and Waudby-Smith et al., *Anytime-valid off-policy inference for contextual bandits*, 2022),
which needs no bound on the weights and allows for logging policies that learn. The second sequence yields the
upper bound of the value. Arms that the log never shows automatically count as 0 in the lower bound and as 1 in the
upper bound.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from fairbandits.jit import kernel
from fairbandits.ope.group_index import OVERALL
from fairbandits.ope.headline_estimates import HeadlineEstimates
from fairbandits.ope.results import BoundedValue
from fairbandits.statistics.confidence_sequence import bernstein_boundary

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# The variables of a row: weight times reward, weight times (1 - reward), and the logged reward and its complement.
_GAINED, _FORGONE, _LOGGED, _UNREWARDED = range(4)
# The sums for a group and a variable: the number of rows, the values, and the squared prediction errors.
_COUNT, _SUM, _SQUARES = range(3)


class SequentialSums:
    """Running sums of one policy, by group.

    Parameters
    ----------
    n_groups : int
        The number of groups.
    """

    def __init__(self, n_groups: int) -> None:
        self.sums: Floats = np.zeros((n_groups, 4, 3))

    def add(self, weight: Floats, reward: Floats, groups: Ints) -> None:
        """Add rows in the order of the log."""
        variables = np.column_stack([weight * reward, weight * (1.0 - reward), reward, 1.0 - reward])
        _add_rows(groups, variables, self.sums)

    def merge(self, later: SequentialSums) -> None:
        """Add the sums of a later part of the log, whose predictions started afresh."""
        self.sums += later.sums


class SequentialHeadline(HeadlineEstimates):
    """The anytime-valid estimates of one policy.

    Parameters
    ----------
    sums : SequentialSums
        The sums.
    confidence : float
        The confidence level of each interval; the intervals of the gaps of an attribute hold jointly.
    """

    def __init__(self, sums: SequentialSums, confidence: float) -> None:
        super().__init__(confidence)
        self._sums = sums.sums

    def value(self, group: int, error: float) -> BoundedValue | None:
        """Return the mean reward in a group, on the scale from 0 to 1, or None if it has no rows."""
        return self._interval(group, (_GAINED, _FORGONE), error)

    def gap(self, first: int, second: int, error: float) -> BoundedValue | None:
        """Return the mean reward of one group minus that of another, or None if one has no rows."""
        return _minus(self.value(first, error / 2.0), self.value(second, error / 2.0), error)

    def minus(self, other: Self | None, error: float, group: int = OVERALL) -> BoundedValue | None:
        """Return the mean reward minus that of another policy, or of the logging policy; None without rows."""
        if other is None:
            theirs = self._interval(group, (_LOGGED, _UNREWARDED), error / 2.0)
        else:
            theirs = other.value(group, error / 2.0)
        return _minus(self.value(group, error / 2.0), theirs, error)

    def _interval(self, group: int, variables: tuple[int, int], error: float) -> BoundedValue | None:
        gained, forgone = self._sums[group][list(variables)]
        count = gained[_COUNT]
        if not count:
            return None
        mean, complement = gained[_SUM] / count, forgone[_SUM] / count
        # Each side gets half of the error probability.
        radius = bernstein_boundary(np.array([gained[_SQUARES], forgone[_SQUARES]]), error / 2.0) / count
        bounds = np.clip([mean - radius[0], 1.0 - complement + radius[1]], 0.0, 1.0)
        # By chance, the bounds may cross; the range between them is then still a valid interval.
        low, high = float(bounds.min()), float(bounds.max())
        total = mean + complement
        return BoundedValue(float(np.clip(mean / total if total else 0.5, low, high)), low, high, 1.0 - error)


def _minus(one: BoundedValue | None, two: BoundedValue | None, error: float) -> BoundedValue | None:
    """Return a difference whose interval holds if both intervals do."""
    if one is None or two is None:
        return None
    return BoundedValue(one.value - two.value, one.low - two.high, one.high - two.low, 1.0 - error)


@kernel()
def _add_rows(groups: Ints, variables: Floats, sums: Floats) -> None:
    for i in range(len(groups)):
        for j in range(groups.shape[1]):
            group = groups[i, j]
            if group < 0:
                continue
            for k in range(variables.shape[1]):
                count, total = sums[group, k, 0], sums[group, k, 1]
                # The prediction must be known before the row is seen, and must not exceed 1.
                prediction = min(total / count, 1.0) if count > 0.0 else 0.5
                error = variables[i, k] - prediction
                sums[group, k, 0] = count + 1.0
                sums[group, k, 1] = total + variables[i, k]
                sums[group, k, 2] += error * error
