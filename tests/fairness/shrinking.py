"""Shrunken means after Paule and Mandel, written as in a textbook."""

import numpy as np
from scipy.optimize import brentq

from fairbandits import GroupRewards


def record(rewards, arm=None):
    """Make a record from lists of rewards by group."""
    groups = GroupRewards()
    for group, values in rewards.items():
        for value in values:
            groups.add(value, group, arm)
    return groups


def variance_by_hand(lists, span=1.0):
    """Return the variance within groups, with the largest possible one as that of one more reward."""
    within = sum(np.sum((values - np.mean(values)) ** 2) for values in lists)
    return (within + (span / 2) ** 2) / (sum(map(len, lists)) - len(lists) + 1)


def shrunken_by_hand(rewards, span=1.0):
    """Return the shrunken means of groups with rewards."""
    lists = {group: np.array(values) for group, values in rewards.items() if len(values)}
    means = np.array([values.mean() for values in lists.values()])
    if len(lists) < 2:
        return dict(zip(lists, means, strict=True))
    errors = variance_by_hand(lists.values(), span) / np.array([values.size for values in lists.values()])

    def excess(tau2):
        weights = 1 / (tau2 + errors)
        return np.sum(weights * (means - np.average(means, weights=weights)) ** 2) - (means.size - 1)

    tau2 = brentq(excess, 0.0, 10 * span**2, xtol=1e-16, rtol=1e-14) if excess(0.0) > 0.0 else 0.0
    centre = np.average(means, weights=1 / (tau2 + errors))
    return dict(zip(lists, centre + tau2 / (tau2 + errors) * (means - centre), strict=True))


def standard_error_by_hand(groups):
    """Return the standard error of the difference of two groups' means."""
    variance = (groups.squared_deviations.sum() + 0.25) / (groups.counts.sum() - 1)
    return np.sqrt(variance * np.sum(1 / groups.counts))
