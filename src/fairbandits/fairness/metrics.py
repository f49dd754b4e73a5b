"""Fairness metrics of finished runs, from arrays with one entry per round.

Losses, regrets, gaps and mean rewards are computed from the true mean rewards of the chosen arms (`expected`),
without the noise that a policy saw. Applied to the observed rewards, the same functions estimate these quantities.

In `group`, None marks a user of unknown group, who is not counted in any group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Name = TypeVar("Name")

#: The smallest share of rounds for a group to be assessed; the means of smaller groups are mostly noise.
MIN_SHARE = 1 / 80


def assessed_groups(rounds: Mapping[Name, float]) -> list[Name]:
    """Return the groups of an attribute that have enough rounds to be assessed.

    A group needs 1/80 of the rounds of all groups; with more than 40 groups, it needs half of an average group's
    rounds.

    Examples
    --------
    >>> assessed_groups({"female": 490, "male": 500, "other": 10})
    ['female', 'male']
    """
    enough = min(MIN_SHARE, 0.5 / max(len(rounds), 1)) * sum(rounds.values())
    return [name for name, n in rounds.items() if n >= enough]


def utility_loss(best: Floats, expected: Floats) -> float:
    """Return the mean shortfall of the chosen arm's expected reward from that of the best arm in each round.

    Examples
    --------
    >>> round(utility_loss(np.array([0.9, 0.8]), np.array([0.9, 0.6])), 3)
    0.1
    """
    return float(np.mean(np.asarray(best) - np.asarray(expected)))


def group_means(values: Floats, group: NDArray[Any] | Sequence[Any]) -> dict[Any, float]:
    """Return the mean of each group's values, sorted by the name of the group.

    Examples
    --------
    >>> group_means(np.array([0.5, 1.0, 0.7, 0.2]), ["male", "female", "male", None])
    {'female': 1.0, 'male': 0.6}
    """
    names, codes = _factorise(group)
    known = codes >= 0
    totals = np.bincount(codes[known], np.asarray(values, np.float64)[known], len(names))
    return dict(zip(names, (totals / np.bincount(codes[known], minlength=len(names))).tolist(), strict=True))


def group_rounds(group: NDArray[Any] | Sequence[Any]) -> dict[Any, int]:
    """Return the number of rounds of each group, sorted by the name of the group.

    Examples
    --------
    >>> group_rounds(["male", "female", "male", None])
    {'female': 1, 'male': 2}
    """
    names, codes = _factorise(group)
    return dict(zip(names, np.bincount(codes[codes >= 0], minlength=len(names)).tolist(), strict=True))


def _factorise(group: NDArray[Any] | Sequence[Any]) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the sorted names of the groups, and the number of each round's group; -1 for an unknown group."""
    values = group.tolist() if isinstance(group, np.ndarray) else list(group)
    names = sorted({name for name in values if name is not None}, key=str)
    number = {name: index for index, name in enumerate(names)}
    return names, np.array([number.get(value, -1) for value in values], np.int64)


def _assessed_means(reward: Floats, group: NDArray[Any] | Sequence[Any]) -> list[float]:
    means = group_means(reward, group)
    return [means[name] for name in assessed_groups(group_rounds(group))]


def reward_gap(reward: Floats, group: NDArray[Any] | Sequence[Any]) -> float:
    """Return the reward gap: the highest mean reward of an assessed group minus the lowest.

    The gap of fewer than two groups is 0. Groups with hardly any rounds do not count (`assessed_groups`).

    Examples
    --------
    >>> round(reward_gap(np.array([0.5, 1.0, 0.7]), ["male", "female", "male"]), 3)
    0.4
    """
    means = _assessed_means(reward, group)
    return max(means) - min(means) if means else 0.0


def worst_off_reward(reward: Floats, group: NDArray[Any] | Sequence[Any]) -> float:
    """Return the lowest mean reward of an assessed group; NaN without groups.

    A gap can also close because all groups receive less; this metric shows it.

    Examples
    --------
    >>> worst_off_reward(np.array([0.5, 1.0, 0.7]), ["male", "female", "male"])
    0.6
    """
    return min(_assessed_means(reward, group), default=float("nan"))


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
