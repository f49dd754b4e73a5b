"""Comparison of every group with a reference group: differences and ratios of mean rewards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairbandits.audit.intervals import IntervalEstimate
from fairbandits.statistics.fixed_sample import difference_bounds, mean_bounds
from fairbandits.statistics.multiplicity import sidak
from fairbandits.statistics.ratios import ratio_bounds
from fairbandits.views.short_repr import ShortRepr

if TYPE_CHECKING:
    from fairbandits.audit.grouped_sums import GroupedSums
    from fairbandits.audit.results import Comparison, GroupResult
    from fairbandits.audit.simultaneous import PairwiseGaps


@dataclass(frozen=True, repr=False)
class GroupRatio(ShortRepr):
    """The mean reward of a group, compared with that of the reference group.

    Attributes
    ----------
    group : GroupResult
        The group.
    difference : IntervalEstimate
        Its mean reward minus that of the reference group.
    ratio : IntervalEstimate
        Its mean reward divided by that of the reference group. The interval excludes 1 if and only if that of the
        difference excludes 0. NaN if the lowest possible reward is not 0, because the ratio would depend on the
        choice of zero.
    """

    group: GroupResult
    difference: IntervalEstimate
    ratio: IntervalEstimate


@dataclass(frozen=True, repr=False)
class ReferenceComparison(ShortRepr):
    """Differences from a reference group, and ratios to it.

    Attributes
    ----------
    reference : GroupResult
        The reference group.
    groups : tuple of GroupRatio
        The other groups that are compared, in the order of the comparison.
    """

    reference: GroupResult
    groups: tuple[GroupRatio, ...]


def check_reference(comparisons: Sequence[Comparison], reference: Sequence[str]) -> None:
    """Raise ValueError if a name is not a group of any attribute, or if two names belong to the same attribute."""
    single = [comparison for comparison in comparisons if len(comparison.attributes) == 1]
    names = {each.name: [group.name for group in each.groups] for each in single}
    for name in reference:
        if not any(name in groups for groups in names.values()):
            known = "; ".join(f"{attribute}: {', '.join(groups[:10])}" for attribute, groups in names.items())
            raise ValueError(f"reference must be a group, got {name!r}; the groups are {known}")
    for attribute, groups in names.items():
        chosen = [name for name in reference if name in groups]
        if len(chosen) > 1:
            raise ValueError(f"reference must name at most one group of {attribute}, got {', '.join(chosen)}")


def named_reference(comparison: Comparison, reference: Sequence[str]) -> GroupResult | None:
    """Return the group whose labels are all in `reference`, or None if there is none."""
    named = (group for group in comparison.groups if all(str(label) in reference for label in group.labels))
    return next(named, None)


def find_reference(comparison: Comparison, reference: Sequence[str]) -> GroupResult | None:
    """Return the named reference group or, by default, the advantaged group; None if the group is too small."""
    named = named_reference(comparison, reference)
    if named is not None:
        return named if named.is_large_enough else None
    return comparison.analysis.advantaged if comparison.analysis is not None else None


def compare_with_reference(
    comparison: Comparison, grouped: GroupedSums, reference: GroupResult
) -> ReferenceComparison | None:
    """Compare all groups with the reference group; None without simultaneous intervals."""
    pairwise = comparison.analysis.pairwise if comparison.analysis is not None else None
    if pairwise is None:
        return None
    others = [group for group in comparison.compared if group is not reference]
    number = {labels: position for position, labels in enumerate(grouped.labels)}
    i = np.array([number[group.labels] for group in others])
    table = difference_and_ratio(pairwise, i, number[reference.labels], grouped.reward_range)
    return ReferenceComparison(
        reference, tuple(GroupRatio(group, *estimates) for group, estimates in zip(others, table, strict=True))
    )


def difference_and_ratio(
    pairwise: PairwiseGaps,
    i: np.ndarray[tuple[int], np.dtype[np.int64]],
    j: int,
    reward_range: tuple[float, float],
) -> list[tuple[IntervalEstimate, IntervalEstimate]]:
    """Return the differences and ratios of the means of groups i to that of group j, in units of reward."""
    lowest, span = reward_range[0], reward_range[1] - reward_range[0]
    bounds = mean_bounds(pairwise.means, sidak(pairwise.error, pairwise.n_pairs))
    mean, low, high = (lowest + span * part for part in (pairwise.means.mean, *bounds))
    differences = mean[i] - mean[j], *difference_bounds(mean, low, high, i, j, pairwise.are_shared)
    if lowest != 0.0:
        ratios = tuple(np.full(len(i), np.nan) for _ in range(3))
    else:
        with np.errstate(all="ignore"):
            bounds = ratio_bounds(mean, low, high, i, j)
            if pairwise.are_shared:
                bounds = low[i] / high[j], high[i] / low[j]
            ratios = mean[i] / mean[j], *bounds
    rows = zip(zip(*differences, strict=True), zip(*ratios, strict=True), strict=True)
    return [(_estimate(*difference), _estimate(*ratio)) for difference, ratio in rows]


def _estimate(value: float, low: float, high: float) -> IntervalEstimate:
    return IntervalEstimate(float(value), float(low), float(high))
