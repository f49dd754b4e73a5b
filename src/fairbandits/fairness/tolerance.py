"""Terms that keep the reward gap within a tolerance: a group that is ahead by more than that pays its lead back.

A lead of c in the mean reward that has lasted for n rounds amounts to c n in total. It is paid back over
`patience` rounds by giving up c n / patience in each of them. This amount depends on the group record alone: it
does not fade as predictions become certain, and leaves nothing to tune but the tolerance.

The part of a lead that may be chance is not paid back. The lowest of many measured means is partly low by chance,
especially if groups are small: a policy that closed the gap to this mean would level everybody down because of
mere noise.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairbandits.fairness.group_rewards import GroupRewards
from fairbandits.fairness.groups import GroupKey
from fairbandits.jit import helper, kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# The bias of an arm says little if a group has received the arm only once, and nothing if the group has never
# received it.
_FEW = 2.0


class _Totals(NamedTuple):
    """The rewards of the groups, as the kernels take them; see `GroupRewards`."""

    means: Floats
    counts: Floats
    squared_deviations: Floats
    attribute_of: Ints
    largest_variance: float


def _totals_of(groups: GroupRewards) -> _Totals:
    """Return the arrays of a record. Its lock must be held until they have been used."""
    low, high = groups.reward_range
    return _Totals(
        groups.means, groups.counts, groups.squared_deviations, groups.attribute_of, (high - low) ** 2 / 4.0
    )


def group_debt(groups: GroupRewards, key: GroupKey, aim: float, patience: float) -> float:
    """Compute how much reward a user gives up now because one of their groups is ahead by more than `aim`.

    Let d be the lead of a group over another group in measured mean reward, and let s be the standard error of d.
    The variance used for each group is the larger of its own variance and the variance pooled within groups. Let z
    be the square root of 2 log(K - 1), where K is the number of groups of the attribute that have rewards, or 1 if
    that is larger. Only d - (z s)**2 / d of the lead counts, and nothing if d is below z s, because the rest may
    be chance. Let c be the counted lead minus the aim, and let n be the smaller of the two groups' numbers of
    rounds. The debt is c n / patience, or 0 if c is negative.

    Let m be the mean of the other group, let e >= c be the excess of d over the aim, and let n_A be the number of
    rounds of the leading group. If the next user in the leading group would receive m + aim + r and gives up a
    debt D, the excess becomes

        e - (e + D - r) / (n_A + 1)

    Because e - c is at most z s, the lead falls towards at most aim + r / (1 + n / patience) + z s, and to the aim
    itself as both groups continue to be served. This assumes that predictions are correct and that choosing some
    arm gives up exactly the debt; `EvenLinUCB` gives up the debt or less.

    Parameters
    ----------
    groups : GroupRewards
        The groups' rewards so far.
    key : pairs of attribute and value
        The user's groups; the group that owes the most counts.
    aim : float
        The lead that does not have to be paid back.
    patience : float
        The number of rounds over which a debt is paid back.

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
        totals = _totals_of(groups)
        return max((_debt_of(totals, group, aim, patience) for group in groups.numbers_of(key)), default=0.0)


@helper()
def _noise(totals: _Totals, attribute: int) -> tuple[float, float]:
    """Return the variance of rewards within the groups of an attribute, and the squared threshold for a lead.

    The variance is pooled over groups, together with one extra reward of the largest possible variance, so that
    the result is never 0. The threshold is measured in standard errors and is at least 1: a group is compared with
    m others, and the largest of m standard normal errors is about sqrt(2 log m) (the universal threshold of Donoho
    and Johnstone 1994).
    """
    n_groups, n, squares = 0, 0.0, totals.largest_variance
    for group in range(totals.counts.size):
        if totals.attribute_of[group] == attribute and totals.counts[group] > 0.0:
            n_groups += 1
            n += totals.counts[group]
            squares += totals.squared_deviations[group]
    if n_groups < 2:
        return 0.0, 1.0
    return squares / (n - n_groups + 1.0), max(1.0, 2.0 * math.log(n_groups - 1.0))


@helper()
def _counted_lead(totals: _Totals, group: int, other: int, variance: float, threshold: float) -> float:
    """Return how much of a group's lead over another group counts.

    For a lead d with standard error s, this is d - (z s)**2 / d, where z**2 is the threshold, or 0 if z s exceeds
    d (the non-negative garrote of Breiman 1995). A lead that is far above its standard error counts almost in
    full, whatever the other groups are like.
    """
    lead = totals.means[group] - totals.means[other]
    noise = threshold * (_squared_error(totals, group, variance) + _squared_error(totals, other, variance))
    return lead - noise / lead if lead > 0.0 and noise < lead * lead else 0.0


@helper()
def _squared_error(totals: _Totals, group: int, variance: float) -> float:
    """Return the squared standard error of a mean, from the larger of the group's own and the pooled variance."""
    n = totals.counts[group]
    own = totals.squared_deviations[group] / (n - 1.0) if n > 1.0 else 0.0
    error: float = max(own, variance) / n
    return error


@helper()
def _debt(
    totals: _Totals, group: int, aim: float, patience: float, variance: float, threshold: float
) -> tuple[float, int]:
    """Return how much a group owes, and the group to which it owes the most, or -1 if it owes nothing."""
    most, creditor = 0.0, -1
    for other in range(totals.counts.size):
        # A group without rewards has no mean, so it cannot be behind.
        rounds = min(totals.counts[group], totals.counts[other])
        if totals.attribute_of[other] == totals.attribute_of[group] and rounds > 0.0:
            owed = (_counted_lead(totals, group, other, variance, threshold) - aim) * rounds / patience
            if owed > most:
                most, creditor = owed, other
    return most, creditor


@kernel()
def _debt_of(totals: _Totals, group: int, aim: float, patience: float) -> float:
    variance, threshold = _noise(totals, totals.attribute_of[group])
    return _debt(totals, group, aim, patience, variance, threshold)[0]


def arm_correction(groups: GroupRewards, arms: Ints, aim: float, patience: float) -> Floats:
    """Compute a term that favours arms that gave more to a group that is behind by more than `aim`.

    For each attribute, the pair of groups with the largest debt counts, and an arm is credited with a share of
    that debt: (1 + bias) / 2. The bias is how much more reward the arm gave to the group that is behind than to
    the group that is ahead, as a share of the reward range. This is the paper's penalty, with two differences. The
    term is as large as the debt, whereas in the paper it is as large as the widths, which fade. The bias of an arm
    that one of the groups has hardly received counts for little, whereas the paper takes it literally.

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
        record = _totals_of(groups), groups.arm_means, groups.arm_counts
        return _correction(*record, arms, aim, patience, high - low)


@kernel()
def _correction(
    totals: _Totals, arm_means: Floats, arm_counts: Floats, arms: Ints, aim: float, patience: float, span: float
) -> Floats:
    correction = np.zeros(arms.size)
    n_attributes = 0
    for group in range(totals.attribute_of.size):
        n_attributes = max(n_attributes, totals.attribute_of[group] + 1)
    for attribute in range(n_attributes):
        variance, threshold = _noise(totals, attribute)
        debt, ahead, behind = 0.0, -1, -1
        for group in range(totals.attribute_of.size):
            if totals.attribute_of[group] == attribute:
                owed, creditor = _debt(totals, group, aim, patience, variance, threshold)
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
