"""The paper's fairness penalty."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairbandits.fairness.group_rewards import GroupRewards
from fairbandits.jit import helper, kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Means that are equal in theory may differ in their last digits, depending on the order of the rewards; sign(0) is
# 0.
_EQUAL = 1e-12


def arm_penalty(groups: GroupRewards, arms: Ints) -> Floats:
    """Compute F_a in [-1, 1]: negative for an arm that gave more to the advantaged group.

    With two groups this is `-sign(mean(s+) - mean(s-)) * (mean_a(s+) - mean_a(s-))` of the paper. With more
    groups, the group with the highest mean takes the place of s+, and the group with the lowest mean that of s-.
    The result is averaged over attributes.

    Parameters
    ----------
    groups : GroupRewards
        The groups' rewards so far.
    arms : array of int
        The numbers of the arms on offer, -1 for an arm without rewards.
    """
    low, high = groups.reward_range
    return _penalty(groups.means, groups.attribute_of, groups.arm_means, arms, low, high - low)


@kernel()
def _penalty(
    means: Floats, attribute_of: Ints, arm_means: Floats, arms: Ints, lowest: float, span: float
) -> Floats:
    penalty = np.zeros(arms.size)
    n_attributes = 1
    for group in range(attribute_of.size):
        if attribute_of[group] >= n_attributes:
            n_attributes = attribute_of[group] + 1
    for attribute in range(n_attributes):
        best, worst = _extremes(means, attribute_of, attribute, lowest, _EQUAL * span)
        if best >= 0:
            for a in range(arms.size):
                penalty[a] -= arm_means[best, arms[a]]
                penalty[a] += arm_means[worst, arms[a]] if worst >= 0 else lowest
    for a in range(arms.size):
        penalty[a] /= n_attributes * span
    return penalty


@helper()
def _extremes(means: Floats, attribute_of: Ints, attribute: int, lowest: float, equal: float) -> tuple[int, int]:
    """Find the groups with the highest and the lowest mean; -1 for both if they are equal.

    Means are taken literally: a group without rewards has the lowest mean. An attribute has at least two values;
    while only one has been seen, -1 stands for the lowest group, which has no rewards.
    """
    best = worst = -1
    n_groups = 0
    for group in range(means.size):
        if attribute_of[group] == attribute:
            n_groups += 1
            if best < 0 or means[group] > means[best]:
                best = group
            if worst < 0 or means[group] < means[worst]:
                worst = group
    if n_groups == 0:
        return -1, -1
    if n_groups == 1:
        worst = -1
    least = means[worst] if worst >= 0 else lowest
    return (best, worst) if means[best] - least > equal else (-1, -1)


@kernel()
def scaled_penalty(penalty: Floats, alpha: float, width: Floats, gamma: float) -> Floats:
    """Scale F_a to each user's confidence widths: `alpha * w_min / 2 * (F_a + 1) * gamma`.

    Parameters
    ----------
    penalty : array of shape (n_arms,)
        F_a.
    alpha : float
        The weight of the width.
    width : array of shape (n_users, n_arms)
        The widths; w_min is the smallest of each user.
    gamma : float
        The weight of fairness.

    Examples
    --------
    >>> F = np.array([-1.0, 0.0, 1.0])
    >>> scaled_penalty(F, alpha=0.5, width=np.array([[0.2, 0.9, 0.4]]), gamma=3.0).round(9)
    array([[0.  , 0.15, 0.3 ]])
    """
    scaled = np.empty(width.shape)
    for user in range(width.shape[0]):
        smallest = width[user, 0]
        for a in range(penalty.size):
            if width[user, a] < smallest:
                smallest = width[user, a]
        for a in range(penalty.size):
            scaled[user, a] = alpha * smallest / 2.0 * (penalty[a] + 1.0) * gamma
    return scaled
