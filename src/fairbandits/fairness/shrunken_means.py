"""Means of groups without what chance adds: a small group is drawn towards the others.

The lowest of many measured means is low by chance, the lower the smaller the groups are. A policy that closed the
gap to it would level everybody down to a number that is not there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairbandits.fairness.group_rewards import GroupRewards
from fairbandits.jit import helper, kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def shrunken_means(groups: GroupRewards) -> Floats:
    """Estimate the groups' means, given that those of one attribute differ by chance as well.

    Let the true means of the groups of an attribute vary around their mean m with variance t, and let a measured
    one, of n rewards, differ from its true mean with variance v / n. The estimate of the true one is

        m + t / (t + v / n) * (measured mean - m)

    where v is the variance of rewards within groups, t is estimated from how much more the measured means vary
    than chance explains (DerSimonian and Laird: Meta-analysis in clinical trials, 1986), and m is the mean with
    weights 1 / (t + v / n). Where chance explains all of the variation, t is 0, and all groups have the same
    estimate. With two groups, a difference d with standard error s becomes d - s**2 / d, or 0 if it is below s.

    Parameters
    ----------
    groups : GroupRewards
        The groups' rewards so far. A group without rewards keeps its mean, which is the lowest reward.

    Examples
    --------
    >>> groups = GroupRewards()
    >>> for reward in (0.4, 0.6) * 50:
    ...     groups.add(reward, "female")
    ...     groups.add(reward + 0.2, "male")
    >>> groups.add(0.2, "other")
    >>> groups.means.round(2), shrunken_means(groups).round(2)
    (array([0.5, 0.7, 0.2]), array([0.5 , 0.7 , 0.31]))
    """
    low, high = groups.reward_range
    record = groups.means, groups.counts, groups.deviations, groups.attribute_of
    return _shrunken_means(*record, high - low)


@kernel()
def _shrunken_means(means: Floats, counts: Floats, deviations: Floats, attribute_of: Ints, span: float) -> Floats:
    shrunken = means.copy()
    n_attributes = 0
    for group in range(attribute_of.size):
        if attribute_of[group] >= n_attributes:
            n_attributes = attribute_of[group] + 1
    for attribute in range(n_attributes):
        _shrink(shrunken, counts, deviations, attribute_of == attribute, span)
    return shrunken


@helper()
def _shrink(means: Floats, counts: Floats, deviations: Floats, counted: NDArray[np.bool_], span: float) -> None:
    """Shrink the means of some groups, in place."""
    n_groups, n, squares, total, within = 0, 0.0, 0.0, 0.0, 0.0
    for group in range(means.size):
        if counted[group] and counts[group] > 0.0:
            n_groups += 1
            n += counts[group]
            squares += counts[group] ** 2
            total += counts[group] * means[group]
            within += deviations[group]
    if n_groups < 2:
        return
    # As if there were one more reward, as far from the mean as can be: a few equal ones do not show certainty.
    variance = (within + span**2 / 4.0) / (n - n_groups + 1.0)
    excess = -(n_groups - 1.0) * variance
    for group in range(means.size):
        if counted[group] and counts[group] > 0.0:
            excess += counts[group] * (means[group] - total / n) ** 2
    between = max(excess / (n - squares / n), 0.0)
    centre, weights = 0.0, 0.0
    for group in range(means.size):
        if counted[group] and counts[group] > 0.0:
            weight = 1.0 / (between + variance / counts[group])
            centre += weight * means[group]
            weights += weight
    centre /= weights
    for group in range(means.size):
        if counted[group] and counts[group] > 0.0:
            means[group] = centre + between / (between + variance / counts[group]) * (means[group] - centre)
