"""Terms that keep the reward gap within a tolerance: a group that is ahead by more pays its lead back.

A lead that has lasted for n rounds is worth n times as much reward. It is paid back in a given number of rounds by
giving up n / patience times as much in each of them. That depends on the group record alone: it does not fade as
predictions become certain, and leaves nothing to tune but the tolerance. The part of a lead that chance
explains is not paid back.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairbandits.fairness.group_rewards import GroupRewards
from fairbandits.fairness.groups import GroupKey
from fairbandits.fairness.shrunken_means import shrunken_means
from fairbandits.jit import helper, kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# The bias of an arm that a group received once says little; that of one it never received says nothing.
_FEW = 2.0


def group_debt(groups: GroupRewards, key: GroupKey, aim: float, patience: float) -> float:
    """Compute how much reward a user gives up now, because a group of theirs is ahead by more than `aim`.

    The lead of a group over another counts as the smaller of two differences: that of the measured means, and
    that of the shrunken means, which lacks what chance explains (`shrunken_means`). Let it exceed the aim by c,
    and let n be the smaller of both numbers of rounds. The debt is c n / patience, or 0 if c is negative.

    Let m be the mean of the other group, e >= c the excess of the measured lead over the aim, and n_A the rounds
    of the group itself. If its next user would receive m + aim + s and gives up a debt D, the excess becomes

        e - (e + D - s) / (n_A + 1)

    With two groups, e - c is at most the standard error of the lead as `shrunken_means` estimates it. So the lead
    falls towards at most aim + s / (1 + n / patience) + standard error, and to the aim itself as both groups are
    served. With K groups that are alike but one, the part that does not count can reach about sqrt(K / 2) standard
    errors. All this assumes that predictions are right and that some arm gives up just the debt; `EvenLinUCB`
    gives up the debt or less.

    Parameters
    ----------
    groups : GroupRewards
        The groups' rewards so far.
    key : pairs of attribute and value
        The user's groups; the one that owes most counts.
    aim : float
        The lead that is left alone.
    patience : float
        The number of rounds in which a debt is paid back.

    Examples
    --------
    >>> groups = GroupRewards()
    >>> for _ in range(100):
    ...     groups.add(0.5, group="female")
    ...     groups.add(0.8, group="male")
    >>> round(group_debt(groups, (("group", "male"),), aim=0.1, patience=100.0), 3)
    0.2
    >>> group_debt(groups, (("group", "female"),), aim=0.1, patience=100.0)
    0.0
    """
    with groups.lock:
        record = groups.means, shrunken_means(groups), groups.counts, groups.attribute_of
        numbers = groups.numbers_of(key)
        return max((_debt_of(*record, number, aim, patience) for number in numbers), default=0.0)


@helper()
def _debt(
    means: Floats, shrunken: Floats, counts: Floats, attribute_of: Ints, group: int, aim: float, patience: float
) -> tuple[float, int]:
    """Find what a group owes, and the group it owes most to; -1 where it owes nothing."""
    most, creditor = 0.0, -1
    for other in range(means.size):
        if attribute_of[other] == attribute_of[group]:
            # A group without rewards has no mean to be behind with: its rounds are 0, and so is the debt.
            rounds = counts[group] if counts[group] < counts[other] else counts[other]
            lead = min(means[group] - means[other], shrunken[group] - shrunken[other])
            owed = (lead - aim) * rounds / patience
            if owed > most:
                most, creditor = owed, other
    return most, creditor


@kernel()
def _debt_of(
    means: Floats, shrunken: Floats, counts: Floats, attribute_of: Ints, group: int, aim: float, patience: float
) -> float:
    return _debt(means, shrunken, counts, attribute_of, group, aim, patience)[0]


def arm_correction(groups: GroupRewards, arms: Ints, aim: float, patience: float) -> Floats:
    """Compute a term that favours arms that gave more to a group that is behind by more than `aim`.

    For each attribute the pair of groups with the largest debt counts, and an arm gets the share (1 + bias) / 2 of
    it, where the bias is how much more the arm gave the group behind than the group ahead, as a share of the
    reward range. This is the paper's penalty; but it is as large as the debt, not as the widths, which fade; and
    the bias of an arm that one of the groups hardly received counts for little, where the paper takes it
    literally.

    Parameters
    ----------
    groups : GroupRewards
        The groups' rewards so far.
    arms : array of int
        The numbers of the arms on offer, -1 for an arm without rewards.
    aim, patience : float
        As in `group_debt`.
    """
    low, high = groups.reward_range
    with groups.lock:
        totals = groups.means, shrunken_means(groups), groups.counts, groups.attribute_of
        return _correction(*totals, groups.arm_means, groups.arm_counts, arms, aim, patience, high - low)


@kernel()
def _correction(
    means: Floats,
    shrunken: Floats,
    counts: Floats,
    attribute_of: Ints,
    arm_means: Floats,
    arm_counts: Floats,
    arms: Ints,
    aim: float,
    patience: float,
    span: float,
) -> Floats:
    correction = np.zeros(arms.size)
    n_attributes = 0
    for group in range(attribute_of.size):
        if attribute_of[group] >= n_attributes:
            n_attributes = attribute_of[group] + 1
    for attribute in range(n_attributes):
        debt, ahead, behind = 0.0, -1, -1
        for group in range(means.size):
            if attribute_of[group] == attribute:
                owed, creditor = _debt(means, shrunken, counts, attribute_of, group, aim, patience)
                if owed > debt:
                    debt, ahead, behind = owed, group, creditor
        if ahead >= 0:
            for a in range(arms.size):
                arm = arms[a]
                n = arm_counts[ahead, arm]
                if arm_counts[behind, arm] < n:
                    n = arm_counts[behind, arm]
                bias = (arm_means[behind, arm] - arm_means[ahead, arm]) / span * n / (n + _FEW)
                correction[a] += debt * (1.0 + bias) / 2.0
    return correction
