"""What holds a tolerated difference: whoever is ahead by more pays it back, soon and no faster than needed.

A lead that has lasted for n rounds is worth n times as much reward, so it is paid back in a given number of rounds
by giving up n / patience times as much in each of them. That depends on nothing but the record of who got what: it
does not fade as predictions become sure, and leaves no dial to tune but how much is tolerated.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fairbandits.fairness.group_rewards import GroupRewards
from fairbandits.fairness.groups import GroupKey

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# The bias of an arm that a group received once says little; that of one it never received says nothing.
_FEW = 2.0


def group_debt(groups: GroupRewards, key: GroupKey, aim: float, patience: float) -> float:
    """Compute how much reward a user is to give up now, because a group of theirs is ahead by more than `aim`.

    Parameters
    ----------
    groups : GroupRewards
        Who got what so far.
    key : pairs of attribute and value
        The user's groups; the one that owes most counts.
    aim : float
        The lead that is left alone.
    patience : float
        In how many rounds a debt is to be paid back.

    Examples
    --------
    >>> groups = GroupRewards()
    >>> for _ in range(10):
    ...     groups.add(0.5, group="female")
    ...     groups.add(0.8, group="male")
    >>> round(group_debt(groups, (("group", "male"),), aim=0.1, patience=20.0), 9)
    0.1
    >>> group_debt(groups, (("group", "female"),), aim=0.1, patience=20.0)
    0.0
    """
    record = groups.means, groups.counts, groups.attribute_of
    return max((_debt(*record, number, aim, patience)[0] for number in groups.numbers_of(key)), default=0.0)


@njit(cache=True, nogil=True)
def _debt(
    means: Floats, counts: Floats, attribute_of: Ints, group: int, aim: float, patience: float
) -> tuple[float, int]:
    """Find what a group owes, and which group it owes most to; -1 where it owes nothing."""
    most, behind = 0.0, -1
    for other in range(means.size):
        if attribute_of[other] == attribute_of[group]:
            # A group without rewards has no mean to lag behind with: its rounds are 0, and so is the debt.
            owed = (means[group] - means[other] - aim) * min(counts[group], counts[other]) / patience
            if owed > most:
                most, behind = owed, other
    return most, behind


def arm_correction(groups: GroupRewards, rows: Ints, aim: float, patience: float) -> Floats:
    """Compute what draws all users to arms that gave more to a group that lags behind by more than `aim`.

    For each attribute the pair of groups with the largest debt counts, and an arm gets the share (1 + bias) / 2 of
    it, where the bias is how much more the arm gave the group behind than the group ahead, as a part of the range
    of rewards. That is the paper's penalty; but it is as large as the debt, not as the widths, which fade; and the
    bias of arms that one of the groups hardly knows counts for little, where the paper takes it literally.

    Parameters
    ----------
    groups : GroupRewards
        Who got what so far.
    rows : array of int
        The rows of the arms on offer, -1 for an arm that nobody received yet.
    aim, patience : float
        As in `group_debt`.
    """
    low, high = groups.reward_range
    record = groups.means, groups.counts, groups.attribute_of, groups.arm_means, groups.arm_counts
    return _pull(*record, rows, aim, patience, high - low)


@njit(cache=True, nogil=True)
def _pull(
    means: Floats,
    counts: Floats,
    attribute_of: Ints,
    arm_means: Floats,
    arm_counts: Floats,
    rows: Ints,
    aim: float,
    patience: float,
    span: float,
) -> Floats:
    pull = np.zeros(rows.size)
    attributes = attribute_of.max() + 1 if attribute_of.size > 0 else 0
    for attribute in range(attributes):
        debt, ahead, behind = 0.0, -1, -1
        for group in range(means.size):
            if attribute_of[group] == attribute:
                owed, other = _debt(means, counts, attribute_of, group, aim, patience)
                if owed > debt:
                    debt, ahead, behind = owed, group, other
        if ahead >= 0:
            for a in range(rows.size):
                row = rows[a]
                known = min(arm_counts[ahead, row], arm_counts[behind, row])
                bias = (arm_means[behind, row] - arm_means[ahead, row]) / span * known / (known + _FEW)
                pull[a] += debt * (1.0 + bias) / 2.0
    return pull
