"""The measures of a run. docs/reference/fairbench.md defines them with formulas.

Gaps, ratios and welfare compare the groups of one attribute; with several attributes, the worst value counts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from fractions import Fraction

import numpy as np

from fairbandits.compare.run_summary import WINDOWS, RunSummary
from fairbandits.compare.subgroups import Floats, Group, SubgroupMeans, group_label, reward_gap
from fairbandits.compare.suite import LAST_FIFTH

#: The inequality aversion of the alpha-fair welfare.
ALPHA = 2.0

#: The measures for which more is better; less is better for the others.
HIGHER_IS_BETTER = frozenset(
    ("worst_off_reward", "reward", "reward_ratio", "nash_welfare", "alpha_fair_welfare", "arms_shown")
)


def measure_run(
    run: RunSummary,
    measured: Fraction,
    groups: Collection[Group],
    reported: Collection[Group],
    tolerance: float,
    n_arms: int,
) -> dict[str, float]:
    """Compute all measures of a run; NaN where one is undefined.

    Parameters
    ----------
    run : RunSummary
        The run.
    measured : Fraction
        The share of rounds, at the end of the run, that is measured.
    groups, reported : collections of groups
        The groups that count, and all groups; the rewards of the latter are reported.
    tolerance : float
        The tolerated reward gap.
    n_arms : int
        The number of arms among which exposure is divided.
    """
    means, late = run.part(measured), run.part(LAST_FIFTH)
    rewards = means.group_means(means.mean, groups)
    burdens = exploration_burdens(run, groups)
    measures = {
        "utility_loss": means.overall_mean(means.best - means.mean),
        "reward_gap": reward_gap(rewards),
        "late_gap": reward_gap(late.group_means(late.mean, groups)),
        "worst_off_reward": min(rewards.values(), default=float("nan")),
        "reward": means.overall_mean(means.mean),
        "reward_ratio": _worst_attribute(rewards, _ratio),
        "nash_welfare": _worst_attribute(rewards, nash_welfare),
        "alpha_fair_welfare": _worst_attribute(rewards, alpha_fair_welfare),
        "exposure_gini": gini(run.shown[measured], n_arms),
        "arms_shown": np.count_nonzero(run.shown[measured]) / n_arms,
        "violation": tolerance_violation(run, groups, tolerance),
        "exploration_burden": max(burdens.values(), default=float("nan")),
    }
    every, regrets = means.group_means(means.mean, reported), _regrets(means, reported)
    for group in every:
        if f"reward_{group_label(group)}" in measures:
            raise ValueError(
                f"groups must not be named 'gap' or 'ratio', got {group_label(group)!r}; rename the group, "
                f"because its reward would have the same name as the measure reward_{group_label(group)}"
            )
    measures |= {f"reward_{group_label(group)}": reward for group, reward in every.items()}
    measures |= {f"regret_{group_label(group)}": regret for group, regret in regrets.items()}
    return measures | {f"burden_{group_label(group)}": burden for group, burden in burdens.items()}


def _regrets(means: SubgroupMeans, groups: Collection[Group]) -> dict[Group, float]:
    return means.group_means(means.best - means.mean, groups)


def by_attribute(values: Mapping[Group, float]) -> dict[str, dict[Group, float]]:
    """Return the values of the groups of each attribute."""
    found: dict[str, dict[Group, float]] = {}
    for group, value in values.items():
        found.setdefault(group[0], {})[group] = value
    return found


def _worst_attribute(rewards: Mapping[Group, float], measure: Callable[[Floats], float]) -> float:
    values = [measure(np.array(list(means.values()))) for means in by_attribute(rewards).values()]
    return min(values, default=float("nan"))


def _ratio(means: Floats) -> float:
    return float(means.min() / means.max()) if means.max() > 0 else 1.0


def nash_welfare(means: Floats) -> float:
    """Compute the Nash welfare of groups: the geometric mean of their mean rewards.

    Examples
    --------
    >>> round(nash_welfare(np.array([0.9, 0.4])), 6)
    0.6
    """
    return float(np.exp(np.mean(np.log(means)))) if means.min() > 0 else 0.0


def alpha_fair_welfare(means: Floats, alpha: float = ALPHA) -> float:
    """Compute the alpha-fair welfare of groups, expressed as the equally distributed equivalent reward.

    The equally distributed equivalent is the reward that, if every group received it, would yield the same
    welfare. It is the power mean with exponent 1 - alpha: the mean for 0, the Nash welfare for 1, the harmonic
    mean for 2, and the lowest reward in the limit.

    Examples
    --------
    >>> round(alpha_fair_welfare(np.array([0.9, 0.4])), 6)
    0.553846
    """
    return float(np.mean(means ** (1 - alpha)) ** (1 / (1 - alpha))) if means.min() > 0 else 0.0


def gini(counts: Floats | np.ndarray[tuple[int], np.dtype[np.int64]], n_arms: int) -> float:
    """Compute the Gini coefficient of exposure: 0 if all arms are shown equally often, near 1 if only one is.

    Parameters
    ----------
    counts : array
        The number of times that each arm was shown; arms that are missing were never shown.
    n_arms : int
        The number of arms.

    Examples
    --------
    >>> gini(np.array([5, 5]), 2), gini(np.array([10]), 4)
    (0.0, 0.75)
    """
    ordered = np.sort(np.concatenate([np.zeros(n_arms - len(counts)), np.asarray(counts, np.float64)]))
    if not ordered.sum():
        return 0.0
    place = 2 * np.arange(1, n_arms + 1) - n_arms - 1
    return float(place @ ordered / (n_arms * ordered.sum()))


def tolerance_violation(run: RunSummary, groups: Collection[Group], tolerance: float) -> float:
    """Compute the share of the run in which the gap between the mean rewards so far exceeds the tolerance.

    The gap is taken at the end of each of the twenty windows of the run.
    """
    gaps = []
    for stop in range(1, WINDOWS + 1):
        means = run.windows(0, stop)
        gaps.append(reward_gap(means.group_means(means.mean, groups)))
    return float(np.mean(np.array(gaps) > tolerance))


def exploration_burdens(run: RunSummary, groups: Collection[Group]) -> dict[Group, float]:
    """Compute each group's cost of learning, relative to that of the average user with the same attribute.

    The cost of learning is the group's mean regret in the first half of the run minus that in the last fifth, and
    at least 0. A burden of 1 is a fair share. If learning cost no group anything, there are no burdens.
    """
    early, late = run.windows(0, WINDOWS // 2), run.part(LAST_FIFTH)
    before, after, rounds = _regrets(early, groups), _regrets(late, groups), early.rounds_by_group()
    costs = {
        group: max(before[group] - after[group], 0.0) for group in groups if group in before and group in after
    }
    burdens: dict[Group, float] = {}
    for of_attribute in by_attribute(costs).values():
        total = sum(rounds[group] for group in of_attribute)
        average = sum(rounds[group] * cost for group, cost in of_attribute.items()) / total
        if average > 0:
            burdens |= {group: cost / average for group, cost in of_attribute.items()}
    return burdens
