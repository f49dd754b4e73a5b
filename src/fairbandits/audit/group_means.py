"""The mean rewards of groups with cluster-robust variances: of the whole log, and of each window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.grouped_sums import GroupedSums, RewardSums
from fairbandits.audit.unit_sums import UnitSums
from fairbandits.audit.unit_table import COUNT, Floats, UnitTable
from fairbandits.statistics.clusters import ClusterMeans, cluster_means, row_means


@dataclass(frozen=True, eq=False)
class GroupMeansOverTime:
    """Mean rewards in units of the reward range. Without a user column, decisions count as users.

    Attributes
    ----------
    whole : ClusterMeans of shape (groups,)
        Over the whole log.
    windows : ClusterMeans of shape (windows, groups)
        In each window.
    missing : ClusterMeans of shape (groups,)
        The share of missing rewards.
    unknown : RewardSums of shape (windows,)
        The rewards of users of unknown group in each window.
    unknown_in_windows : array of shape (windows,)
        The number of users of unknown group who have a reward in each window.
    users, unknown_users, shared_users : int
        The number of all users, of users whose group is unknown, and of users who appear in several groups.
    """

    whole: ClusterMeans
    windows: ClusterMeans
    missing: ClusterMeans
    unknown: RewardSums
    unknown_in_windows: Floats
    users: int
    unknown_users: int
    shared_users: int


def group_means(grouped: GroupedSums, units: UnitSums) -> GroupMeansOverTime:
    """Compute the means of groups; without a user column, rows are independent."""
    span = grouped.reward_range[1] - grouped.reward_range[0]
    by_window, unknown = _by_window(grouped, units)
    if units.has_users:
        return _from_units(grouped, units, by_window, unknown)
    overall = grouped.overall
    n = overall.count + overall.missing
    n_unknown = float(grouped.unknown.count + grouped.unknown.missing)
    return GroupMeansOverTime(
        row_means(overall.count, overall.total / span, overall.squares / span**2),
        row_means(by_window.count, by_window.total / span, by_window.squares / span**2),
        row_means(n, overall.missing, overall.missing),
        unknown,
        unknown.count,
        int(n.sum() + n_unknown),
        int(n_unknown),
        0,
    )


def _from_units(
    grouped: GroupedSums, units: UnitSums, by_window: RewardSums, unknown: RewardSums
) -> GroupMeansOverTime:
    span = grouped.reward_range[1] - grouped.reward_range[0]
    shards = sums_of_users(grouped, units)
    overall = grouped.overall
    has_reward = [each.sums[each.group < 0, :-1, COUNT] > 0 for each in shards]
    return GroupMeansOverTime(
        cluster_means([(each.whole, each.group) for each in shards], overall.squares[None], span)[0],
        cluster_means([(each.sums, each.group) for each in shards], by_window.squares, span),
        cluster_means([(each.decisions, each.group) for each in shards], overall.missing[None])[0],
        unknown,
        np.sum([each.sum(axis=0) for each in has_reward], axis=0).astype(float),
        units.n_users,
        sum(int((each.group < 0).sum()) for each in shards),
        sum(each.n_shared for each in shards),
    )


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
    n_shared : int
        The number of users who appear in several groups; such a user has one entry in each of them.
    """

    group: NDArray[np.int64]
    sums: Floats
    missing: Floats
    n_shared: int

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
    """Return the sums of each shard of users; the units of a user in the same group are added up."""
    group_of = grouped.groups_of(units.combinations)
    is_single = units.n_users == sum(len(table.units) for table in units.shards)
    return [_merged_units(table, group_of, is_single) for table in units.shards]


def _merged_units(table: UnitTable, group_of: NDArray[np.int64], is_single: bool) -> UserSums:
    group, users = group_of[table.units.combinations], table.units.users
    if is_single or not len(group):
        return UserSums(group, table.sums, table.missing, 0)
    order = np.lexsort((group, users))
    is_new_user = np.append(True, users[order][1:] != users[order][:-1])
    is_new = is_new_user | np.append(True, group[order][1:] != group[order][:-1])
    starts = np.flatnonzero(is_new)
    sums, missing = (np.add.reduceat(array[order], starts, axis=0) for array in (table.sums, table.missing))
    group = group[order][starts]
    # All but the first of a user's rows here are further groups; an unknown group comes first.
    n_groups = np.bincount(np.cumsum(is_new_user[starts])[group >= 0])
    return UserSums(group, sums, missing, int((n_groups > 1).sum()))


def _by_window(grouped: GroupedSums, units: UnitSums) -> tuple[RewardSums, RewardSums]:
    """Return the sums of each group in each window, and those of users of unknown group."""
    group = grouped.groups_of(units.combinations)[: units.by_window.shape[1]]
    table = np.zeros((len(units.by_window) - 1, len(grouped.labels) + 1, 4))
    # The unknown group has number -1, and therefore the last column.
    np.add.at(table.swapaxes(0, 1), group, units.by_window[:-1].swapaxes(0, 1))
    return RewardSums.from_table(table[:, :-1]), RewardSums.from_table(table[:, -1])
