"""The sums of a policy over the units of a group, and the part of the policy that the log does not support."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fairbandits.ope.checks.propensity_check import LEVEL, contradiction
from fairbandits.ope.log_units import LogUnits, UnitColumns

Floats = NDArray[np.float64]

#: The variables of a unit: the number of rows, the weights, the weighted rewards, the control variate, the logged
#: rewards, and the probability of arms that the log never shows.
COLUMNS = ROWS, WEIGHTS, REWARDS, CONTROL, LOGGED, UNSUPPORTED = range(6)


class UnitTables:
    """The sums of one policy, by group.

    Parameters
    ----------
    units : LogUnits
        The units of the log.
    columns : UnitColumns
        The sums of the policy.
    max_weight : float
        The largest possible weight.
    """

    def __init__(self, units: LogUnits, columns: UnitColumns, max_weight: float) -> None:
        self._units, self._columns, self.max_weight = units, columns, max_weight
        self._tables: dict[int, Floats] = {}

    def table(self, group: int) -> Floats:
        """Return the sums of each unit of a group, of shape (units, 6).

        If more weight is missing than chance explains, the missing weight counts as unsupported: with correct
        propensities the expected mean weight is 1, so the policy makes decisions that the log does not show.
        """
        if group not in self._tables:
            table = self.observed(group)
            if missing := self._missing_weight(group):
                table = table.copy()
                table[:, UNSUPPORTED] += missing * table[:, ROWS]
            self._tables[group] = table
        return self._tables[group]

    def observed(self, group: int) -> Floats:
        """Return the sums without adjustment."""
        return self._columns.totals(*self._units.members(group))

    def unsupported(self, group: int) -> float:
        """Return the probability that the policy makes a choice that the log does not support."""
        return _mean(self.table(group), UNSUPPORTED)

    def expected_weight(self, group: int) -> float:
        """Return the expected mean weight if propensities and probabilities are correct."""
        return 1.0 - _mean(self.observed(group), UNSUPPORTED)

    def mean_weight(self, group: int) -> float:
        """Return the mean weight."""
        return _mean(self.observed(group), WEIGHTS)

    def weight_p_value(self, group: int) -> float:
        """Return the p-value of the mean weight against its expectation, or NaN if there are too few units."""
        table = self.observed(group)
        expected = self.expected_weight(group) * float(table[:, ROWS].sum())
        weights = table[:, WEIGHTS]
        if not weights.any():
            # All weights are zero if the policy chooses nothing that the log shows.
            return math.exp(-expected / self.max_weight) if expected else 1.0
        tested = (np.count_nonzero(weights), weights.sum(), (weights * weights).sum(), expected, weights.max())
        return float(contradiction(*(np.array([float(value)]) for value in tested))[0])

    def _missing_weight(self, group: int) -> float:
        missing = self.expected_weight(group) - self.mean_weight(group)
        return missing if missing > 0.0 and self.weight_p_value(group) < LEVEL else 0.0


def _mean(table: Floats, column: int) -> float:
    rows = float(table[:, ROWS].sum())
    return float(table[:, column].sum()) / rows if rows else 0.0
