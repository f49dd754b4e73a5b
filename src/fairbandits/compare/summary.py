"""What a comparison says: the numbers of each policy in a world, the measured front, and who is worse off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fairbandits.compare.cell_sums import CellSums, Group, counted_groups, difference, label
from fairbandits.compare.contenders import BASELINE
from fairbandits.compare.oracle import Optimum, frontier, optimum
from fairbandits.compare.suite import LAST_FIFTH, SuiteWorld
from fairbandits.report.number_formats import mean_and_sd

#: A policy is next to the front if whoever beats it does so by no more than this, in loss and in difference.
NEXT_TO = 0.002
#: The worse-off group's mean reward may be this far below what LinUCB gives.
SLACK = 0.005

#: The cells of every seed, by part of the run.
Seeds = Sequence[Mapping[Fraction, CellSums]]
#: Mean and standard deviation over seeds.
Spread = tuple[float, float | None]


@dataclass(frozen=True)
class PolicySummary:
    """What a policy came to in a world.

    Attributes
    ----------
    numbers : dict
        By metric, mean and standard deviation over seeds: `utility_loss`, `reward_difference`,
        `late_difference` (over the last fifth), `worst_off_reward`, `reward`, `below_oracle` (how much less
        reward than the oracle at the tolerance), and `reward_<group>`, `regret_<group>` for each group.
    front : {"on", "next to", "off"}
        Where it stands to the measured Pareto front of loss and difference.
    worse_off : str
        A sentence, where the worse-off group gets less than LinUCB gives; otherwise empty.
    """

    numbers: dict[str, Spread]
    front: str
    worse_off: str


@dataclass(frozen=True)
class WorldSummary:
    """What was found in a world.

    Attributes
    ----------
    world : SuiteWorld
        The world.
    rounds : float
        How many rounds were measured.
    groups : dict
        The groups that count, and how many of those rounds each had, as a mean over seeds.
    rows : dict
        By policy, its row.
    best : dict
        By group, the mean reward if everybody got the best.
    oracle : dict or None
        By group, the mean reward that the oracle gives at the tolerance; None if no policy can keep it.
    oracle_reward : float or None
        Its mean reward.
    frontier : list of pairs
        Tolerances, and the utility loss that each costs.
    """

    world: SuiteWorld
    rounds: float
    groups: dict[Group, float]
    rows: dict[str, PolicySummary]
    best: dict[Group, float]
    oracle: dict[Group, float] | None
    oracle_reward: float | None
    frontier: list[tuple[float, float]]


def summarise_world(world: SuiteWorld, runs: Mapping[str, Seeds], tolerance: float) -> WorldSummary:
    """Compare the policies in one world.

    Parameters
    ----------
    world : SuiteWorld
        The world.
    runs : mapping
        By policy, the cells of all seeds.
    tolerance : float
        How large a difference is tolerated.
    """
    # Who comes and what the arms give is the same for every policy.
    seeds = [parts[world.measured] for parts in next(iter(runs.values()))]
    groups = counted_groups(seeds)
    optima = [optimum(cells, tolerance, groups) for cells in seeds]
    kept = [best for best in optima if best is not None]
    feasible = len(kept) == len(optima)
    values = {title: _values(world, of_policy, groups, optima) for title, of_policy in runs.items()}
    oracle = _mean_by_group([best.groups for best in kept]) if feasible else None
    return WorldSummary(
        world,
        float(np.mean([cells.count.sum() for cells in seeds])),
        groups,
        _rows(values, oracle, tolerance),
        _mean_by_group([cells.by_group(cells.best, groups) for cells in seeds]),
        oracle,
        float(np.mean([best.reward for best in kept])) if feasible else None,
        frontier(seeds, groups),
    )


def _values(
    world: SuiteWorld, seeds: Seeds, groups: Mapping[Group, float], optima: Sequence[Optimum | None]
) -> dict[str, list[float]]:
    """Give every metric of a policy, seed by seed; a group that a seed did not see has nothing there."""
    values: dict[str, list[float]] = {}
    for parts, best in zip(seeds, optima, strict=True):
        cells = parts[world.measured]
        rewards = cells.by_group(cells.mean, groups)
        found = {
            "utility_loss": cells.total(cells.best - cells.mean),
            "reward_difference": difference(rewards),
            "late_difference": difference(parts[LAST_FIFTH].by_group(parts[LAST_FIFTH].mean, groups)),
            "worst_off_reward": min(rewards.values(), default=cells.total(cells.mean)),
            "reward": cells.total(cells.mean),
        }
        if best is not None:
            found["below_oracle"] = best.reward - found["reward"]
        regrets = cells.by_group(cells.best - cells.mean, groups)
        found |= {f"reward_{label(group)}": reward for group, reward in rewards.items()}
        found |= {f"regret_{label(group)}": regret for group, regret in regrets.items()}
        for metric, value in found.items():
            values.setdefault(metric, []).append(value)
    return values


def _rows(
    values: Mapping[str, Mapping[str, list[float]]], oracle: dict[Group, float] | None, tolerance: float
) -> dict[str, PolicySummary]:
    numbers = {
        title: {metric: mean_and_sd(found) for metric, found in of_policy.items()}
        for title, of_policy in values.items()
    }
    points = {title: (of["utility_loss"][0], of["reward_difference"][0]) for title, of in numbers.items()}
    places = fronts(points)
    baseline = numbers.get(BASELINE)
    return {
        title: PolicySummary(of_policy, places[title], _worse_off(of_policy, baseline, oracle, tolerance))
        for title, of_policy in numbers.items()
    }


def fronts(points: Mapping[str, tuple[float, float]]) -> dict[str, str]:
    """Say of each point whether no other beats it, or none by much, where smaller is better in both directions.

    Examples
    --------
    >>> fronts({"a": (0.05, 0.01), "b": (0.051, 0.011), "c": (0.09, 0.01), "d": (0.2, 0.0)})
    {'a': 'on', 'b': 'next to', 'c': 'off', 'd': 'on'}
    """
    return {title: _front(point, points) for title, point in points.items()}


def _front(point: tuple[float, float], points: Mapping[str, tuple[float, float]]) -> str:
    ahead = [
        max(point[0] - other[0], point[1] - other[1])
        for other in points.values()
        if other[0] <= point[0] and other[1] <= point[1] and other != point
    ]
    if not ahead:
        return "on"
    return "next to" if max(ahead) <= NEXT_TO else "off"


def _worse_off(
    mine: Mapping[str, Spread],
    baseline: Mapping[str, Spread] | None,
    oracle: dict[Group, float] | None,
    tolerance: float,
) -> str:
    """Say in words where the worse-off group gets less than LinUCB's, and whether the tolerance forces that."""
    if baseline is None:
        return ""
    got, before = mine["worst_off_reward"][0], baseline["worst_off_reward"][0]
    if got >= before - SLACK:
        return ""
    text = f"The worse-off group gets {got:.3f}, {before - got:.3f} less than with {BASELINE} ({before:.3f}); "
    if oracle is None:
        return f"{text}no policy at all keeps a difference of {tolerance:g} here."
    least = min(oracle.values(), default=before)
    if least < before - SLACK:
        return f"{text}a tolerance of {tolerance:g} forces that: the oracle itself gives it {least:.3f}."
    return f"{text}nothing forces that: within {tolerance:g} the oracle gives every group at least {least:.3f}."


def lowered(found: WorldSummary) -> dict[Group, tuple[float, float]]:
    """Give the groups that the oracle at the tolerance gives less than LinUCB does: by group, both rewards."""
    if found.oracle is None or BASELINE not in found.rows:
        return {}
    before = {group: found.rows[BASELINE].numbers[f"reward_{label(group)}"][0] for group in found.oracle}
    return {
        group: (before[group], reward) for group, reward in found.oracle.items() if reward < before[group] - SLACK
    }


def _mean_by_group(seeds: Sequence[Mapping[Group, float]]) -> dict[Group, float]:
    groups = dict.fromkeys(group for seed in seeds for group in seed)
    return {group: float(np.mean([seed[group] for seed in seeds if group in seed])) for group in groups}
