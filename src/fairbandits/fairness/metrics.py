"""Fairness metrics of finished runs, from arrays with one entry per round.

In `group`, None marks a user of unknown group, who counts for no group.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def utility_loss(best: Floats, reward: Floats) -> float:
    """Return the mean shortfall of the reward from that of the best arm of each round.

    Examples
    --------
    >>> round(utility_loss(np.array([0.9, 0.8]), np.array([0.9, 0.6])), 3)
    0.1
    """
    return float(np.mean(np.asarray(best) - np.asarray(reward)))


def group_means(values: Floats, group: NDArray[Any] | Sequence[Any]) -> dict[Any, float]:
    """Return the mean of each group's values, sorted by the name of the group.

    Examples
    --------
    >>> group_means(np.array([0.5, 1.0, 0.7, 0.2]), ["male", "female", "male", None])
    {'female': 1.0, 'male': 0.6}
    """
    groups = np.asarray(group, dtype=object)
    names = sorted({name for name in groups.tolist() if name is not None}, key=str)
    return {name: float(np.mean(np.asarray(values)[groups == name])) for name in names}


def reward_gap(reward: Floats, group: NDArray[Any] | Sequence[Any]) -> float:
    """Return the reward gap: the highest mean reward of a group minus the lowest; 0 for fewer than two groups.

    Examples
    --------
    >>> round(reward_gap(np.array([0.5, 1.0, 0.7]), ["male", "female", "male"]), 3)
    0.4
    """
    means = group_means(reward, group).values()
    return max(means) - min(means) if means else 0.0


def worst_off_reward(reward: Floats, group: NDArray[Any] | Sequence[Any]) -> float:
    """Return the mean reward of the worst-off group; NaN without groups.

    A gap can also close because everybody gets less; this shows it.

    Examples
    --------
    >>> worst_off_reward(np.array([0.5, 1.0, 0.7]), ["male", "female", "male"])
    0.6
    """
    return min(group_means(reward, group).values(), default=float("nan"))


def group_regret(best: Floats, expected: Floats, group: NDArray[Any] | Sequence[Any]) -> dict[Any, float]:
    """Return each group's regret per round: the expected reward of the best arm minus that of the chosen one.

    Examples
    --------
    >>> regret = group_regret(np.array([1.0, 0.9]), np.array([0.8, 0.9]), ["male", "female"])
    >>> {name: round(value, 3) for name, value in regret.items()}
    {'female': 0.0, 'male': 0.2}
    """
    return group_means(np.asarray(best) - np.asarray(expected), group)


def cumulative_mean(values: Floats, member: NDArray[np.bool_] | None = None) -> Floats:
    """Return the running mean after each round, over the rounds of `member`; NaN before the first of them.

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
