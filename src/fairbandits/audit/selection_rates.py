"""Selection rates of groups: the share of favourable binary rewards, or of users with a score above the median."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.group_means import group_means, sums_of_users
from fairbandits.audit.grouped_sums import GroupedSums
from fairbandits.audit.row_sample import RowSample
from fairbandits.audit.unit_sums import UnitSums
from fairbandits.statistics.clusters import ClusterMeans, row_means


@dataclass(frozen=True, eq=False)
class SelectionRates:
    """The selection rate of each group.

    Attributes
    ----------
    kind : {"selection", "scoring"}
        Whether the rates are those of binary rewards, or those of scores above the median.
    labels : list of tuples
        The labels of the groups.
    means : ClusterMeans
        The rates.
    users : array
        The number of users in each group; without a user column, of decisions.
    median : float
        The median score; NaN for selections.
    no_test : str or None
        The reason why Fisher's exact test does not apply; None if it does.
    sample_share : float
        The share of users from which the rates were computed.
    """

    kind: Literal["selection", "scoring"]
    labels: list[tuple[Any, ...]]
    means: ClusterMeans
    users: NDArray[np.float64]
    median: float
    no_test: str | None
    sample_share: float


def is_binary(grouped: GroupedSums) -> bool:
    """Return whether all rewards are the lowest or the highest possible one.

    A reward v in [0, span] has `v^2 <= v span`, with equality only at both ends.
    """
    span = grouped.reward_range[1] - grouped.reward_range[0]
    squares, total = (float(part.sum() + unknown) for part, unknown in _sums(grouped))
    return total * span - squares <= 1e-9 * span * max(total, span)


def _sums(grouped: GroupedSums) -> Any:
    overall, unknown = grouped.overall, grouped.unknown
    return (overall.squares, unknown.squares), (overall.total, unknown.total)


def selection_rates(
    grouped: GroupedSums, units: UnitSums, lower_is_better: bool, rows: Callable[[], RowSample]
) -> SelectionRates:
    """Compute the selection rates of groups.

    If lower is better, the favourable outcome is the lowest reward, or a score below the median.

    Parameters
    ----------
    grouped, units : GroupedSums, UnitSums
        The sums.
    lower_is_better : bool
        Whether rewards are harms.
    rows : callable
        A function that reads the rows, for scores in a log without a user column.
    """
    if not is_binary(grouped):
        return _scoring_rates(grouped, units, lower_is_better, rows)
    means = group_means(grouped, units)
    rates = replace(means.whole, mean=1.0 - means.whole.mean) if lower_is_better else means.whole
    no_test = None
    if any((users.decisions[:, 0, 0] > 1).any() for users in sums_of_users(grouped, units)):
        no_test = "some users have more than one decision, but the test requires independent decisions"
    return SelectionRates("selection", grouped.labels, rates, means.missing.users, math.nan, no_test, 1.0)


def _scoring_rates(
    grouped: GroupedSums, units: UnitSums, lower_is_better: bool, rows: Callable[[], RowSample]
) -> SelectionRates:
    share = 1.0
    if units.has_users:
        shards = sums_of_users(grouped, units)
        group = np.concatenate([users.group for users in shards])
        n, total = np.concatenate([users.whole[:, 0] for users in shards]).T
        group, score = group[n > 0], total[n > 0] / n[n > 0] + grouped.reward_range[0]
    else:
        sample = rows()
        _, combination, score, *_ = sample.columns
        group, share = grouped.groups_of(sample.combinations)[combination], sample.share
    median = float(np.median(score))
    is_selected = score < median if lower_is_better else score > median
    known, n_groups = group >= 0, len(grouped.labels)
    n = np.bincount(group[known], minlength=n_groups).astype(float)
    selected = np.bincount(group[known & is_selected], minlength=n_groups).astype(float)
    no_test = "rewards are scores, but the test is for selections"
    means = row_means(n, selected, selected)
    return SelectionRates("scoring", grouped.labels, means, n / share, median, no_test, share)
