"""Summarise the runs of a world: metrics of each policy, its place relative to the Pareto front, the oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fairbandits.compare.oracle import Optimum, frontier, optimum
from fairbandits.compare.policy_specs import BASELINE
from fairbandits.compare.subgroups import Group, SubgroupMeans, assessed_groups, group_label, reward_gap
from fairbandits.compare.suite import LAST_FIFTH, SuiteWorld
from fairbandits.report.number_formats import mean_and_sd
from fairbandits.views.short_repr import ShortRepr

#: A policy is near the front if no policy dominates it by more than this, in loss or in gap.
NEAR = 0.002
#: The worst-off group's mean reward may be this far below that of LinUCB without a remark.
SLACK = 0.005

#: The subgroup means of every seed, by part of the run.
Seeds = Sequence[Mapping[Fraction, SubgroupMeans]]
#: Mean and standard deviation over seeds.
Spread = tuple[float, float | None]


@dataclass(frozen=True, repr=False)
class PolicySummary(ShortRepr):
    """The results of a policy in a world.

    Attributes
    ----------
    metrics : dict
        Mean and standard deviation over seeds of each metric: `utility_loss`, `reward_gap`, `late_gap` (the gap
        over the last fifth), `worst_off_reward`, `reward`, `below_oracle` (how much less reward than the oracle
        at the tolerance), and `reward_<group>` and `regret_<group>` of each group.
    front : {"on", "near", "off"}
        Its place relative to the measured Pareto front of loss and gap.
    worst_off_note : str
        A sentence if the worst-off group receives less than with LinUCB; otherwise empty.
    """

    metrics: dict[str, Spread]
    front: str
    worst_off_note: str


@dataclass(frozen=True, repr=False)
class WorldSummary(ShortRepr):
    """The results of all policies in a world.

    Attributes
    ----------
    world : SuiteWorld
        The world.
    rounds : float
        The number of rounds measured.
    groups : dict
        The assessed groups, and the number of measured rounds of each, as a mean over seeds.
    policies : dict
        The results of each policy.
    best : dict
        The mean reward of each group if every user got the best arm.
    oracle : dict or None
        The mean reward that the oracle gives each group at the tolerance; None if no policy can meet it.
    oracle_reward : float or None
        The mean reward of the oracle.
    frontier : list of pairs
        Tolerances, and the utility loss of the oracle at each.
    """

    world: SuiteWorld
    rounds: float
    groups: dict[Group, float]
    policies: dict[str, PolicySummary]
    best: dict[Group, float]
    oracle: dict[Group, float] | None
    oracle_reward: float | None
    frontier: list[tuple[float, float]]

    def _repr_html_(self) -> str:
        from fairbandits.compare.notebook import world_html  # noqa: PLC0415 - imports this module

        return world_html(self)


def summarise_world(world: SuiteWorld, runs: Mapping[str, Seeds], tolerance: float) -> WorldSummary:
    """Summarise the runs of all policies in one world.

    Parameters
    ----------
    world : SuiteWorld
        The world.
    runs : mapping
        The subgroup means of all seeds, by policy.
    tolerance : float
        The tolerated reward gap.
    """
    # Visitors and rewards of arms are the same for every policy.
    seeds = [parts[world.measured] for parts in next(iter(runs.values()))]
    groups = assessed_groups(seeds)
    optima = [optimum(means, tolerance, groups) for means in seeds]
    feasible = [oracle for oracle in optima if oracle is not None]
    all_feasible = len(feasible) == len(optima)
    values = {title: _metric_values(world, of_policy, groups, optima) for title, of_policy in runs.items()}
    oracle_means = _mean_by_group([oracle.groups for oracle in feasible]) if all_feasible else None
    return WorldSummary(
        world,
        float(np.mean([means.count.sum() for means in seeds])),
        groups,
        _policy_summaries(values, oracle_means, tolerance),
        _mean_by_group([means.group_means(means.best, groups) for means in seeds]),
        oracle_means,
        float(np.mean([oracle.reward for oracle in feasible])) if all_feasible else None,
        frontier(seeds, groups),
    )


def _metric_values(
    world: SuiteWorld, seeds: Seeds, groups: Mapping[Group, float], optima: Sequence[Optimum | None]
) -> dict[str, list[float]]:
    """Return the values of every metric of a policy, one per seed; a group absent from a seed has none for it."""
    values: dict[str, list[float]] = {}
    for parts, oracle in zip(seeds, optima, strict=True):
        means, late = parts[world.measured], parts[LAST_FIFTH]
        rewards = means.group_means(means.mean, groups)
        of_seed = {
            "utility_loss": means.overall_mean(means.best - means.mean),
            "reward_gap": reward_gap(rewards),
            "late_gap": reward_gap(late.group_means(late.mean, groups)),
            "worst_off_reward": min(rewards.values(), default=float("nan")),
            "reward": means.overall_mean(means.mean),
        }
        if oracle is not None:
            of_seed["below_oracle"] = oracle.reward - of_seed["reward"]
        regrets = means.group_means(means.best - means.mean, groups)
        of_seed |= {f"reward_{group_label(group)}": reward for group, reward in rewards.items()}
        of_seed |= {f"regret_{group_label(group)}": regret for group, regret in regrets.items()}
        for metric, value in of_seed.items():
            values.setdefault(metric, []).append(value)
    return values


def _policy_summaries(
    values: Mapping[str, Mapping[str, list[float]]], oracle: dict[Group, float] | None, tolerance: float
) -> dict[str, PolicySummary]:
    metrics = {
        title: {metric: mean_and_sd(of_seeds) for metric, of_seeds in of_policy.items()}
        for title, of_policy in values.items()
    }
    points = {title: (of["utility_loss"][0], of["reward_gap"][0]) for title, of in metrics.items()}
    positions = front_positions(points)
    baseline = metrics.get(BASELINE)
    return {
        title: PolicySummary(of_policy, positions[title], _worst_off_note(of_policy, baseline, oracle, tolerance))
        for title, of_policy in metrics.items()
    }


def front_positions(points: Mapping[str, tuple[float, float]]) -> dict[str, str]:
    """Return whether each point is "on" the Pareto front, "near" it or "off" it; lower is better in both values.

    Examples
    --------
    >>> front_positions({"a": (0.05, 0.01), "b": (0.051, 0.011), "c": (0.09, 0.01), "d": (0.2, 0.0)})
    {'a': 'on', 'b': 'near', 'c': 'off', 'd': 'on'}
    """
    return {title: _front_position(point, points) for title, point in points.items()}


def _front_position(point: tuple[float, float], points: Mapping[str, tuple[float, float]]) -> str:
    margins = [
        max(point[0] - other[0], point[1] - other[1])
        for other in points.values()
        if other[0] <= point[0] and other[1] <= point[1] and other != point
    ]
    if not margins:
        return "on"
    return "near" if max(margins) <= NEAR else "off"


def _worst_off_note(
    metrics: Mapping[str, Spread],
    baseline: Mapping[str, Spread] | None,
    oracle: dict[Group, float] | None,
    tolerance: float,
) -> str:
    """Return a note if the worst-off group receives less than with LinUCB, and whether the tolerance forces it."""
    if baseline is None:
        return ""
    reward, reference = metrics["worst_off_reward"][0], baseline["worst_off_reward"][0]
    if reward >= reference - SLACK:
        return ""
    text = (
        f"The worst-off group receives {reward:.3f}, {reference - reward:.3f} less than with {BASELINE} "
        f"({reference:.3f})."
    )
    if oracle is None:
        return f"{text} No policy can keep the gap within {tolerance:g} here."
    lowest = min(oracle.values(), default=reference)
    if lowest < reference - SLACK:
        return f"{text} The tolerance of {tolerance:g} forces this: the oracle gives the group {lowest:.3f}."
    return (
        f"{text} The tolerance does not force this: with a gap of at most {tolerance:g}, the oracle gives every "
        f"group at least {lowest:.3f}."
    )


def levelled_down(summary: WorldSummary) -> dict[Group, tuple[float, float]]:
    """Return the groups that receive less from the oracle at the tolerance than from LinUCB, with both rewards."""
    if summary.oracle is None or BASELINE not in summary.policies:
        return {}
    metrics = summary.policies[BASELINE].metrics
    reference = {group: metrics[f"reward_{group_label(group)}"][0] for group in summary.oracle}
    return {
        group: (reference[group], reward)
        for group, reward in summary.oracle.items()
        if reward < reference[group] - SLACK
    }


def _mean_by_group(seeds: Sequence[Mapping[Group, float]]) -> dict[Group, float]:
    groups = dict.fromkeys(group for seed in seeds for group in seed)
    return {group: float(np.mean([seed[group] for seed in seeds if group in seed])) for group in groups}
