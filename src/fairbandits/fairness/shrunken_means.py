"""Empirical-Bayes means of groups: small groups are drawn towards the others.

The lowest of many measured means is partly low by chance, especially if groups are small. A policy that closed the
gap to it would level everybody down to a level that is only noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairbandits.fairness.group_rewards import GroupRewards
from fairbandits.jit import helper, kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# The search for the variance between groups stops at this error of the sum of squares, or after so many steps.
_CLOSE = 1e-10
_MOST_STEPS = 100


def shrunken_means(groups: GroupRewards) -> Floats:
    """Return empirical-Bayes estimates of the groups' mean rewards.

    This is the random-effects model of meta-analysis. The true means of the groups of an attribute vary with
    variance t around m, and the measured mean of n rewards has variance v / n around the true mean, where v, the
    variance of rewards within groups, is the same for all. The estimate of the true mean is

        m + t / (t + v / n) * (measured mean - m)

    where m is the mean with weights w = 1 / (t + v / n), and t is such that the weighted squared deviations from m
    sum to the number of groups minus 1 (Paule and Mandel 1982, J. Res. Natl. Bur. Stand. 87); t is 0 where they
    sum to less even then: chance explains all differences, and all groups have the same estimate. v is the pooled
    variance, to which one more reward adds the largest variance that is possible, so that it is never 0.

    With two groups, a difference d with standard error s becomes d - s**2 / d, or 0 if it is below s. With more,
    one group among many that are alike is drawn to them more strongly.

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
    (array([0.5, 0.7, 0.2]), array([0.5 , 0.7 , 0.25]))
    """
    low, high = groups.reward_range
    with groups.lock:
        shrunken = groups.means.copy()
        n_attributes = int(groups.attribute_of.max(initial=-1)) + 1
        record = groups.counts, groups.squared_deviations, groups.attribute_of
        _shrink_all(shrunken, *record, n_attributes, (high - low) ** 2 / 4.0)
    return shrunken


@kernel()
def _shrink_all(
    means: Floats,
    counts: Floats,
    squared_deviations: Floats,
    attribute_of: Ints,
    n_attributes: int,
    largest_variance: float,
) -> None:
    """Replace the means by the estimates, one attribute after another."""
    for attribute in range(n_attributes):
        served = (attribute_of == attribute) & (counts > 0.0)
        n = counts[served]
        if n.size >= 2:
            squares = squared_deviations[served].sum() + largest_variance
            errors = squares / (n.sum() - n.size + 1.0) / n
            means[served] = _shrunken(means[served], errors)


@helper()
def _shrunken(means: Floats, errors: Floats) -> Floats:
    """Shrink means with squared standard errors.

    The sum of squares is y' (M + t I)^-1 y with contrasts y of the means, so that its reciprocal is concave in t,
    and nearly linear: Newton's method, applied to it from t = 0, comes close in a few steps, and never too far.
    """
    expected, between, shrunken = means.size - 1.0, 0.0, means
    for _ in range(_MOST_STEPS):
        weights = 1.0 / (between + errors)
        centre = (weights * means).sum() / weights.sum()
        shrunken = centre + between * weights * (means - centre)
        squares = (weights * (means - centre) ** 2).sum()
        if squares <= expected + _CLOSE:
            break
        slope = ((weights * (means - centre)) ** 2).sum()
        between += (squares / expected - 1.0) * squares / slope
    return shrunken
