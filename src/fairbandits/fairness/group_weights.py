"""Weights of groups that counteract a gap, computed from the group record alone.

If a weight moves in every round by the step size times that round's contribution to a gap, it ends up at the step
size times the sum of all contributions. That sum is the number of rounds times the difference of the means. So no
weight has to be stored, and the weights are merged, restarted and saved with the record.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairbandits.fairness.group_rewards import GroupRewards
from fairbandits.fairness.groups import GroupKey

Floats = NDArray[np.float64]


def dual_prices(groups: GroupRewards, step: float, tolerance: float, highest: float) -> Floats:
    """Return the extra worth of a unit of each group's reward: negative for the advantaged group.

    The constraint of an attribute is that the gap between its groups is at most `tolerance`. Its price is `step *
    n * (gap - tolerance)`, where n is the number of rounds of the smaller group. This is dual ascent with a fixed
    step, in which the price is projected to [0, highest] when it is read (dual averaging, Nesterov 2009).

    Parameters
    ----------
    groups : GroupRewards
        The groups' rewards so far; groups without rewards do not count.
    step : float
        The step size of the price.
    tolerance : float
        The tolerated gap, in units of reward.
    highest : float
        The highest price.

    Examples
    --------
    >>> groups = GroupRewards()
    >>> for reward, group in ((0.9, "male"), (0.5, "female"), (0.7, "female")):
    ...     groups.add(reward, group)
    >>> dual_prices(groups, step=1.0, tolerance=0.1, highest=2.0).round(9)
    array([-0.2,  0.2])
    """
    prices = np.zeros(groups.means.size)
    for served in _served(groups):
        means = groups.means[served]
        ahead, behind = served[means.argmax()], served[means.argmin()]
        n = min(groups.counts[ahead], groups.counts[behind])
        over = (groups.means[ahead] - groups.means[behind] - tolerance) / _span(groups)
        price = min(max(step * n * over, 0.0), highest)
        prices[ahead] -= price
        prices[behind] += price
    return prices


def hedge_weights(groups: GroupRewards, step: float) -> Floats:
    """Return a weight for each group, which is larger for lower means and 1 on average within an attribute.

    Multiplicative weights (Freund and Schapire 1997): `exp(-step * n * mean)`, divided by the average over the
    groups of the attribute. Here n is the number of rounds of the smallest of these groups, so that sums over
    equally many rounds are compared.

    Parameters
    ----------
    groups : GroupRewards
        The groups' rewards so far. A group without rewards does not count, and has weight 1.
    step : float
        The step size of the weights.

    Examples
    --------
    >>> groups = GroupRewards()
    >>> for reward, group in ((0.9, "male"), (0.5, "female"), (0.7, "female")):
    ...     groups.add(reward, group)
    >>> hedge_weights(groups, step=1.0).round(3)
    array([0.851, 1.149])
    """
    weights = np.ones(groups.means.size)
    for served in _served(groups):
        means = groups.means[served]
        # With means measured from the lowest one, the largest weight is 1, and no sum overflows a float.
        raw = np.exp(-step * groups.counts[served].min() * (means - means.min()) / _span(groups))
        weights[served] = raw / raw.mean()
    return weights


def welfare_weights(groups: GroupRewards, aversion: float) -> Floats:
    """Return the gradient of the groups' alpha-fair welfare; 1 on average within an attribute.

    The weight of a group with mean reward u is `u^-aversion`, divided by the average over the groups of the
    attribute. Rewards are measured from the lowest possible one. One reward, equal to the mean of all rewards, is
    added to the rewards of each group, so that a single reward of 0 does not lead to an infinite weight.

    Parameters
    ----------
    groups : GroupRewards
        The groups' rewards so far. A group without rewards does not count, and has weight 1.
    aversion : float
        The aversion to inequality: 0 for equal weights, 1 for Nash welfare.

    Examples
    --------
    >>> groups = GroupRewards()
    >>> for reward, group in ((0.9, "male"), (0.5, "female"), (0.7, "female")):
    ...     groups.add(reward, group)
    >>> welfare_weights(groups, aversion=1.0).round(3)
    array([0.884, 1.116])
    """
    weights = np.ones(groups.means.size)
    for served in _served(groups):
        counts, sums = (
            groups.counts[served],
            groups.counts[served] * (groups.means[served] - groups.reward_range[0]),
        )
        overall = sums.sum() / counts.sum()
        if overall > 0.0:
            welfare = (sums + overall) / (counts + 1.0)
            # Relative to the lowest welfare, the largest weight is 1, and no power overflows a float.
            raw = (welfare / welfare.min()) ** -aversion
            weights[served] = raw / raw.mean()
    return weights


def per_user(values: Floats, groups: GroupRewards, keys: Sequence[GroupKey], unknown: float) -> Floats:
    """Return the value of each user's group, averaged over attributes, as a column."""
    numbers = [groups.numbers_of(key) for key in keys]
    return np.array([[values[known].mean() if known else unknown] for known in numbers])


def _served(groups: GroupRewards) -> list[NDArray[np.int64]]:
    """Return the numbers of groups with rewards, for each attribute with at least two of them."""
    has_some = groups.counts > 0.0
    attributes = range(len(groups.attributes))
    each = [np.flatnonzero(has_some & (groups.attribute_of == attribute)) for attribute in attributes]
    return [numbers for numbers in each if numbers.size > 1]


def _span(groups: GroupRewards) -> float:
    low, high = groups.reward_range
    return high - low
