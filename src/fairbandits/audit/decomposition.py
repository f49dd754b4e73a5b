"""Kitagawa-Oaxaca-Blinder decomposition of a gap over arms into exposure and within-arm effects.

The gap between the mean rewards of two groups is a sum over arms of p1 m1 - p2 m2, where p is the share of a
group's rewards that came from the arm, and m the mean reward of the group from the arm. It splits exactly into two
effects (Kitagawa 1955; Oaxaca 1973 and Blinder 1973 for regressions):

    exposure effect     (p1 - p2) ((m1 + m2) / 2 - c)     one group was shown more of the arms better than c
    within-arm effect   (p1 + p2) / 2 (m1 - m2)           one group received more reward from the same arm

The shares of each group sum to one, so c does not change the sums over arms. It is the mean of the two groups'
mean rewards, so that more exposure to an arm counts as an advantage exactly if the arm is better than average. An
arm that one group was never shown (a one-sided arm) has no m for that group; the other group's m replaces it, so
all of its contribution is an exposure effect.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.grouped_sums import RewardSums
from fairbandits.audit.log_sums import Floats

# Limit on draws times arms. The relative error of a standard error is 7% with 100 draws and 4% with 400.
_MAX_COST = 4_000_000
_MIN_DRAWS, MAX_DRAWS = 100, 400
# Limit on draws times arms that are held in memory at once.
_BATCH_SIZE = 1 << 20


@dataclass(frozen=True, eq=False)
class ArmEffects:
    """The contributions of arms to a gap; of shape (arms,) or (draws, arms).

    Attributes
    ----------
    exposure : array
        The exposure effect of each arm.
    within_arm : array
        The within-arm effect of each arm.
    one_sided : array of bool
        Whether only one of the groups was shown the arm.
    """

    exposure: Floats
    within_arm: Floats
    one_sided: NDArray[np.bool_]

    @property
    def total(self) -> Floats:
        """The sum of both effects of each arm."""
        return self.exposure + self.within_arm

    def sums(self) -> Floats:
        """Return the sums over arms: exposure, the part of it due to one-sided arms, within-arm, and total."""
        exposure, within_arm = self.exposure.sum(axis=-1), self.within_arm.sum(axis=-1)
        one_sided = np.where(self.one_sided, self.exposure, 0.0).sum(axis=-1)
        return np.stack([exposure, one_sided, within_arm, exposure + within_arm], axis=-1)


def decompose(count_1: Floats, mean_1: Floats, count_2: Floats, mean_2: Floats) -> ArmEffects:
    """Decompose the gap between two groups, the mean reward of the first minus that of the second.

    Parameters
    ----------
    count_1, count_2 : arrays of shape (..., arms)
        The number of rewards of each group from each arm; at least one in total.
    mean_1, mean_2 : arrays
        The mean rewards; ignored where the count is 0.

    Examples
    --------
    Both groups receive 0.8 from the first arm and 0.4 from the second, but with different frequencies:

    >>> effects = decompose(*np.array([[30.0, 10.0], [0.8, 0.4], [10.0, 30.0], [0.8, 0.4]]))
    >>> effects.exposure, effects.within_arm
    (array([0.1, 0.1]), array([0., 0.]))
    """
    p1, p2 = (count / count.sum(axis=-1, keepdims=True) for count in (count_1, count_2))
    in_1, in_2 = count_1 > 0, count_2 > 0
    # Arms that neither group was shown have share 0 in both, so their means do not matter.
    m1, m2 = np.where(in_1, mean_1, mean_2), np.where(in_2, mean_2, mean_1)
    middle = (m1 + m2) / 2.0
    centre = ((p1 * m1).sum(axis=-1, keepdims=True) + (p2 * m2).sum(axis=-1, keepdims=True)) / 2.0
    return ArmEffects((p1 - p2) * (middle - centre), (p1 + p2) / 2.0 * (m1 - m2), in_1 != in_2)


def n_draws(n_arms: int, max_draws: int = MAX_DRAWS) -> int:
    """Return the number of bootstrap draws: fewer for tens of thousands of arms."""
    return int(np.clip(_MAX_COST // max(n_arms, 1), _MIN_DRAWS, max_draws))


def bootstrap_standard_errors(
    first: RewardSums, second: RewardSums, rng: np.random.Generator, max_draws: int = MAX_DRAWS
) -> tuple[Floats, Floats]:
    """Return standard errors from a parametric bootstrap of the sums of each arm.

    Resampling rows with replacement amounts to drawing the number of rows of each arm (Poisson, as there are many
    rows), and then their mean, which is approximately normal around the arm's own.

    Returns
    -------
    sums : array of 4
        The standard errors of `ArmEffects.sums()`.
    by_arm : array
        The standard errors of `ArmEffects.total`.
    """
    n_arms = first.count.size
    draws = n_draws(n_arms, max_draws)
    sums, total, squares = [], np.zeros(n_arms), np.zeros(n_arms)
    for start in range(0, draws, size := max(1, _BATCH_SIZE // max(n_arms, 1))):
        drawn = [_draw(group, min(size, draws - start), rng) for group in (first, second)]
        effects = decompose(*drawn[0], *drawn[1])
        sums.append(effects.sums())
        by_arm = effects.total
        total += by_arm.sum(axis=0)
        squares += (by_arm**2).sum(axis=0)
    variance = (squares - total**2 / draws) / (draws - 1)
    return np.concatenate(sums).std(axis=0, ddof=1), np.sqrt(np.maximum(variance, 0.0))


def _draw(group: RewardSums, draws: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw the counts and means of all arms."""
    shape = (draws, group.count.size)
    count = rng.poisson(group.count, shape).astype(float)
    # An empty draw is almost impossible, because groups this small are not compared.
    count[count.sum(axis=1) == 0] = group.count
    spread = np.sqrt(group.m2 / np.maximum(group.count, 1.0))
    return count, group.mean + spread / np.sqrt(np.maximum(count, 1.0)) * rng.standard_normal(shape)
