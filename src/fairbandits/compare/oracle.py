"""The oracle: the highest mean reward of any policy that knows the true rewards, for each tolerated gap.

Such a policy may choose any arm of a round, or randomise between arms. By mixing the best and the worst arm it
reaches every expected reward between theirs. Objective and constraints depend on subgroup means only, and the
mean of a subgroup can be anything between the means of its worst and of its best arms. So the linear programme
with one variable per round and arm has the same optimum as one with a single variable per subgroup:

    maximise    sum over subgroups of share * mean
    subject to  worst <= mean <= best                        for each subgroup
                floor <= mean of group <= floor + tolerance  for each assessed group, one floor per attribute

The last line keeps all groups of an attribute within a window of the tolerance's width. That is equivalent to
one constraint per pair of groups.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from fairbandits.compare.subgroups import Floats, Group, SubgroupMeans, reward_gap
from fairbandits.views.short_repr import ShortRepr

#: The number of tolerances at which the frontier is computed.
FRONTIER_POINTS = 25


@dataclass(frozen=True, repr=False)
class Optimum(ShortRepr):
    """The rewards of the oracle.

    Attributes
    ----------
    reward : float
        The mean reward.
    groups : dict
        The mean reward of each group.
    """

    reward: float
    groups: dict[Group, float]


def optimum(means: SubgroupMeans, tolerance: float, groups: Collection[Group]) -> Optimum | None:
    """Solve the linear programme; return None if no policy can meet the tolerance.

    Parameters
    ----------
    means : SubgroupMeans
        The subgroup means of one seed.
    tolerance : float
        The largest reward gap allowed between the groups of an attribute.
    groups : collection of groups
        The groups that the tolerance applies to.

    Examples
    --------
    >>> groups = ((("sex", "male"),), (("sex", "female"),))
    >>> count, best = np.array([50.0, 50.0]), np.array([0.6, 0.9])
    >>> oracle = optimum(SubgroupMeans(groups, count, best, best, 0 * best), 0.1, [group for group, in groups])
    >>> round(oracle.reward, 6), {group[1]: round(mean, 6) for group, mean in oracle.groups.items()}
    (0.65, {'male': 0.6, 'female': 0.7})
    """
    from scipy.optimize import linprog  # noqa: PLC0415 - slow to import

    constraints, limits = _window_constraints(means, tolerance, groups)
    n_floors = constraints.shape[1] - len(means.count)
    solution = linprog(
        np.append(-means.count / means.count.sum(), np.zeros(n_floors)),
        A_ub=constraints,
        b_ub=limits,
        bounds=[*zip(means.worst, means.best, strict=True), *[(None, None)] * n_floors],
        method="highs",
    )
    if solution.x is None:
        return None
    optimal = solution.x[: len(means.count)]
    return Optimum(means.overall_mean(optimal), means.group_means(optimal, groups))


def _window_constraints(
    means: SubgroupMeans, tolerance: float, groups: Collection[Group]
) -> tuple[Floats, Floats]:
    """Return the matrix and the limits in `matrix @ (subgroup means, floors) <= limits`."""
    rounds = means.rounds_by_group()
    present = [group for group in groups if group in rounds]
    attributes = list(dict.fromkeys(attribute for attribute, _ in present))
    weights = np.array([means.weights(group) for group in present]).reshape(len(present), len(means.count))
    floor = np.array([[attribute == name for name in attributes] for attribute, _ in present], dtype=np.float64)
    above_floor = np.hstack([weights, -floor.reshape(len(present), len(attributes))])
    return np.vstack([above_floor, -above_floor]), np.repeat([tolerance, 0.0], len(present))


def frontier(seeds: Sequence[SubgroupMeans], groups: Collection[Group]) -> list[tuple[float, float]]:
    """Compute the utility loss of the oracle at each tolerance, as a mean over seeds.

    The tolerances run from 0 to the gap that remains if every user gets the best arm, where the oracle loses
    nothing. A tolerance that cannot be met with every seed is omitted.
    """
    largest = max(reward_gap(means.group_means(means.best, groups)) for means in seeds)
    points = []
    for tolerance in np.linspace(0.0, largest, FRONTIER_POINTS).round(9).tolist():
        optima = [optimum(means, tolerance, groups) for means in seeds]
        losses = [
            means.overall_mean(means.best) - oracle.reward
            for means, oracle in zip(seeds, optima, strict=True)
            if oracle is not None
        ]
        if len(losses) == len(seeds):
            points.append((tolerance, round(max(float(np.mean(losses)), 0.0), 9)))
    return points
