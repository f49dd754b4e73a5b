"""Summarise the runs of a world: each policy's metrics and place relative to the Pareto front, and the oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fairbandits.compare.measures import measure_run
from fairbandits.compare.oracle import Optimum, frontier, gaps_on_same_users, optimum, pool, smallest_gap
from fairbandits.compare.pareto import front_positions
from fairbandits.compare.policy_specs import BASELINE
from fairbandits.compare.pooled_gap import PooledGap, pooled_gap
from fairbandits.compare.run_summary import RunSummary
from fairbandits.compare.subgroups import Group, all_groups, assessed_groups, reward_gap
from fairbandits.compare.suite import SuiteWorld
from fairbandits.compare.worst_off import worst_off_note
from fairbandits.report.number_formats import mean_and_sd
from fairbandits.views.short_repr import ShortRepr

#: The summaries of all seeds.
Seeds = Sequence[RunSummary]
#: Mean and standard deviation over seeds.
Spread = tuple[float, float | None]


@dataclass(frozen=True, repr=False)
class PolicySummary(ShortRepr):
    """The results of a policy in a world.

    Attributes
    ----------
    metrics : dict
        The mean and the standard deviation over seeds of each measure of `fairbandits.compare.measures`, and of
        `below_oracle`, the shortfall of the reward from that of the oracle at the tolerance. Seeds in which a
        measure is undefined are left out.
    front : {"on", "near", "off"}
        Its place relative to the measured Pareto front of loss and gap.
    worst_off_note : str
        A sentence if the worst-off group receives less than with LinUCB; otherwise empty.
    values : dict
        The value of each measure in every seed; NaN where it is undefined.
    pooled_gap : PooledGap
        The gap over all seeds together.
    """

    metrics: dict[str, Spread]
    front: str
    worst_off_note: str
    values: dict[str, list[float]]
    pooled_gap: PooledGap


@dataclass(frozen=True, repr=False)
class WorldSummary(ShortRepr):
    """The results of all policies in a world.

    Attributes
    ----------
    world : SuiteWorld
        The world.
    rounds : float
        The number of rounds measured.
    groups, small_groups : dict
        The groups that count, and the groups that are too small, each with its number of measured rounds, as a
        mean over seeds.
    policies : dict
        The results of each policy.
    best : dict
        The mean reward of each group if every user got the best arm.
    best_gap : float
        The mean over seeds of the reward gap if every user got the best arm, for comparison with the gaps of the
        policies.
    oracle : dict or None
        The mean reward that the oracle gives each group at the tolerance; None if no policy can meet it.
    oracle_reward : float or None
        The mean reward of the oracle.
    oracle_gap : float
        The mean over seeds of the gap of an oracle that does not know which users will arrive; see
        `fairbandits.compare.oracle.gaps_on_same_users`.
    smallest_gap : float
        The smallest gap that any policy could have, over all seeds together.
    frontier : list of pairs
        Tolerances, and the utility loss of the oracle at each.
    data_source : str
        One line that names the data.
    not_applicable : dict
        The reason why a policy cannot run in this world, by policy.
    """

    world: SuiteWorld
    rounds: float
    groups: dict[Group, float]
    small_groups: dict[Group, float]
    policies: dict[str, PolicySummary]
    best: dict[Group, float]
    best_gap: float
    oracle: dict[Group, float] | None
    oracle_reward: float | None
    oracle_gap: float
    smallest_gap: float
    frontier: list[tuple[float, float]]
    data_source: str
    not_applicable: Mapping[str, str] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        from fairbandits.compare.notebook import world_html  # noqa: PLC0415 - imports this module

        return world_html(self)


def summarise_world(
    world: SuiteWorld,
    runs: Mapping[str, Seeds],
    tolerance: float,
    *,
    min_rounds: int | None = None,
    not_applicable: Mapping[str, str] | None = None,
) -> WorldSummary:
    """Summarise the runs of all policies in one world.

    Parameters
    ----------
    world : SuiteWorld
        The world.
    runs : mapping
        The summaries of all seeds, by policy.
    tolerance : float
        The tolerated reward gap.
    min_rounds : int, optional
        The number of measured rounds over all seeds that a group needs to count; by default a share of the rounds.
    not_applicable : mapping, optional
        The reason why a policy cannot run in this world, by policy.
    """
    any_policy = next(iter(runs.values()))
    _check_same_rounds(any_policy, runs)
    seeds = [run.part(world.measured) for run in any_policy]
    reported, groups = all_groups(seeds), assessed_groups(seeds, min_rounds)
    optima = [optimum(means, tolerance, groups) for means in seeds]
    feasible = [oracle for oracle in optima if oracle is not None]
    all_feasible = len(feasible) == len(optima)
    n_arms = [len(set().union(*(run.arms for run in of_seed))) for of_seed in zip(*runs.values(), strict=True)]
    values = {
        title: _values([
            measure_run(run, world.measured, groups, reported, tolerance, n) | _below_oracle(run, world, oracle)
            for run, oracle, n in zip(of_policy, optima, n_arms, strict=True)
        ])
        for title, of_policy in runs.items()
    }  # fmt: skip
    gaps = {
        title: pooled_gap([run.part(world.measured) for run in of_policy], groups)
        for title, of_policy in runs.items()
    }
    best = [means.group_means(means.best, groups) for means in seeds]
    oracle_means = _mean_by_group([oracle.groups for oracle in feasible]) if all_feasible else None
    return WorldSummary(
        world,
        float(np.mean([means.count.sum() for means in seeds])),
        groups,
        {group: rounds for group, rounds in reported.items() if group not in groups},
        _policy_summaries(values, gaps, oracle_means, tolerance),
        _mean_by_group(best),
        float(np.mean([reward_gap(means) for means in best])),
        oracle_means,
        float(np.mean([oracle.reward for oracle in feasible])) if all_feasible else None,
        float(np.mean(gaps_on_same_users(seeds, tolerance, groups))),
        smallest_gap(pool(seeds), groups),
        frontier(seeds, groups),
        any_policy[0].data_source,
        dict(not_applicable or {}),
    )


def _check_same_rounds(reference: Seeds, runs: Mapping[str, Seeds]) -> None:
    """Raise ValueError unless the visitors and the rewards of the arms are the same for every policy."""
    for title, of_policy in runs.items():
        for seed, (run, expected) in enumerate(zip(of_policy, reference, strict=True)):
            if run.groups != expected.groups or not all(
                np.allclose(getattr(run, name), getattr(expected, name), rtol=1e-9)
                for name in ("count", "best", "worst")
            ):
                raise ValueError(
                    f"world must have the same visitors and rewards for every policy, got different ones for "
                    f"{title} with seed {seed} ({run.data_source}); "
                    "fairbandits.testing.check_world finds the first difference"
                )


def _below_oracle(run: RunSummary, world: SuiteWorld, oracle: Optimum | None) -> dict[str, float]:
    if oracle is None:
        return {}
    means = run.part(world.measured)
    return {"below_oracle": oracle.reward - means.overall_mean(means.mean)}


def _values(seeds: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    """Return the values of all seeds by measure; NaN for a group that is absent from a seed."""
    names = dict.fromkeys(name for seed in seeds for name in seed)
    return {name: [seed.get(name, float("nan")) for seed in seeds] for name in names}


def _spread(values: Sequence[float]) -> Spread:
    """Return the mean and the standard deviation over the seeds in which a measure is defined."""
    return mean_and_sd([value for value in values if np.isfinite(value)])


def _policy_summaries(
    values: Mapping[str, Mapping[str, list[float]]],
    gaps: Mapping[str, PooledGap],
    oracle: dict[Group, float] | None,
    tolerance: float,
) -> dict[str, PolicySummary]:
    metrics = {
        title: {metric: _spread(of_seeds) for metric, of_seeds in of_policy.items() if np.isfinite(of_seeds).any()}
        for title, of_policy in values.items()
    }
    points = {title: (of["utility_loss"][0], of["reward_gap"][0]) for title, of in metrics.items()}
    positions = front_positions(points)
    baseline = metrics.get(BASELINE)
    return {
        title: PolicySummary(
            of_policy,
            positions[title],
            worst_off_note(of_policy, baseline, oracle, tolerance),
            dict(values[title]),
            gaps[title],
        )
        for title, of_policy in metrics.items()
    }


def _mean_by_group(seeds: Sequence[Mapping[Group, float]]) -> dict[Group, float]:
    groups = dict.fromkeys(group for seed in seeds for group in seed)
    return {group: float(np.mean([seed[group] for seed in seeds if group in seed])) for group in groups}
