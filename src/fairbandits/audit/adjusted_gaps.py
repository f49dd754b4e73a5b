"""Gaps adjusted for factors such as education or age, so that like is compared with like."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.intervals import IntervalEstimate
from fairbandits.audit.nuisances import cross_fit, design_matrix
from fairbandits.audit.row_sample import RowSample
from fairbandits.audit.strata_sums import StrataSums
from fairbandits.categorical import Categorical
from fairbandits.statistics.adjustment import (
    AdjustedEstimate,
    comparable_strata,
    doubly_robust_difference,
    standardised_difference,
)
from fairbandits.statistics.multiplicity import sidak
from fairbandits.views.short_repr import ShortRepr

if TYPE_CHECKING:
    from fairbandits.audit.grouped_sums import GroupedSums
    from fairbandits.audit.log_sums import Floats
    from fairbandits.audit.reference import ReferenceComparison
    from fairbandits.audit.results import GroupResult

Method = Literal["standardised", "doubly robust"]
# Rows whose factors are more than this many times as frequent in one group as in the other are not comparable.
_MAX_DENSITY_RATIO = 50.0


@dataclass(frozen=True, repr=False)
class AdjustedGap(ShortRepr):
    """The difference between a group and the reference group, raw and adjusted.

    Attributes
    ----------
    group : GroupResult
        The group.
    raw : IntervalEstimate
        Its mean reward minus that of the reference group.
    adjusted : IntervalEstimate
        The same difference for users with equal factors; NaN if no users are comparable.
    not_comparable : tuple of two floats
        For the group and the reference group, the share of its rewards that are not comparable, because the other
        group has no users with the same factors.
    """

    group: GroupResult
    raw: IntervalEstimate
    adjusted: IntervalEstimate
    not_comparable: tuple[float, float]


@dataclass(frozen=True, repr=False)
class AdjustedGaps(ShortRepr):
    """Differences from the reference group, adjusted for factors.

    Attributes
    ----------
    factors : tuple of str
        The factors.
    method : {"standardised", "doubly robust"}
        Standardised over strata, or doubly robust (AIPW) for many or continuous factors.
    reference : GroupResult
        The reference group.
    groups : tuple of AdjustedGap
        The other groups.
    n_strata : int
        The number of strata; 0 for the doubly robust method.
    sample_share : float
        The share of users that were used; less than 1 if the log is too long to fit into memory.
    """

    factors: tuple[str, ...]
    method: Method
    reference: GroupResult
    groups: tuple[AdjustedGap, ...]
    n_strata: int
    sample_share: float


def adjust(
    comparison: ReferenceComparison, grouped: GroupedSums, source: StrataSums | RowSample, error: float
) -> AdjustedGaps | None:
    """Adjust differences from a reference group for factors; return None if every factor is itself an attribute.

    Parameters
    ----------
    comparison : ReferenceComparison
        The differences.
    grouped : GroupedSums
        The groups.
    source : StrataSums or RowSample
        The rewards by stratum, or the rows.
    error : float
        The error probability of all intervals together.
    """
    factors = tuple(factor for factor in source.factors if factor not in grouped.attributes)
    if not factors:
        return None
    compare = (
        _Strata(source, grouped, factors) if isinstance(source, StrataSums) else _Rows(source, grouped, factors)
    )
    second = grouped.labels.index(comparison.reference.labels)
    span = grouped.reward_range[1] - grouped.reward_range[0]
    each = sidak(error, len(comparison.groups))
    gaps = []
    for ratio in comparison.groups:
        estimate, shares = compare.difference(grouped.labels.index(ratio.group.labels), second)
        bounds = (bound * span for bound in estimate.interval(each))
        adjusted = IntervalEstimate(estimate.value * span, *bounds)
        gaps.append(AdjustedGap(ratio.group, ratio.difference, adjusted, shares))
    return AdjustedGaps(
        factors, compare.method, comparison.reference, tuple(gaps), compare.n_strata, compare.sample_share
    )


class _Strata:
    method: Method = "standardised"
    sample_share = 1.0

    def __init__(self, strata: StrataSums, grouped: GroupedSums, factors: tuple[str, ...]) -> None:
        sums, columns = strata.sums, [strata.factors.index(factor) for factor in factors]
        keys = [tuple(label[column] for column in columns) for label in sums.arms]
        number = {key: position for position, key in enumerate(dict.fromkeys(keys))}
        self._stratum = np.array([number[key] for key in keys])[sums.arm]
        self._group = grouped.groups_of(sums.combinations)[sums.combination]
        self._span = grouped.reward_range[1] - grouped.reward_range[0]
        self._sums, self._n = sums, len(number)
        # Users whose factors are unknown cannot be assumed to have the same factors.
        self._is_known = np.array([None not in key for key in number])
        found = np.unique(self._stratum[self._group >= 0])
        self.n_strata = int(self._is_known[found].sum())

    def difference(self, first: int, second: int) -> tuple[AdjustedEstimate, tuple[float, float]]:
        counts = self._table(self._sums.fold_counts, first, second)
        totals = self._table(self._sums.fold_totals, first, second) / self._span
        n = counts.sum(axis=2)
        shares = n[:, ~(comparable_strata(counts) & self._is_known)].sum(axis=1) / n.sum(axis=1)
        estimate = standardised_difference(counts[:, self._is_known], totals[:, self._is_known])
        return estimate, (float(shares[0]), float(shares[1]))

    def _table(self, source: Any, first: int, second: int) -> Floats:
        table = np.zeros((2, self._n, source.shape[1]))
        for position, group in enumerate((first, second)):
            rows = self._group == group
            np.add.at(table[position], self._stratum[rows], source[rows])
        return table


class _Rows:
    method: Method = "doubly robust"
    n_strata = 0

    def __init__(self, rows: RowSample, grouped: GroupedSums, factors: tuple[str, ...]) -> None:
        low, high = grouped.reward_range
        _, combination, reward, *_ = rows.columns
        self.sample_share = rows.share
        group = grouped.groups_of(rows.combinations)[combination]
        columns = [rows.factor(factor) for factor in factors]
        is_known = np.logical_and.reduce([_is_known(column) for column in columns])
        self._counts = np.bincount(group[group >= 0], minlength=len(grouped.labels))
        self._group, self._user = group[is_known], rows.keys[is_known]
        self._reward = ((reward - low) / (high - low))[is_known]
        self._features = design_matrix([_selected(column, is_known) for column in columns])

    def difference(self, first: int, second: int) -> tuple[AdjustedEstimate, tuple[float, float]]:
        chosen = np.flatnonzero((self._group == first) | (self._group == second))
        is_first, reward, user = self._group[chosen] == first, self._reward[chosen], self._user[chosen]
        if is_first.all() or not is_first.any():  # a group may be missing from a sample
            return AdjustedEstimate(math.nan, math.nan, 0.0), (math.nan, math.nan)
        predicted = cross_fit(self._features[chosen], reward, is_first, user)
        overall = is_first.mean()
        odds = predicted.propensity / (1.0 - predicted.propensity) * (1.0 - overall) / overall
        used = (odds >= 1.0 / _MAX_DENSITY_RATIO) & (odds <= _MAX_DENSITY_RATIO)
        means = predicted.means[0][used], predicted.means[1][used]
        estimate = doubly_robust_difference(
            reward[used], is_first[used], predicted.propensity[used], means, user[used]
        )
        counts = self._counts[[first, second]]
        shares = 1.0 - np.array([used[is_first].sum(), used[~is_first].sum()]) / counts
        return estimate, (float(shares[0]), float(shares[1]))


def _is_known(column: Categorical | Floats) -> NDArray[np.bool_]:
    return column.codes >= 0 if isinstance(column, Categorical) else ~np.isnan(column)


def _selected(column: Categorical | Floats, rows: NDArray[np.bool_]) -> Categorical | Floats:
    return Categorical(column.codes[rows], column.labels) if isinstance(column, Categorical) else column[rows]
