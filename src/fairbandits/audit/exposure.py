"""Exposure of groups to arms: its distribution, and whether a group is shown fewer arms than the reference group.

Exposure is counted in decisions with a reward, as in the decomposition over arms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.intervals import IntervalEstimate
from fairbandits.categorical import Label
from fairbandits.statistics.concentration import JackknifeEstimate, gini, rarefied_arms, rarefied_gini
from fairbandits.statistics.multiplicity import sidak
from fairbandits.views.short_repr import ShortRepr

if TYPE_CHECKING:
    from fairbandits.audit.grouped_sums import GroupedSums
    from fairbandits.audit.log_sums import Floats
    from fairbandits.audit.results import Comparison, GroupResult
    from fairbandits.audit.unit_sums import UnitSums

# The number of arms whose shares are reported.
_MAX_ARMS = 10
# Random subsets of folds are always the same, so that the same log always gives the same report.
_SEED = 14


@dataclass(frozen=True, repr=False)
class GroupExposure(ShortRepr):
    """The distribution of a group's exposure over arms.

    Attributes
    ----------
    group : GroupResult
        The group.
    shares : tuple of float
        The share of the group's decisions for each of `Exposure.arms`.
    gini : float
        The Gini coefficient of the exposure over all arms of the catalogue.
    arms_shown : int
        The number of arms that the group was shown at least once.
    coverage : float
        The share of the catalogue that these arms make up.
    decisions : float
        The number of decisions at which the group is compared with the reference group: half the number of
        decisions of the smaller of the two.
    arms_difference, gini_difference : IntervalEstimate
        The expected number of arms and the expected Gini coefficient in that many decisions, minus those of the
        reference group; NaN for the reference group itself.
    reference_arms : float
        The expected number of arms of the reference group in that many decisions.
    """

    group: GroupResult
    shares: tuple[float, ...]
    gini: float
    arms_shown: int
    coverage: float
    decisions: float
    arms_difference: IntervalEstimate
    gini_difference: IntervalEstimate
    reference_arms: float

    @property
    def is_narrower(self) -> bool:
        """Whether the group is shown fewer arms than the reference group."""
        return self.arms_difference.high < 0.0


@dataclass(frozen=True, repr=False)
class Exposure(ShortRepr):
    """The distribution of exposure over arms, by group.

    Attributes
    ----------
    reference : GroupResult
        The group with which the others are compared.
    n_arms : int
        The number of arms in the catalogue, that is, of all arms that were shown to anybody.
    arms : tuple
        The arms with the largest exposure.
    groups : tuple of GroupExposure
        The groups that are compared, the reference group last.
    """

    reference: GroupResult
    n_arms: int
    arms: tuple[Label, ...]
    groups: tuple[GroupExposure, ...]

    @property
    def narrower(self) -> tuple[GroupExposure, ...]:
        """The groups that are shown fewer arms than the reference group."""
        return tuple(group for group in self.groups if group.is_narrower)


def analyse_exposure(
    comparison: Comparison, grouped: GroupedSums, units: UnitSums, reference: GroupResult, error: float
) -> Exposure | None:
    """Compare the exposure of groups; return None if there is only one arm.

    Parameters
    ----------
    comparison : Comparison
        The comparison.
    grouped, units : GroupedSums, UnitSums
        Its sums.
    reference : GroupResult
        The reference group.
    error : float
        The error probability of all intervals together.
    """
    everybody = np.bincount(units.arm, units.fold_counts.sum(axis=1), minlength=len(units.arms))
    catalogue = np.flatnonzero(everybody)
    if catalogue.size < 2:
        return None
    # Ties are broken by name, so that results do not depend on the order of the rows.
    order = sorted(range(catalogue.size), key=lambda k: (-everybody[catalogue[k]], str(units.arms[catalogue[k]])))
    top = np.array(order[:_MAX_ARMS])
    others = [group for group in comparison.compared if group is not reference]
    tables = {group: _fold_counts(grouped, units, group)[catalogue] for group in (*others, reference)}
    each = sidak(error, 2 * len(others))
    compared = [(group, _compare(tables[group], tables[reference], each)) for group in others]
    return Exposure(
        reference,
        int(catalogue.size),
        tuple(units.arms[catalogue[k]] for k in top),
        tuple(
            GroupExposure(group, *_spread(tables[group], top), *differences)
            for group, differences in (*compared, (reference, _NO_DIFFERENCE))
        ),
    )


_NAN = IntervalEstimate(math.nan, math.nan, math.nan)
_NO_DIFFERENCE = (math.nan, _NAN, _NAN, math.nan)


def _spread(table: Floats, top: NDArray[np.int64]) -> tuple[tuple[float, ...], float, int, float]:
    """Return the shares of the top arms, the Gini coefficient, the number of arms shown and the coverage."""
    counts = table.sum(axis=1)
    n_shown = int((counts > 0).sum())
    return tuple((counts[top] / counts.sum()).tolist()), gini(counts), n_shown, n_shown / counts.size


def _compare(
    first: Floats, second: Floats, error: float
) -> tuple[float, IntervalEstimate, IntervalEstimate, float]:
    """Return the number of decisions, the differences in arms and in Gini, and the second group's arms."""
    decisions = float(min(first.sum(), second.sum())) / 2.0
    rng = np.random.default_rng(_SEED)
    arms = [rarefied_arms(table, decisions) for table in (first, second)]
    ginis = [rarefied_gini(table, decisions, rng) for table in (first, second)]
    return (
        decisions,
        _difference(arms[0], arms[1], error),
        _difference(ginis[0], ginis[1], error),
        arms[1].value,
    )


def _difference(first: JackknifeEstimate, second: JackknifeEstimate, error: float) -> IntervalEstimate:
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to import

    freedom = min(first.degrees_of_freedom, second.degrees_of_freedom)
    radius = -float(stdtrit(freedom, error / 2.0)) * math.sqrt(first.variance + second.variance)
    value = first.value - second.value
    return IntervalEstimate(value, value - radius, value + radius)


def _fold_counts(grouped: GroupedSums, units: UnitSums, group: GroupResult) -> Floats:
    """Return the number of decisions of a group by arm and fold."""
    number = grouped.labels.index(group.labels)
    chosen = grouped.groups_of(units.combinations)[units.combination] == number
    table = np.zeros((len(units.arms), units.fold_counts.shape[1]))
    np.add.at(table, units.arm[chosen], units.fold_counts[chosen])
    return table
