"""The users whom a comparison could not assess: their group is unknown or too small."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.group_means import GroupMeansOverTime
from fairbandits.audit.grouped_sums import GroupedSums, RewardSums
from fairbandits.audit.results import GroupResult, Unassessed
from fairbandits.audit.settings import AuditSettings
from fairbandits.statistics.exact import exceeds_bound, falls_below_bound


def unassessed_users(
    sums: GroupedSums,
    means: GroupMeansOverTime,
    groups: list[GroupResult],
    large: NDArray[np.int64],
    bounds: tuple[Any, Any],
    settings: AuditSettings,
) -> Unassessed:
    """Count the users who could not be assessed, and determine what gaps they may hide.

    Parameters
    ----------
    sums, means : GroupedSums, GroupMeansOverTime
        The groups.
    groups : list of GroupResult
        All groups, in the order of `means`.
    large : array of int
        The groups that are compared.
    bounds : tuple of two arrays
        The simultaneous bounds of the mean of each group, in units of the reward range.
    settings : AuditSettings
        The settings.
    """
    span = sums.reward_range[1] - sums.reward_range[0]
    small = [number for number in range(len(groups)) if number not in set(large.tolist())]
    outside = []
    if len(large) and small:
        margin = (settings.tolerance or 0.0) / span
        # The mean of the small group must differ from that of some compared group by more than the tolerance,
        # wherever the latter's true mean lies.
        floor, ceiling = float(bounds[0][large].max()) - margin, float(bounds[1][large].min()) + margin
        # The tests have a separate error probability, because they can only prevent a verdict of "fair".
        each = (1.0 - settings.confidence) / (2 * len(small))
        for number in small:
            mean, users = float(means.whole.mean[number]), float(means.whole.effective_users[number])
            if falls_below_bound(mean, users, floor, each) or exceeds_bound(mean, users, ceiling, each):
                outside.append(groups[number])
    return Unassessed(
        means.users,
        means.unknown_users,
        float(sum(means.missing.users[number] for number in small)),
        worst_case_gap(sums.overall.select(large), sums.unknown, span) if len(large) > 1 else math.nan,
        tuple(outside),
        float(means.missing.users[large].sum() - means.whole.users[large].sum()),
    )


def worst_case_gap(groups: RewardSums, unknown: RewardSums, span: float) -> float:
    """Return the largest gap between groups that users of unknown group could cause.

    In the worst case, each of their rewards is either the highest or the lowest possible one, and all users with
    the highest reward belong to the group that is best off, and the others to the group that is worst off.
    """
    high = unknown.total / span
    low = unknown.count - high
    with np.errstate(all="ignore"):
        best, worst = (groups.total + high * span) / (groups.count + high), groups.total / (groups.count + low)
    gaps = best[:, None] - worst[None, :]
    np.fill_diagonal(gaps, -np.inf)
    return float(max(gaps.max(), 0.0))
