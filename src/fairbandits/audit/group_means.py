"""The mean rewards of groups with cluster-robust variances: of the whole log, and of each window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.grouped_sums import GroupedSums, RewardSums
from fairbandits.audit.unit_sums import UnitSums
from fairbandits.audit.windows import Windows
from fairbandits.statistics.clusters import ClusterMeans, cluster_means, row_means


@dataclass(frozen=True, eq=False)
class GroupMeansOverTime:
    """Mean rewards in units of the reward range.

    Attributes
    ----------
    whole : ClusterMeans of shape (groups,)
        Over the whole log.
    windows : ClusterMeans of shape (windows, groups)
        In each window.
    missing : ClusterMeans of shape (groups,)
        The share of missing rewards.
    users, unknown_users : float
        The number of users (without a user column, of decisions) in all, and of those whose group is unknown.
    """

    whole: ClusterMeans
    windows: ClusterMeans
    missing: ClusterMeans
    users: float
    unknown_users: float


def group_means(grouped: GroupedSums, units: UnitSums, windows: Windows) -> GroupMeansOverTime:
    """Compute the means of groups; without a user column, rows are independent."""
    span = grouped.reward_range[1] - grouped.reward_range[0]
    by_window = _by_window(grouped, windows)
    if units.has_users:
        return _from_units(grouped, units, by_window, span)
    overall = grouped.overall
    n = overall.count + overall.missing
    return GroupMeansOverTime(
        row_means(overall.count, overall.total / span, overall.squares / span**2),
        row_means(by_window.count, by_window.total / span, by_window.squares / span**2),
        row_means(n, overall.missing, overall.missing),
        float(n.sum() + grouped.unknown.count + grouped.unknown.missing),
        float(grouped.unknown.count + grouped.unknown.missing),
    )


def _from_units(grouped: GroupedSums, units: UnitSums, by_window: RewardSums, span: float) -> GroupMeansOverTime:
    group, counts, totals, missing = sums_of_users(grouped, units)
    known = group >= 0
    n_groups, n_windows = len(grouped.labels), by_window.count.shape[0]
    group, counts, totals, missing, everybody = (
        group[known],
        counts[known],
        totals[known] / span,
        missing[known],
        len(group),
    )
    whole = cluster_means(
        counts.sum(axis=1).astype(float), totals.sum(axis=1), group, grouped.overall.squares / span**2
    )
    cell = (np.arange(n_windows)[:, None] * n_groups + group[None, :]).ravel()
    in_windows = cluster_means(
        counts[:, :n_windows].T.ravel().astype(float),
        totals[:, :n_windows].T.ravel(),
        cell,
        by_window.squares.ravel() / span**2,
    )
    decisions = (counts.sum(axis=1) + missing).astype(float)
    shares = cluster_means(decisions, missing.astype(float), group, grouped.overall.missing)
    return GroupMeansOverTime(
        whole, in_windows.reshape(n_windows, n_groups), shares, float(everybody), float((~known).sum())
    )


def sums_of_users(
    grouped: GroupedSums, units: UnitSums
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the group of each user, -1 if it is unknown, and the sums; units of a user in a group are added."""
    group = grouped.groups_of(units.combinations)[units.units.combinations]
    arrays = group, units.counts, units.totals, units.missing
    users = units.units.users
    order = np.lexsort((group, users))
    is_new = np.ones(len(order), bool)
    is_new[1:] = (users[order][1:] != users[order][:-1]) | (group[order][1:] != group[order][:-1])
    if is_new.all():
        return arrays
    starts = np.flatnonzero(is_new)
    counts, totals, missing = (np.add.reduceat(array[order], starts, axis=0) for array in arrays[1:])
    return group[order][starts], counts, totals, missing


def _by_window(grouped: GroupedSums, windows: Windows) -> RewardSums:
    def summed(table: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.add.reduceat(table, windows.first_block[:-1], axis=0) if len(table) else table

    table = grouped.by_block
    return RewardSums(*(summed(part) for part in (table.count, table.total, table.squares, table.missing)))
