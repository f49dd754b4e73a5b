"""Sums over the users of a part of a log, from which the value of every mixture of a family can be computed.

The importance weight of a mixture is linear in its shares: `1 - s - u + s * pi(a) / p + u / (n_arms * p)` for the
share s of the fitted policy and the share u of the uniform policy. The sums of these two policies suffice for all
mixtures.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairbandits.ope.certification.mixture import Mixture
from fairbandits.ope.group_index import OVERALL, GroupIndex
from fairbandits.ope.log_rows import LogRows
from fairbandits.ope.log_units import LogUnits, UnitColumns
from fairbandits.statistics.empirical_likelihood import WeightedUnits

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# The variables of a unit: the number of rows and the logged rewards; then the weights, the weighted rewards and
# the control variate of the fitted policy, and the same three of the uniform policy.
_ROWS, _LOGGED, _FITTED, _UNIFORM = 0, 1, slice(2, 5), slice(5, 8)
_N_COLUMNS = 8


class FamilySums:
    """The sums of one part of a log.

    Parameters
    ----------
    groups : GroupIndex
        The groups.
    n_rows : int
        The number of rows of the log.
    """

    def __init__(self, groups: GroupIndex, n_rows: int) -> None:
        self._groups, self._units = groups, LogUnits(n_rows)
        self._columns = UnitColumns(_N_COLUMNS)
        self.rows = 0
        self.min_propensity = 1.0
        self.n_arms = 1

    def add(self, rows: LogRows, probabilities: Floats, predictions: Floats) -> None:
        """Add rows.

        Parameters
        ----------
        rows : LogRows
            The rows, which must have propensities.
        probabilities, predictions : arrays of shape (n_rows, n_arms)
            The probability with which the fitted policy would choose each arm, and the arm's predicted reward.
        """
        assert rows.propensity is not None  # noqa: S101
        chosen = np.arange(len(rows)), rows.arm
        self.n_arms = probabilities.shape[1]
        self.rows += len(rows)
        self.min_propensity = min(self.min_propensity, float(rows.propensity.min()))
        columns = [np.ones(len(rows)), rows.reward]
        for each in (probabilities, np.full_like(probabilities, 1.0 / self.n_arms)):
            weight = each[chosen] / rows.propensity
            # The doubly robust terms without the weighted reward. Their expectation is zero, because the policy
            # was fitted on other rows.
            control = weight * predictions[chosen] - np.einsum("ij,ij->i", each, predictions)
            columns += [weight, weight * rows.reward, control]
        unit = self._units.numbers(rows.user, rows.numbers, rows.groups)
        self._columns.add(unit, np.column_stack(columns), len(self._units))

    def logged(self, group: int) -> WeightedUnits:
        """Return the units of a group under the logging policy."""
        table = self._columns.totals(*self._units.members(group))
        return WeightedUnits.logged(table[:, _ROWS], table[:, _LOGGED])

    def n_units(self, group: int = OVERALL) -> int:
        """Return the number of users, or of rows of unknown users, in a group."""
        return int(np.unique(self._units.members(group)[1]).size) if len(self._units) else 0

    def mixed(self, mixture: Mixture, group: int) -> tuple[WeightedUnits, WeightedUnits]:
        """Return the units of a group under a mixture, and the same units under the logging policy."""
        units, numbers = self._units.members(group)
        table = self._columns.totals(units, np.arange(units.size))
        of_unit = self._group_of_unit(mixture.attribute)[units]
        logging, fitted, uniform = (
            share[of_unit][:, None] for share in (mixture.logging, mixture.fitted, mixture.uniform)
        )
        kept = np.column_stack([table[:, _ROWS], table[:, _LOGGED], np.zeros(units.size)])
        mixed = logging * kept + fitted * table[:, _FITTED] + uniform * table[:, _UNIFORM]
        of_user = UnitColumns(5)
        n_users = int(numbers.max()) + 1
        of_user.add(numbers.astype(np.int32), np.hstack([table[:, : _LOGGED + 1], mixed]), n_users)
        rows, logged, weights, rewards, control = of_user.totals(np.arange(n_users), np.arange(n_users)).T
        top = float(mixture.max_weights(self.min_propensity, self.n_arms)[np.unique(of_unit)].max())
        return WeightedUnits(rows, weights, rewards, control[:, None], top), WeightedUnits.logged(rows, logged)

    def means(self, group: int) -> Floats:
        """Return the doubly robust estimates in a group of the logging, the fitted and the uniform policy."""
        table = self._columns.totals(*self._units.members(group))
        _, fitted, fitted_control = table[:, _FITTED].sum(axis=0)
        _, uniform, uniform_control = table[:, _UNIFORM].sum(axis=0)
        totals = [table[:, _LOGGED].sum(), fitted - fitted_control, uniform - uniform_control]
        return np.asarray(np.array(totals) / table[:, _ROWS].sum())

    def _group_of_unit(self, attribute: str) -> Ints:
        of_unit = np.zeros(len(self._units), np.int64)
        for number in self._groups.numbers(attribute).values():
            of_unit[self._units.members(number)[0]] = number
        return of_unit
