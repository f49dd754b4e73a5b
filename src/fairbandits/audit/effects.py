"""The effects into which a gap is decomposed, and the influence of missing rewards, for both kinds of audit."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fairbandits.audit.decomposition import ArmEffects, decompose
from fairbandits.audit.grouped_sums import GroupedSums, RewardSums
from fairbandits.audit.intervals import GroupMeans, IntervalEstimate
from fairbandits.audit.results import ArmContribution, Decomposition, GroupResult, MissingRewards
from fairbandits.audit.settings import AuditSettings
from fairbandits.fairness import Gap

# The number of arms whose contributions are reported one by one.
_MAX_ARMS = 10

Interval = Callable[[float, Any], IntervalEstimate]


def arm_effects(
    sums: GroupedSums,
    groups: tuple[int, int],
    interval: Interval,
    standard_errors: Callable[[Any], tuple[Any, Any, Any]] | None = None,
    min_cell: int = 0,
) -> Decomposition:
    """Decompose the gap between two groups: the mean of the first minus that of the second.

    Parameters
    ----------
    sums : GroupedSums
        The sums of the groups.
    groups : tuple of two ints
        The numbers of the groups, the one with the higher mean first.
    interval : callable
        A function that returns an interval, given an estimate and its standard error.
    standard_errors : callable, optional
        A function that is given the numbers of the arms, and returns the standard errors of `ArmEffects.sums()`
        and of `ArmEffects.total`, and the number of users in each group and arm. Without it there are no
        intervals, and rewards count as users.
    min_cell : int
        The number of users of either group below which an arm is not reported individually.
    """
    by_arm = [sums.by_arm(number) for number in groups]
    arms = np.flatnonzero(by_arm[0].count + by_arm[1].count)
    first, second = (each.select(arms) for each in by_arm)
    effects = decompose(first.count, first.total, second.count, second.total)
    exposure, one_sided, within_arm = effects.sums()
    errors, arm_errors, users = (
        (np.full(3, np.nan), np.full(arms.size, np.nan), (first.count, second.count))
        if standard_errors is None
        else standard_errors(arms)
    )
    top = _reported(effects.total, users, min_cell)
    shares = [each.count / each.count.sum() for each in (first, second)]
    low = sums.reward_range[0]
    return Decomposition(
        exposure_effect=interval(exposure, errors[0]),
        one_sided=interval(one_sided, errors[1]),
        within_arm_effect=interval(within_arm, errors[2]),
        one_sided_shares=(float(shares[0] @ effects.is_one_sided), float(shares[1] @ effects.is_one_sided)),
        arms=tuple(
            ArmContribution(
                arm=sums.arms[arms[i]],
                exposure_effect=float(effects.exposure[i]),
                within_arm_effect=float(effects.within_arm[i]),
                total=interval(effects.total[i], arm_errors[i]),
                shares=(float(shares[0][i]), float(shares[1][i])),
                means=(_arm_mean(first, i, low), _arm_mean(second, i, low)),
            )
            for i in top
        ),
        n_arms=int(arms.size),
        rest=float(np.delete(effects.total, top).sum()),
        rare_share=_rare_share(effects, shares),
    )


def _reported(totals: Any, users: Any, min_cell: int) -> Any:
    """Return the numbers of the arms with the largest effects, except arms that too few users received."""
    order = np.argsort(-np.abs(totals), kind="stable")
    is_small = np.logical_or(*((each > 0) & (each < min_cell) for each in users))
    fewest = np.minimum(*(np.where(each > 0, each, np.inf) for each in users))
    while is_small.any() and not is_small.all() and _is_revealed(is_small, users, min_cell):
        # The remaining arms would reveal the small ones, so the arm with the next fewest users is also left out.
        is_small[int(np.argmin(np.where(is_small, np.inf, fewest)))] = True
    return order[~is_small[order]][:_MAX_ARMS]


def _is_revealed(is_small: Any, users: Any, min_cell: int) -> bool:
    """Return whether only one arm is left out, or the arms left out together have too few users in a group."""
    together = [float(each[is_small].sum()) for each in users]
    return is_small.sum() == 1 or any(0.0 < n < min_cell for n in together)


def _rare_share(effects: ArmEffects, shares: list[Any]) -> float:
    return float((shares[0] + shares[1]) @ effects.is_rare) / 2.0


def _arm_mean(sums: RewardSums, arm: int, low: float) -> float:
    return float(low + sums.mean[arm]) if sums.count[arm] else math.nan


def missing_rewards(
    sums: GroupedSums,
    shares: GroupMeans,
    share_gap: IntervalEstimate,
    groups: list[GroupResult],
    numbers: Any,
    disadvantaged: int,
    lower_is_better: bool,
) -> MissingRewards:
    """Return the shares of missing rewards, and the worst-case bounds of the gap.

    Parameters
    ----------
    sums : GroupedSums
        The sums of the groups.
    shares : GroupMeans
        The shares of missing rewards of the compared groups.
    share_gap : IntervalEstimate
        The highest share minus the lowest.
    groups : list of GroupResult
        The compared groups, in the order of `shares`.
    numbers : array of int
        The numbers of the compared groups.
    disadvantaged : int
        The number of the disadvantaged group.
    lower_is_better : bool
        Whether rewards are harms.
    """
    overall = sums.overall
    span = sums.reward_range[1] - sums.reward_range[0]
    decisions = np.maximum(overall.count + overall.missing, 1.0)
    # Measured from the lowest reward: a missing reward adds 0 at worst and the whole range at best.
    low, high = overall.total / decisions, (overall.total + overall.missing * span) / decisions
    worst, best = (-high, -low) if lower_is_better else (low, high)
    others = np.array([number for number in numbers if number != disadvantaged])
    margins = worst[others] - best[disadvantaged]
    differences = best[numbers][:, None] - worst[numbers][None, :]
    np.fill_diagonal(differences, -np.inf)
    return MissingRewards(
        share_gap=share_gap,
        most=groups[int(np.argmax(shares.mean))],
        least=groups[int(np.argmin(shares.mean))],
        gap_bounds=(float(margins.max() if margins.min() > 0.0 else margins.min()), float(differences.max())),
    )


def named_gap(
    estimate: tuple[float, float, float],
    sums: GroupedSums,
    settings: AuditSettings,
    advantaged: GroupResult,
    disadvantaged: GroupResult,
) -> Gap:
    """Return a gap, given by its value and bounds, with the names of its attributes and groups."""
    value, low, high = estimate
    return Gap(
        value,
        low=low,
        high=high,
        confidence=settings.confidence,
        attribute=" x ".join(sums.attributes),
        advantaged=advantaged.name,
        disadvantaged=disadvantaged.name,
    )


def conclusion(low: float, high: float, tolerance: float | None) -> str:
    """Return the conclusion from the interval of a gap."""
    if tolerance is None:
        return "gap" if low > 0.0 else "undecided"
    return "unfair" if low > tolerance else "fair" if high <= tolerance else "undecided"
