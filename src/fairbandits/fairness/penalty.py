"""The paper's fairness penalty."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairbandits.fairness.rewards import GroupRewards

Floats = NDArray[np.float64]


def arm_penalty(groups: GroupRewards, rows: NDArray[np.int64]) -> Floats:
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
    penalty = np.zeros(rows.size)
    leaders = groups.leaders()
    for pair in leaders:
        if pair is not None:
            ahead, behind = pair
            penalty -= groups.arm_means(ahead, rows) - groups.arm_means(behind, rows)
    low, high = groups.reward_range
    return penalty / (max(len(leaders), 1) * (high - low))


def mapped_penalty(penalty: Floats, alpha: float, narrowest: Floats, gamma: float) -> Floats:
    """Map F_a to the scale of the confidence: `alpha * w_min / 2 * (F_a + 1) * gamma`.

    Examples
    --------
    >>> mapped_penalty(np.array([-1.0, 0.0, 1.0]), alpha=0.5, narrowest=np.array([0.2]), gamma=3.0).round(9)
    array([0.  , 0.15, 0.3 ])
    """
    return alpha * narrowest / 2.0 * (penalty + 1.0) * gamma
