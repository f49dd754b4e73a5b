"""The mean rewards of groups with cluster-robust variances: of the whole log, and of each window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.grouped_sums import GroupedSums, RewardSums
from fairbandits.audit.unit_sums import UnitSums
from fairbandits.audit.unit_table import COUNT, Floats, UnitTable
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
    shards = sums_of_users(grouped, units)
    overall = grouped.overall
    whole = cluster_means([(u.whole, u.group) for u in shards], overall.squares[None], span)
    in_windows = cluster_means([(u.sums, u.group) for u in shards], by_window.squares, span)
    missing = cluster_means([(u.decisions, u.group) for u in shards], overall.missing[None])
    everybody, unknown = (sum(n) for n in zip(*((len(u.group), (u.group < 0).sum()) for u in shards), strict=True))
    return GroupMeansOverTime(whole[0], in_windows, missing[0], float(everybody), float(unknown))


@dataclass(frozen=True, eq=False)
class UserSums:
    """Sums of the users of a shard.

    Attributes
    ----------
    group : array of shape (users,)
        The group of each user, -1 if it is unknown.
    sums : array of shape (users, windows + 1, 2)
        As in `UnitTable`.
    missing : array of shape (users,)
        The number of missing rewards.
    """

    group: NDArray[np.int64]
    sums: Floats
    missing: Floats

    @property
    def whole(self) -> Floats:
        """The number and the sum of the rewards, of shape (users, 1, 2)."""
        return np.asarray(self.sums.sum(axis=1, keepdims=True))

    @property
    def decisions(self) -> Floats:
        """The number of decisions and of missing rewards, of shape (users, 1, 2)."""
        n = self.sums[:, :, COUNT].sum(axis=1) + self.missing
        return np.stack([n, self.missing], axis=1)[:, None]


def sums_of_users(grouped: GroupedSums, units: UnitSums) -> list[UserSums]:
    """Return the sums of each shard of users; units of a user in the same group are added."""
    group_of = grouped.groups_of(units.combinations)
    # With one attribute, every combination is a group of its own (one of them that of unknown group).
    is_merging = len(np.unique(group_of)) < len(group_of)
    return [_merged_units(table, group_of, is_merging) for table in units.shards]


def _merged_units(table: UnitTable, group_of: NDArray[np.int64], is_merging: bool) -> UserSums:
    group, users = group_of[table.units.combinations], table.units.users
    if not (is_merging and len(group)):
        return UserSums(group, table.sums, table.missing)
    order = np.lexsort((group, users))
    is_new = np.ones(len(order), bool)
    is_new[1:] = (users[order][1:] != users[order][:-1]) | (group[order][1:] != group[order][:-1])
    starts = np.flatnonzero(is_new)
    sums, missing = (np.add.reduceat(array[order], starts, axis=0) for array in (table.sums, table.missing))
    return UserSums(group[order][starts], sums, missing)


def _by_window(grouped: GroupedSums, windows: Windows) -> RewardSums:
    def summed(table: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.add.reduceat(table, windows.first_block[:-1], axis=0) if len(table) else table

    table = grouped.by_block
    return RewardSums(*(summed(part) for part in (table.count, table.total, table.squares, table.missing)))
