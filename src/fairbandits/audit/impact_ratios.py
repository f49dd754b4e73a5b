"""Impact ratios as required by New York City's Local Law 144, and the four-fifths rule.

The selection rate of a category is the share of its decisions with the favourable outcome; for scores, the share
of its users above the median of all users. The impact ratio divides it by the rate of the most selected category.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from fairbandits.audit.intervals import IntervalEstimate
from fairbandits.audit.reference import difference_and_ratio
from fairbandits.audit.simultaneous import PairwiseGaps
from fairbandits.statistics.clusters import ClusterMeans
from fairbandits.statistics.fixed_sample import is_large_enough
from fairbandits.views.short_repr import ShortRepr

if TYPE_CHECKING:
    from fairbandits.audit.results import Comparison, GroupResult
    from fairbandits.audit.selection_rates import SelectionRates

#: Categories with a smaller share of the data may be left out of the calculation.
MIN_SHARE = 0.02
#: The four-fifths rule of the United States' Uniform Guidelines on Employee Selection Procedures (1978).
FOUR_FIFTHS = 0.8


@dataclass(frozen=True, repr=False)
class ImpactRatio(ShortRepr):
    """The impact ratio of one category.

    Attributes
    ----------
    group : GroupResult
        The category.
    n, selected : int
        The number of decisions (of users, for scores), and of those selected.
    share : float
        The share of the data, including users of unknown category.
    rate : float
        The selection rate.
    ratio : IntervalEstimate
        The impact ratio; exactly 1 for the most selected category. Its interval is NaN if one of the two
        categories is too small. The ratio is NaN if nobody was selected.
    p_value, corrected_p_value : float
        The two-sided p-value of Fisher's exact test against the most selected category; and the same corrected for
        all pairs (Bonferroni), because that category is determined from the same data. NaN if the test does not
        apply.
    """

    group: GroupResult
    n: int
    selected: int
    share: float
    rate: float
    ratio: IntervalEstimate
    p_value: float
    corrected_p_value: float

    @property
    def is_below_two_percent(self) -> bool:
        """Whether the category has less than 2% of the data, so that the law allows leaving it out."""
        return self.share < MIN_SHARE

    @property
    def is_below_four_fifths(self) -> bool:
        """Whether the impact ratio is below four fifths."""
        return self.ratio.value < FOUR_FIFTHS


@dataclass(frozen=True, repr=False)
class ImpactRatios(ShortRepr):
    """The impact ratios of all categories of a comparison.

    Attributes
    ----------
    kind : {"selection", "scoring"}
        Whether the rates are those of selections, or those of scores above the median.
    median : float
        The median score of all users; NaN for selections.
    most_selected : GroupResult or None
        The category with the highest rate among those with at least 2% of the data; None if nobody was selected.
    categories : tuple of ImpactRatio
        All categories, the most selected first.
    unknown : float
        The number of users (without a user column, of decisions) of unknown category.
    no_test : str or None
        The reason why Fisher's exact test does not apply; None if it does.
    sample_share : float
        The share of users from which the rates were computed, for scores.
    """

    kind: Literal["selection", "scoring"]
    median: float
    most_selected: GroupResult | None
    categories: tuple[ImpactRatio, ...]
    unknown: float
    no_test: str | None
    sample_share: float


def impact_ratios(comparison: Comparison, rates: SelectionRates, error: float) -> ImpactRatios | None:
    """Return the impact ratios of a comparison, or None if no category has a rate.

    Parameters
    ----------
    comparison : Comparison
        The comparison.
    rates : SelectionRates
        The selection rate of each group.
    error : float
        The error probability of all ratios together, if the comparison has no gap. Otherwise they share the error
        probability of the gap.
    """
    means = rates.means
    share = rates.users / comparison.unassessed.users
    known = [k for k in range(len(rates.labels)) if means.rows[k] > 0]
    if not known:
        return None
    first = max([k for k in known if share[k] >= MIN_SHARE] or known, key=lambda k: float(means.mean[k]))
    is_empty = not any(means.mean[k] > 0.0 for k in known)
    no_test = "nobody was selected" if is_empty else rates.no_test
    order = sorted(known, key=lambda k: (k != first, -float(means.mean[k])))
    groups = {group.labels: group for group in comparison.groups}
    ratios = _ratios(means, order, first, _error_of_gaps(comparison, error))
    n_pairs = len(known) * (len(known) - 1) // 2
    categories = []
    for k, ratio in zip(order, ratios, strict=True):
        p_value = _fisher(means, k, first) if no_test is None and k != first else math.nan
        categories.append(
            ImpactRatio(
                group=groups[rates.labels[k]],
                n=int(means.rows[k]),
                selected=round(float(means.rows[k] * means.mean[k])),
                share=float(share[k]),
                rate=float(means.mean[k]),
                ratio=ratio,
                p_value=p_value,
                corrected_p_value=float(np.minimum(1.0, p_value * n_pairs)),
            )
        )
    return ImpactRatios(
        rates.kind,
        rates.median,
        None if is_empty else groups[rates.labels[first]],
        tuple(categories),
        comparison.unassessed.unknown,
        no_test,
        rates.sample_share,
    )


def _error_of_gaps(comparison: Comparison, error: float) -> float:
    """Return the error probability of the gap, so that the intervals agree in all tables."""
    pairwise = comparison.analysis.pairwise if comparison.analysis is not None else None
    return error if pairwise is None else pairwise.error


def _ratios(means: ClusterMeans, order: list[int], first: int, error: float) -> list[IntervalEstimate]:
    if means.mean[first] == 0.0:
        return [IntervalEstimate(math.nan, math.nan, math.nan)] * len(order)
    large = np.flatnonzero(is_large_enough(means))
    table = difference_and_ratio(PairwiseGaps(means, large, error), np.array(order), first, (0.0, 1.0))
    ratios = [IntervalEstimate(1.0, 1.0, 1.0)]
    for k, (_, ratio) in zip(order[1:], table[1:], strict=True):
        has_interval = k in large and first in large
        ratios.append(ratio if has_interval else IntervalEstimate(ratio.value, math.nan, math.nan))
    return ratios


def _fisher(means: ClusterMeans, i: int, j: int) -> float:
    """Return the two-sided p-value of Fisher's exact test."""
    from scipy.stats import fisher_exact  # noqa: PLC0415 - slow to import

    rows = means.rows[[i, j]]
    selected = np.rint(rows * means.mean[[i, j]])
    return float(fisher_exact(np.array([selected, rows - selected], np.int64)).pvalue)
