"""The oracle: the highest mean reward of any policy that knows the true rewards, for each tolerated gap.

Such a policy may choose any arm of a round, or randomise between arms. By mixing the best and the worst arm, it
can reach every expected reward between the two. The objective and the constraints depend only on subgroup means,
and the mean of a subgroup can take any value between the means of its worst and of its best arms. So the linear
programme with one variable per round and arm has the same optimum as one with a single variable per subgroup:

    maximise    sum over subgroups of share * mean
    subject to  worst <= mean <= best                        for each subgroup
                floor <= mean of group <= floor + tolerance  for each assessed group, one floor per attribute

The last line keeps all groups of an attribute within a window of the tolerance's width. That is equivalent to
one constraint per pair of groups.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

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
    subgroups : array
        The mean reward of each subgroup.
    """

    reward: float
    groups: dict[Group, float]
    subgroups: Floats


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
    return Optimum(means.overall_mean(optimal), means.group_means(optimal, groups), optimal)


def smallest_gap(means: SubgroupMeans, groups: Collection[Group]) -> float:
    """Compute the smallest gap of any policy: 0 unless one group's best arms are worse than another's worst.

    Examples
    --------
    >>> groups = ((("sex", "male"),), (("sex", "female"),))
    >>> best, worst = np.array([0.3, 0.9]), np.array([0.1, 0.5])
    >>> means = SubgroupMeans(groups, np.array([50.0, 50.0]), best, best, worst)
    >>> round(smallest_gap(means, [group for group, in groups]), 6)
    0.2
    """
    from scipy.optimize import linprog  # noqa: PLC0415 - slow to import

    constraints, limits = _window_constraints(means, 0.0, groups)
    # One more variable, the gap, widens the window of every group.
    wider = np.hstack([constraints, -np.repeat([[1.0], [0.0]], len(limits) // 2, axis=0)])
    n_floors = constraints.shape[1] - len(means.count)
    bounds: list[Any] = [*zip(means.worst, means.best, strict=True), *[(None, None)] * n_floors, (0.0, None)]
    objective = np.append(np.zeros(constraints.shape[1]), 1.0)
    solution = linprog(objective, A_ub=wider, b_ub=limits, bounds=bounds, method="highs")
    return 0.0 if solution.x is None else float(solution.x[-1])


def gaps_on_same_users(seeds: Sequence[SubgroupMeans], tolerance: float, groups: Collection[Group]) -> list[float]:
    """Compute the gap, in each seed, of an oracle that knows the rewards but not which users will arrive.

    The programme is solved once, on the means pooled over seeds, at the tolerance or, if that is larger, at the
    smallest feasible gap. The solution determines how far each subgroup's mean lies between those of its worst and
    its best arms. The same fractions, applied to every seed, give gaps that are not 0 because users differ between
    seeds, which no policy can foresee. These differences bias the absolute gap of a small group upwards; the gaps
    returned here are biased in the same way.
    """
    pooled = pool(seeds)
    # Solvers meet constraints to about this precision.
    feasible = max(tolerance, smallest_gap(pooled, groups) + 1e-6)
    oracle = optimum(pooled, feasible, groups)
    if oracle is None:
        raise ValueError(f"the oracle's optimisation problem has no solution at the feasible gap {feasible:g}")
    span = pooled.best - pooled.worst
    fractions = np.divide(oracle.subgroups - pooled.worst, span, out=np.ones_like(span), where=span > 0)
    of_subgroup = dict(zip(pooled.groups, fractions.tolist(), strict=True))
    gaps = []
    for means in seeds:
        fraction = np.array([of_subgroup[groups] for groups in means.groups])
        values = means.worst + fraction * (means.best - means.worst)
        gaps.append(reward_gap(means.group_means(values, groups)))
    return gaps


def pool(seeds: Sequence[SubgroupMeans]) -> SubgroupMeans:
    """Return the subgroup means over the rounds of all seeds."""
    names = list(dict.fromkeys(groups for means in seeds for groups in means.groups))
    place = {groups: position for position, groups in enumerate(names)}
    sums = np.zeros((4, len(names)))
    for means in seeds:
        at = [place[groups] for groups in means.groups]
        weighted = (means.mean * means.count, means.best * means.count, means.worst * means.count)
        sums[:, at] += np.array([means.count, *weighted])
    count, *totals = sums
    return SubgroupMeans(tuple(names), count, *(total / count for total in totals))


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

    The tolerances run from 0 to the gap that remains if every user gets the best arm, at which the oracle loses
    nothing. A tolerance that cannot be met in every seed is omitted. In each seed, no policy lies below the
    frontier; a policy's mean can lie slightly below the mean frontier, if the policy's gaps differ between seeds.
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
