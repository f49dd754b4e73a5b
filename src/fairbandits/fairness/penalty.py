"""The paper's fairness penalty."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fairbandits.fairness.group_rewards import GroupRewards

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Means that are equal on paper differ in their last digits, by the order of the rewards; sign(0) is 0.
LEVEL = 1e-12


def arm_penalty(groups: GroupRewards, rows: Ints) -> Floats:
    """Compute F_a in [-1, 1]: below 0 for an arm that gave more to the group that is ahead.

    With two groups this is `-sign(mean(s+) - mean(s-)) * (mean_a(s+) - mean_a(s-))` of the paper. With more,
    the group ahead takes the place of s+ and the group behind that of s-; several attributes are averaged.

    Parameters
    ----------
    groups : GroupRewards
        Who got what so far.
    rows : array of int
        The rows of the arms on offer, -1 for an arm that nobody received yet.
    """
    low, high = groups.reward_range
    return _penalty(groups.means, groups.attribute_of, groups.arm_means, rows, low, high - low)


@njit(cache=True, nogil=True)
def _penalty(
    means: Floats,
    attribute_of: Ints,
    arm_means: Floats,
    rows: Ints,
    lowest: float,
    span: float,
) -> Floats:
    penalty = np.zeros(rows.size)
    n_attributes = 0
    for group in range(attribute_of.size):
        n_attributes = max(n_attributes, attribute_of[group] + 1)
    for attribute in range(n_attributes):
        ahead, behind = _leaders(means, attribute_of, attribute, lowest, LEVEL * span)
        if ahead >= 0:
            for a in range(rows.size):
                penalty[a] -= arm_means[ahead, rows[a]]
                penalty[a] += arm_means[behind, rows[a]] if behind >= 0 else lowest
    return penalty / (max(n_attributes, 1) * span)


@njit(cache=True, nogil=True)
def _leaders(means: Floats, attribute_of: Ints, attribute: int, lowest: float, level: float) -> tuple[int, int]:
    """Find the groups ahead and behind; -1 for ahead where they are level.

    Means are taken literally: a group without rewards has the lowest. An attribute has at least two values, so
    while a single one has been seen, the other stands for a group without rewards (-1 for behind).
    """
    ahead = behind = -1
    n_groups = 0
    for group in range(means.size):
        if attribute_of[group] == attribute:
            n_groups += 1
            if ahead < 0 or means[group] > means[ahead]:
                ahead = group
            if behind < 0 or means[group] < means[behind]:
                behind = group
    if n_groups == 1:
        behind = -1
    least = means[behind] if behind >= 0 else lowest
    return (ahead, behind) if means[ahead] - least > level else (-1, -1)


@njit(cache=True, nogil=True)
def scaled_penalty(penalty: Floats, alpha: float, width: Floats, gamma: float) -> Floats:
    """Map F_a to the scale of each user's confidence: `alpha * w_min / 2 * (F_a + 1) * gamma`.

    Parameters
    ----------
    penalty : array of shape (n_arms,)
        F_a.
    alpha : float
        What the width counts for.
    width : array of shape (n_users, n_arms)
        The widths; w_min is the smallest of each user.
    gamma : float
        What fairness counts for.

    Examples
    --------
    >>> F = np.array([-1.0, 0.0, 1.0])
    >>> scaled_penalty(F, alpha=0.5, width=np.array([[0.2, 0.9, 0.4]]), gamma=3.0).round(9)
    array([[0.  , 0.15, 0.3 ]])
    """
    mapped = np.empty_like(width)
    for user in range(len(width)):
        scale = alpha * width[user].min() / 2.0
        for a in range(penalty.size):
            mapped[user, a] = scale * (penalty[a] + 1.0) * gamma
    return mapped
