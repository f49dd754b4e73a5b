"""Comparison of groups from the sums of a log; the cost does not depend on the length of the log."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from fairbandits.audit import decomposition
from fairbandits.audit.grouped_sums import GroupedSums, RewardSums, attribute_combinations, group_by
from fairbandits.audit.intervals import IntervalEstimate, mean_rewards, missing_shares, start_of_final_run
from fairbandits.audit.log_sums import LogSums
from fairbandits.audit.results import (
    ArmContribution,
    Comparison,
    Decomposition,
    GapAnalysis,
    GroupResult,
    MissingRewards,
    Timeline,
)
from fairbandits.fairness import Gap
from fairbandits.validation import check_integer

# The number of arms whose contributions are reported one by one.
_MAX_ARMS = 10


@dataclass(frozen=True)
class AuditSettings:
    """The settings of an audit.

    Attributes
    ----------
    confidence : float
        The joint confidence of all intervals of mean rewards.
    tolerance : float or None
        The largest gap that is tolerated.
    min_rows : int
        The number of rewards that a group needs to be compared.
    seed : int
        The random seed of the bootstrap.
    """

    confidence: float = 0.95
    tolerance: float | None = None
    min_rows: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.confidence, Real) or not 0.0 < self.confidence < 1.0:
            raise ValueError(f"confidence must be between 0 and 1, exclusive, got {self.confidence!r}")
        is_number = isinstance(self.tolerance, Real)
        if self.tolerance is not None and not (is_number and 0.0 <= self.tolerance < np.inf):
            raise ValueError(f"tolerance must be a non-negative number, got {self.tolerance!r}")
        check_integer("min_rows", self.min_rows, 1)
        check_integer("seed", self.seed, 0)


def compare_all(sums: LogSums, settings: AuditSettings) -> tuple[Comparison, ...]:
    """Compare the groups of each attribute and of their intersections.

    The error probability is divided evenly over all comparisons, and within each over its groups (Bonferroni), so
    all intervals hold jointly.
    """
    combinations = attribute_combinations(list(sums.labels))
    error = (1.0 - settings.confidence) / len(combinations)
    comparisons = []
    for number, attributes in enumerate(combinations):
        grouped = group_by(sums, attributes)
        n_large = int((grouped.overall.count >= settings.min_rows).sum())
        comparisons.append(compare_groups(grouped, settings, error / max(n_large, 1), number))
    return tuple(comparisons)


def compare_groups(
    sums: GroupedSums,
    settings: AuditSettings,
    error: float,
    number: int = 0,
    max_draws: int = decomposition.MAX_DRAWS,
) -> Comparison:
    """Compare groups.

    Parameters
    ----------
    sums : GroupedSums
        The sums of the groups.
    settings : AuditSettings
        The settings.
    error : float
        The error probability of the interval of one group.
    number : int
        The number of the comparison, from 0; each has its own random stream for the bootstrap.
    max_draws : int
        The maximum number of bootstrap draws.
    """
    return _GroupComparison(sums, settings, error, number, max_draws).result()


class _GroupComparison:
    """The computation of one comparison."""

    def __init__(
        self, sums: GroupedSums, settings: AuditSettings, error: float, number: int, max_draws: int
    ) -> None:
        self.sums, self.settings, self.error, self.max_draws = sums, settings, error, max_draws
        self.reward_range = sums.reward_range
        self.large = np.flatnonzero(sums.overall.count >= settings.min_rows)
        self.rng = np.random.default_rng([settings.seed, number])
        self.means = mean_rewards(sums.overall, self.reward_range, error)
        self.missing_shares = missing_shares(sums.overall, error)

    def result(self) -> Comparison:
        """Return the comparison."""
        groups = [self._group(number) for number in range(len(self.sums.labels))]
        small = [group for group in groups if not group.is_large_enough]
        large = sorted(self.large.tolist(), key=lambda number: self.means.mean[number])
        analysis = self._analyse(groups, *large) if len(large) > 1 else None
        return Comparison(
            self.sums.attributes,
            (*(groups[number] for number in large), *small),
            analysis.conclusion if analysis is not None else "too small",
            analysis,
        )

    def _analyse(self, groups: list[GroupResult], disadvantaged: int, *others: int) -> GapAnalysis:
        advantaged = others[-1]
        gap = self._gap(groups[advantaged], groups[disadvantaged])
        return GapAnalysis(
            self.sums.attributes,
            tuple(groups[number] for number in (disadvantaged, *others)),
            self._conclusion(gap),
            gap,
            self._timeline(groups),
            self._decomposition(advantaged, disadvantaged),
            self._missing(groups, advantaged, disadvantaged),
        )

    def _group(self, number: int) -> GroupResult:
        sums, is_large_enough = self.sums.overall, number in self.large
        mean = self.means.estimate(number)
        return GroupResult(
            labels=self.sums.labels[number],
            rewards=int(sums.count[number]),
            missing=int(sums.missing[number]),
            mean=mean.value,
            low=mean.low if is_large_enough else math.nan,
            high=mean.high if is_large_enough else math.nan,
            missing_share=self.missing_shares.estimate(number),
            is_large_enough=is_large_enough,
        )

    def _gap(self, advantaged: GroupResult, disadvantaged: GroupResult) -> Gap:
        value, low, high = (float(part) for part in self.means.select(self.large).gap())
        return Gap(
            value,
            low=low,
            high=high,
            confidence=self.settings.confidence,
            attribute=" x ".join(self.sums.attributes),
            advantaged=advantaged.name,
            disadvantaged=disadvantaged.name,
        )

    def _conclusion(self, gap: Gap) -> str:
        tolerance = self.settings.tolerance
        if tolerance is None:
            return "gap" if gap.low > 0.0 else "undecided"
        return "unfair" if gap.low > tolerance else "fair" if gap.high <= tolerance else "undecided"

    def _timeline(self, groups: list[GroupResult]) -> Timeline:
        means = mean_rewards(self.sums.cumulative.select(self.large), self.reward_range, self.error)
        _, low, high = means.gap()
        since = start_of_final_run(low > (self.settings.tolerance or 0.0))
        return Timeline(self.sums.blocks, tuple(groups[i] for i in self.large), means, low, high, since)

    def _decomposition(self, advantaged: int, disadvantaged: int) -> Decomposition:
        by_arm = [self.sums.by_arm(number) for number in (advantaged, disadvantaged)]
        arms = np.flatnonzero(by_arm[0].count + by_arm[1].count)
        first, second = (sums.select(arms) for sums in by_arm)
        effects = decomposition.decompose(first.count, first.mean, second.count, second.mean)
        exposure, one_sided, within_arm, _ = effects.sums()
        errors, arm_errors = decomposition.bootstrap_standard_errors(first, second, self.rng, self.max_draws)
        top = np.argsort(-np.abs(effects.total), kind="stable")[:_MAX_ARMS]
        shares = [sums.count / sums.count.sum() for sums in (first, second)]
        return Decomposition(
            exposure_effect=self._wald_interval(exposure, errors[0]),
            one_sided=self._wald_interval(one_sided, errors[1]),
            within_arm_effect=self._wald_interval(within_arm, errors[2]),
            one_sided_shares=(float(shares[0] @ effects.one_sided), float(shares[1] @ effects.one_sided)),
            arms=tuple(
                ArmContribution(
                    arm=self.sums.arms[arms[i]],
                    exposure_effect=float(effects.exposure[i]),
                    within_arm_effect=float(effects.within_arm[i]),
                    total=self._wald_interval(effects.total[i], arm_errors[i]),
                    shares=(float(shares[0][i]), float(shares[1][i])),
                    means=(self._arm_mean(first, i), self._arm_mean(second, i)),
                )
                for i in top
            ),
            n_arms=int(arms.size),
            rest=float(np.delete(effects.total, top).sum()),
            draws=decomposition.n_draws(arms.size, self.max_draws),
        )

    def _missing(self, groups: list[GroupResult], advantaged: int, disadvantaged: int) -> MissingRewards:
        sums, shares = self.sums.overall, self.missing_shares.select(self.large)
        span = self.reward_range[1] - self.reward_range[0]
        decisions = np.maximum(sums.count + sums.missing, 1.0)
        # Measured from the lowest reward: a missing reward adds 0 at worst and the whole range at best.
        worst, best = sums.total / decisions, (sums.total + sums.missing * span) / decisions
        return MissingRewards(
            share_gap=IntervalEstimate(*(float(part) for part in shares.gap())),
            most=groups[self.large[np.argmax(shares.mean)]],
            least=groups[self.large[np.argmin(shares.mean)]],
            gap_bounds=(
                float(worst[advantaged] - best[disadvantaged]),
                float(best[advantaged] - worst[disadvantaged]),
            ),
        )

    def _arm_mean(self, sums: RewardSums, arm: int) -> float:
        return float(self.reward_range[0] + sums.mean[arm]) if sums.count[arm] else math.nan

    def _wald_interval(self, value: Any, standard_error: Any) -> IntervalEstimate:
        # Imported here because it is slow to import.
        from scipy.special import ndtri  # noqa: PLC0415

        radius = float(ndtri(0.5 + self.settings.confidence / 2.0)) * standard_error
        return IntervalEstimate(float(value), float(value - radius), float(value + radius))
