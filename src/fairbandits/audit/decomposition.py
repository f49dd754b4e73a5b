"""Which arms carry a gap: who was shown what, and who got more from the same arm.

The gap between the mean rewards of two groups is a sum over arms of p1 m1 - p2 m2, where p is how large a share of
a group's rewards came from the arm and m is what the arm gave the group on average. With the middle of both groups
it splits exactly in two (Kitagawa 1955; Oaxaca 1973 and Blinder 1973 do the same with regressions):

    shown      (p1 - p2) ((m1 + m2) / 2 - c)     one group was shown more of what is better than c
    same arm   (p1 + p2) / 2 (m1 - m2)           one group got more from the very same arm

As the shares of each group add up to one, c changes nothing in the sum. It is the mean of the two groups' mean
rewards, so that an arm counts for the better or the worse by what it gave. An arm that one group was never shown
has no m for that group: the other's stands for it, and all that the arm carries is about who was shown what.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.group_sums import GroupSums
from fairbandits.audit.log_sums import Floats

# What a bootstrap may cost, in draws times arms; a standard error out of a hundred draws is right to 7%, out of
# four hundred to 4%.
_COST = 4_000_000
_FEWEST, MOST = 100, 400
_AT_ONCE = 1 << 20


@dataclass(frozen=True, eq=False)
class DecompositionParts:
    """What each arm contributes to a gap; of shape (arms,), or (draws, arms).

    Attributes
    ----------
    shown : array
        By who was shown what.
    same_arm : array
        By who got more from the same arm.
    one_sided : array of bool
        Whether only one of the groups was shown the arm.
    """

    shown: Floats
    same_arm: Floats
    one_sided: NDArray[np.bool_]

    def totals(self) -> Floats:
        """Add up over arms: shown, of that by arms that only one group was shown, same arm, and all."""
        shown, same = self.shown.sum(axis=-1), self.same_arm.sum(axis=-1)
        alone = np.where(self.one_sided, self.shown, 0.0).sum(axis=-1)
        return np.stack([shown, alone, same, shown + same], axis=-1)


def split(count_1: Floats, mean_1: Floats, count_2: Floats, mean_2: Floats) -> DecompositionParts:
    """Split the gap between two groups, the first's mean reward less the second's, exactly.

    Parameters
    ----------
    count_1, count_2 : arrays of shape (..., arms)
        How many rewards each group got from each arm; at least one in all.
    mean_1, mean_2 : arrays
        Their mean; whatever where there are none.

    Examples
    --------
    Both groups get 0.8 from the first arm and 0.4 from the second, but are not shown them equally often:

    >>> parts = split(*np.array([[30.0, 10.0], [0.8, 0.4], [10.0, 30.0], [0.8, 0.4]]))
    >>> parts.shown, parts.same_arm
    (array([0.1, 0.1]), array([0., 0.]))
    """
    p1, p2 = (count / count.sum(axis=-1, keepdims=True) for count in (count_1, count_2))
    in_1, in_2 = count_1 > 0, count_2 > 0
    # An arm that nobody was shown has no share either: its mean is multiplied by zeros.
    m1, m2 = np.where(in_1, mean_1, mean_2), np.where(in_2, mean_2, mean_1)
    middle = (m1 + m2) / 2.0
    centre = ((p1 * m1).sum(axis=-1, keepdims=True) + (p2 * m2).sum(axis=-1, keepdims=True)) / 2.0
    return DecompositionParts((p1 - p2) * (middle - centre), (p1 + p2) / 2.0 * (m1 - m2), in_1 != in_2)


def draws_for(arms: int, most: int = MOST) -> int:
    """Say how often a bootstrap is drawn: less often where there are tens of thousands of arms."""
    return int(np.clip(_COST // max(arms, 1), _FEWEST, most))


def standard_errors(
    first: GroupSums, second: GroupSums, rng: np.random.Generator, most: int = MOST
) -> tuple[Floats, Floats]:
    """Say by how much the parts would vary from log to log: a bootstrap that is drawn from the cells.

    To draw rows anew with replacement is, in numbers, to draw for each arm how many of its rows come up (Poisson,
    as rows are many), and then their mean, which is normal around the arm's own.

    Returns
    -------
    totals : array of 4
        The standard errors of `DecompositionParts.totals()`.
    by_arm : array
        Those of what each arm contributes in all.
    """
    arms = first.count.size
    draws = draws_for(arms, most)
    totals, sum_, squares = [], np.zeros(arms), np.zeros(arms)
    for start in range(0, draws, per := max(1, _AT_ONCE // max(arms, 1))):
        drawn = [_draw(group, min(per, draws - start), rng) for group in (first, second)]
        parts = split(*drawn[0], *drawn[1])
        totals.append(parts.totals())
        by_arm = parts.shown + parts.same_arm
        sum_ += by_arm.sum(axis=0)
        squares += (by_arm**2).sum(axis=0)
    variance = (squares - sum_**2 / draws) / (draws - 1)
    return np.concatenate(totals).std(axis=0, ddof=1), np.sqrt(np.maximum(variance, 0.0))


def _draw(group: GroupSums, draws: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw counts and means of all arms, several times."""
    shape = (draws, group.count.size)
    count = rng.poisson(group.count, shape).astype(float)
    # Nothing at all comes up hardly ever: groups this small are not compared.
    count[count.sum(axis=1) == 0] = group.count
    spread = np.sqrt(group.m2 / np.maximum(group.count, 1.0))
    return count, group.mean + spread / np.sqrt(np.maximum(count, 1.0)) * rng.standard_normal(shape)
