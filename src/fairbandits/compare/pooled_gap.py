"""The reward gap over all seeds together, in which chance differences of small groups average out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from fairbandits.compare.oracle import pool
from fairbandits.compare.subgroups import Group, SubgroupMeans, reward_gap


class PooledGap(NamedTuple):
    """The gap between the groups' mean rewards over the rounds of all seeds.

    Attributes
    ----------
    value : float
        The gap.
    error : float or None
        Its standard error: the jackknife's over seeds; None with fewer than two.
    """

    value: float
    error: float | None


def pooled_gap(seeds: Sequence[SubgroupMeans], groups: Collection[Group]) -> PooledGap:
    """Compute the gap over all seeds together.

    The pooled gap differs from the mean of the seeds' gaps. In a single seed, the mean of a group with few rounds
    can be far above or far below the others by chance, and a gap counts both directions alike. So even a policy
    that treats all users the same has a mean gap well above 0, no matter how many seeds there are.
    """
    value = _gap(seeds, groups)
    n = len(seeds)
    if n < 2:
        return PooledGap(value, None)
    without = np.array([_gap([*seeds[:k], *seeds[k + 1 :]], groups) for k in range(n)])
    return PooledGap(value, float(np.sqrt((n - 1) * np.var(without))))


def _gap(seeds: Sequence[SubgroupMeans], groups: Collection[Group]) -> float:
    pooled = pool(seeds)
    return float(reward_gap(pooled.group_means(pooled.mean, groups)))
