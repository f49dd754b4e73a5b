"""Who gained how much, after the fact: the figures of the paper's tables, from arrays with one entry per round.

Where `group` is an array of groups, None marks a user whose group is not known; it counts for no group.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def utility_loss(best: Floats, reward: Floats) -> float:
    """Give the mean of what the best arm of each round would have given more than the reward that was got.

    Examples
    --------
    >>> round(utility_loss(np.array([0.9, 0.8]), np.array([0.9, 0.6])), 3)
    0.1
    """
    return float(np.mean(np.asarray(best) - np.asarray(reward)))


def group_means(values: Floats, group: NDArray[Any] | Sequence[Any]) -> dict[Any, float]:
    """Give the mean of each group's values, the groups in the order of their names.

    Examples
    --------
    >>> group_means(np.array([0.5, 1.0, 0.7, 0.2]), ["male", "female", "male", None])
    {'female': 1.0, 'male': 0.6}
    """
    groups = np.asarray(group, dtype=object)
    names = sorted({name for name in groups.tolist() if name is not None}, key=str)
    return {name: float(np.mean(np.asarray(values)[groups == name])) for name in names}


def reward_difference(reward: Floats, group: NDArray[Any] | Sequence[Any]) -> float:
    """Give how far apart the groups are: the highest mean reward of a group less the lowest.

    It is 0 where fewer than two groups came.

    Examples
    --------
    >>> round(reward_difference(np.array([0.5, 1.0, 0.7]), ["male", "female", "male"]), 3)
    0.4
    """
    means = group_means(reward, group).values()
    return max(means) - min(means) if means else 0.0


def worst_off_reward(reward: Floats, group: NDArray[Any] | Sequence[Any]) -> float:
    """Give the mean reward of the group that has least: a gap can also close because all get less.

    It is NaN where no group came.

    Examples
    --------
    >>> worst_off_reward(np.array([0.5, 1.0, 0.7]), ["male", "female", "male"])
    0.6
    """
    return min(group_means(reward, group).values(), default=float("nan"))


def group_regret(best: Floats, expected: Floats, group: NDArray[Any] | Sequence[Any]) -> dict[Any, float]:
    """Give each group's own regret per round: what it could have expected less what it could expect.

    Examples
    --------
    >>> regret = group_regret(np.array([1.0, 0.9]), np.array([0.8, 0.9]), ["male", "female"])
    >>> {name: round(value, 3) for name, value in regret.items()}
    {'female': 0.0, 'male': 0.2}
    """
    return group_means(np.asarray(best) - np.asarray(expected), group)


def cumulative_mean(values: Floats, member: NDArray[np.bool_] | None = None) -> Floats:
    """Give the running mean after each round, of the rounds that count; NaN before the first of them.

    Examples
    --------
    >>> cumulative_mean(np.array([1.0, 0.0, 0.5]))
    array([1. , 0.5, 0.5])
    >>> cumulative_mean(np.array([1.0, 0.0, 0.5]), np.array([False, True, True]))
    array([ nan, 0.  , 0.25])
    """
    counted = np.ones(len(values), bool) if member is None else np.asarray(member, bool)
    count = np.cumsum(counted)
    total = np.cumsum(np.where(counted, values, 0.0))
    means = np.full(len(total), np.nan)
    np.divide(total, count, out=means, where=count > 0)
    return means
