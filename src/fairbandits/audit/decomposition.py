"""Kitagawa-Oaxaca-Blinder decomposition of a gap over arms into exposure and within-arm effects.

The gap between the mean rewards of two groups is a sum over arms of p1 m1 - p2 m2, where p is the share of a
group's rewards that came from the arm, and m the mean reward of the group from the arm. It splits exactly into two
effects (Kitagawa 1955; Oaxaca 1973 and Blinder 1973 for regressions):

    exposure effect     (p1 - p2) ((m1 + m2) / 2 - c)     one group was shown more of the arms better than c
    within-arm effect   (p1 + p2) / 2 (m1 - m2)           one group received more reward from the same arm

The shares of each group sum to one, so c does not change the sums over arms. It is the mean of the two groups'
mean rewards, so that more exposure to an arm counts as an advantage if and only if the arm is better than average.

An arm may have no rewards from one of the groups, in which case m1 - m2 is unknown:

- If chance alone explains this, because the group would have been expected to receive the arm fewer than five
  times (a *rare* arm), m1 - m2 is taken from arms that are equally rare and have rewards from both groups.
  Counting it as zero would shift part of the within-arm effect to the exposure effect: a third of it with two
  rewards per arm.
- Otherwise the arm was deliberately not shown to the group (a *one-sided* arm). The reward that the group would
  have received from it is unknown, so the entire contribution of the arm counts as an exposure effect.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# A group that would be expected to receive an arm this often, but never did, was deliberately not shown the arm.
_MIN_EXPECTED = 5.0
# Upper limits of the classes of arms by number of rewards; the arms of one class are taken to be equally rare.
_CLASS_ENDS = np.array([1.0, 2.0, 3.0, 5.0, 8.0, 13.0])
# A class in which fewer arms than this have rewards from both groups borrows from all arms instead.
_MIN_ARMS = 10


@dataclass(frozen=True, eq=False)
class ArmEffects:
    """The contributions of arms to a gap; of shape (arms,) or (folds, arms).

    Attributes
    ----------
    exposure : array
        The exposure effect of each arm.
    within_arm : array
        The within-arm effect of each arm.
    is_one_sided : array of bool
        Whether one of the groups was not shown the arm, and chance does not explain it.
    is_rare : array of bool
        Whether the difference between the groups was taken from other rare arms.
    """

    exposure: Floats
    within_arm: Floats
    is_one_sided: NDArray[np.bool_]
    is_rare: NDArray[np.bool_]

    @property
    def total(self) -> Floats:
        """The sum of both effects of each arm."""
        return self.exposure + self.within_arm

    def sums(self) -> Floats:
        """Return the sums over arms: exposure, the part of it due to one-sided arms, and within-arm."""
        one_sided = np.where(self.is_one_sided, self.exposure, 0.0).sum(axis=-1)
        return np.stack([self.exposure.sum(axis=-1), one_sided, self.within_arm.sum(axis=-1)], axis=-1)


def decompose(count_1: Floats, total_1: Floats, count_2: Floats, total_2: Floats) -> ArmEffects:
    """Decompose the gap between two groups, the mean reward of the first minus that of the second.

    Parameters
    ----------
    count_1, count_2 : arrays of shape (..., arms)
        The number of rewards of each group from each arm; at least one in total.
    total_1, total_2 : arrays
        The sums of these rewards.

    Examples
    --------
    Both groups receive 0.8 from the first arm and 0.4 from the second, but with different frequencies:

    >>> effects = decompose(*np.array([[30.0, 10.0], [24.0, 4.0], [10.0, 30.0], [8.0, 12.0]]))
    >>> effects.exposure.round(3), effects.within_arm.round(3)
    (array([0.1, 0.1]), array([0., 0.]))
    """
    n1, n2 = (count.sum(axis=-1, keepdims=True) for count in (count_1, count_2))
    p1, p2 = count_1 / n1, count_2 / n2
    with np.errstate(all="ignore"):
        m1, m2 = (np.where(c > 0, t / c, 0.0) for c, t in ((count_1, total_1), (count_2, total_2)))
    has_both = (count_1 > 0) & (count_2 > 0)
    rewards = count_1 + count_2
    expected = rewards * np.where(count_1 > 0, n2, n1) / (n1 + n2)
    is_one_sided = (rewards > 0) & ~has_both & (expected >= _MIN_EXPECTED)
    is_rare = (rewards > 0) & ~has_both & ~is_one_sided
    weight = (p1 + p2) / 2.0
    difference = np.where(has_both, m1 - m2, 0.0)
    difference = np.where(is_rare, _typical_difference(rewards, weight, difference, has_both), difference)
    centre = ((p1 * m1).sum(axis=-1, keepdims=True) + (p2 * m2).sum(axis=-1, keepdims=True)) / 2.0
    within_arm = weight * difference
    # The exposure effect is the remainder after the within-arm effect; c is subtracted in proportion to the
    # difference in shares.
    exposure = p1 * m1 - p2 * m2 - within_arm - (p1 - p2) * centre
    return ArmEffects(exposure, within_arm, is_one_sided, is_rare)


def _typical_difference(
    rewards: Floats, weight: Floats, difference: Floats, has_both: NDArray[np.bool_]
) -> Floats:
    """Return, for each arm, the mean difference between the groups over the arms in the same class of rarity."""
    classes = np.searchsorted(_CLASS_ENDS, rewards)
    known = np.where(has_both, weight, 0.0)
    overall = _ratio((known * difference).sum(axis=-1, keepdims=True), known.sum(axis=-1, keepdims=True))
    typical = np.broadcast_to(overall, rewards.shape).copy()
    for number in range(len(_CLASS_ENDS) + 1):
        is_in = classes == number
        mass = np.where(is_in, known, 0.0)
        mean = _ratio((mass * difference).sum(axis=-1, keepdims=True), mass.sum(axis=-1, keepdims=True))
        enough = (is_in & has_both).sum(axis=-1, keepdims=True) >= _MIN_ARMS
        typical = np.where(is_in & enough, mean, typical)
    return typical


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0.0)


def leave_out_each(by_fold: Floats, folds: NDArray[np.int64]) -> Floats:
    """Return the sums of each arm with each of the given folds left out, of shape (folds, arms)."""
    left: Floats = by_fold.sum(axis=1)[:, None] - by_fold[:, folds]
    return left.T


def jackknife_error(estimates: Floats) -> Floats:
    """Return the standard error of estimates that each leave out one of several random groups of users.

    The delete-a-group jackknife (Kott 2001): `sqrt((B - 1) / B sum (theta_b - mean theta)^2)`.
    """
    n = len(estimates)
    squares: Floats = ((estimates - estimates.mean(axis=0)) ** 2).sum(axis=0)
    return np.sqrt((n - 1) / n * squares)
