"""The oracle: the best mean reward of any policy that knows the true rewards, at each tolerated difference.

A policy that knows the rewards may pick any arm of a round, or draw one by any probabilities. Only the
expected reward of its pick counts, for the mean and for the difference alike, and by mixing the best and the
worst arm of the round it can have any value between theirs. Nothing but cell means enters the objective and the
constraints, and the mean of a cell can be anything between the mean of its worst arms and the mean of its best.
So the linear programme with one variable for each round and arm has the same optimum as one with a single
variable for each cell:

    maximise    sum over cells of share * mean
    subject to  worst <= mean <= best                        for each cell
                floor <= mean of group <= floor + tolerance  for each counted group, one floor per attribute

The floor says that all groups of an attribute lie in a window as wide as the tolerance, which is what a
constraint for each pair of them would say.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from fairbandits.compare.cell_sums import CellSums, Floats, Group, difference

#: At how many tolerances the frontier is computed.
POINTS = 25


@dataclass(frozen=True)
class Optimum:
    """What the oracle reaches.

    Attributes
    ----------
    reward : float
        The mean reward.
    groups : dict
        By group, its mean reward.
    """

    reward: float
    groups: dict[Group, float]


def optimum(cells: CellSums, tolerance: float, counted: Collection[Group]) -> Optimum | None:
    """Solve the programme; None where no policy at all keeps the tolerance.

    Parameters
    ----------
    cells : CellSums
        The rounds of one seed.
    tolerance : float
        How far apart the groups of an attribute may be.
    counted : collection of groups
        The groups that the tolerance is about.

    Examples
    --------
    >>> groups = ((("sex", "male"),), (("sex", "female"),))
    >>> half, best = np.array([50.0, 50.0]), np.array([0.6, 0.9])
    >>> found = optimum(CellSums(groups, half, best, best, 0 * best), 0.1, [group for group, in groups])
    >>> round(found.reward, 6), {group[1]: round(mean, 6) for group, mean in found.groups.items()}
    (0.65, {'male': 0.6, 'female': 0.7})
    """
    from scipy.optimize import linprog  # noqa: PLC0415 - slow to import

    window, limits = _windows(cells, tolerance, counted)
    floors = window.shape[1] - len(cells.count)
    solved = linprog(
        np.append(-cells.count / cells.count.sum(), np.zeros(floors)),
        A_ub=window,
        b_ub=limits,
        bounds=[*zip(cells.worst, cells.best, strict=True), *[(None, None)] * floors],
        method="highs",
    )
    if solved.x is None:
        return None
    means = solved.x[: len(cells.count)]
    return Optimum(cells.total(means), cells.by_group(means, counted))


def _windows(cells: CellSums, tolerance: float, counted: Collection[Group]) -> tuple[Floats, Floats]:
    """Write the constraints of the windows as `window @ (means, floors) <= limits`."""
    came = cells.rounds()
    groups = [group for group in counted if group in came]
    attributes = list(dict.fromkeys(attribute for attribute, _ in groups))
    member = np.array([cells.member(group) for group in groups]).reshape(len(groups), len(cells.count))
    floor = np.array([[attribute == name for name in attributes] for attribute, _ in groups], dtype=np.float64)
    below = np.hstack([member, -floor.reshape(len(groups), len(attributes))])
    return np.vstack([below, -below]), np.repeat([tolerance, 0.0], len(groups))


def frontier(seeds: Sequence[CellSums], counted: Collection[Group]) -> list[tuple[float, float]]:
    """Give the utility loss that each tolerance costs, as a mean over seeds; where every seed can keep it.

    The tolerances go from 0 to where none of the seeds has anything left to lose: the difference that is
    there if everybody gets the best.
    """
    most = max(difference(cells.by_group(cells.best, counted)) for cells in seeds)
    line = []
    for tolerance in np.linspace(0.0, most, POINTS).round(9).tolist():
        found = [optimum(cells, tolerance, counted) for cells in seeds]
        losses = [
            cells.total(cells.best) - best.reward
            for cells, best in zip(seeds, found, strict=True)
            if best is not None
        ]
        if len(losses) == len(seeds):
            line.append((tolerance, round(max(float(np.mean(losses)), 0.0), 9)))
    return line
