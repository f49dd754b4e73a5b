"""The paper's fairness penalty."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fairbandits.fairness.rewards import GroupRewards

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# A pair of groups of which neither received anything: no bias.
_NOBODY = [(-1, -1)]


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
    leaders = groups.leaders()
    low, high = groups.reward_range
    pairs = np.array([pair for pair in leaders if pair is not None] or _NOBODY, np.int64)
    return _penalty(groups.arm_means, rows, pairs, low, max(len(leaders), 1) * (high - low))


@njit(cache=True, nogil=True)
def _penalty(means: Floats, rows: Ints, pairs: Ints, lowest: float, scale: float) -> Floats:
    """Sum up over pairs of groups how much more each arm gave the second; group -1 received nothing."""
    penalty = np.zeros(rows.size)
    for p in range(len(pairs)):
        ahead, behind = pairs[p]
        for a in range(rows.size):
            penalty[a] -= means[ahead, rows[a]] if ahead >= 0 else lowest
            penalty[a] += means[behind, rows[a]] if behind >= 0 else lowest
    return penalty / scale


@njit(cache=True, nogil=True)
def mapped_penalty(penalty: Floats, alpha: float, width: Floats, gamma: float) -> Floats:
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
    >>> mapped_penalty(F, alpha=0.5, width=np.array([[0.2, 0.9, 0.4]]), gamma=3.0).round(9)
    array([[0.  , 0.15, 0.3 ]])
    """
    mapped = np.empty_like(width)
    for user in range(len(width)):
        scale = alpha * width[user].min() / 2.0
        for a in range(penalty.size):
            mapped[user, a] = scale * (penalty[a] + 1.0) * gamma
    return mapped
