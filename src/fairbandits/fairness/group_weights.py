"""Weights that move against a difference between groups, read off the group record alone.

A weight that is moved a little at every round, by that round's share in a difference, ends up at the step times
the sum of all the moves. That sum is the number of rounds times the difference of the means: so no weight has to
be kept, and weights merge, restart and survive in files as the record does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairbandits.fairness.group_rewards import GroupRewards
from fairbandits.fairness.groups import GroupKey

Floats = NDArray[np.float64]


def dual_prices(groups: GroupRewards, step: float, tolerance: float, highest: float) -> Floats:
    """Give each group what a unit of its reward is worth beyond itself: below 0 ahead, above 0 behind.

    The constraint of an attribute is that the group ahead has at most `tolerance` more than the group behind. Its
    price is `step * n * (gap - tolerance)`, where n are the rounds of the smaller of the two: dual ascent with a
    fixed step, projected to [0, highest] when it is read (dual averaging, Nesterov 2009).

    Parameters
    ----------
    groups : GroupRewards
        Who got what so far; groups without rewards do not count.
    step : float
        How fast the price rises.
    tolerance : float
        How large a difference is tolerated, in units of reward.
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
    """Give each group a weight, the larger the lower its mean; 1 on average within an attribute.

    Multiplicative weights (Freund and Schapire 1997): `exp(-step * n * mean)`, divided by the average of the
    groups of the attribute, where n are the rounds of the smallest of them, so that sums over as many rounds are
    compared.

    Parameters
    ----------
    groups : GroupRewards
        What each group got so far. One without rewards does not count, and has weight 1.
    step : float
        How fast the weights move.

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
        # Measured from the lowest mean the largest weight is 1, and no sum is too large for a float.
        raw = np.exp(-step * groups.counts[served].min() * (means - means.min()) / _span(groups))
        weights[served] = raw / raw.mean()
    return weights


def per_user(values: Floats, groups: GroupRewards, keys: Sequence[GroupKey], unknown: float) -> Floats:
    """Look up the value of each user's group, averaged over attributes; a column, one line per user."""
    numbers = [groups.numbers_of(key) for key in keys]
    return np.array([[values[known].mean() if known else unknown] for known in numbers])


def _served(groups: GroupRewards) -> list[NDArray[np.int64]]:
    """For each attribute with two groups or more that received something: their numbers."""
    has_some = groups.counts > 0.0
    attributes = range(len(groups.attributes))
    each = [np.flatnonzero(has_some & (groups.attribute_of == attribute)) for attribute in attributes]
    return [numbers for numbers in each if numbers.size > 1]


def _span(groups: GroupRewards) -> float:
    low, high = groups.reward_range
    return high - low
