"""Sequential comparison of groups: anytime-valid intervals, for a log that is being watched while it grows.

The estimand is the average, over the rounds so far, of the conditional expectation of each reward. Nothing is
claimed about a population of users.
"""

from __future__ import annotations

import math

import numpy as np

from fairbandits.audit.effects import arm_effects, conclusion, missing_rewards, named_gap
from fairbandits.audit.grouped_sums import GroupedSums
from fairbandits.audit.intervals import IntervalEstimate, mean_rewards, missing_shares, start_of_final_run
from fairbandits.audit.results import Comparison, GapAnalysis, GroupResult, Timeline, Unassessed
from fairbandits.audit.settings import AuditSettings


def compare_sequentially(sums: GroupedSums, settings: AuditSettings, error: float) -> Comparison:
    """Compare groups with confidence sequences.

    Parameters
    ----------
    sums : GroupedSums
        The sums of the groups.
    settings : AuditSettings
        The settings.
    error : float
        The error probability of the interval of one group.
    """
    return _SequentialComparison(sums, settings, error).result()


class _SequentialComparison:
    def __init__(self, sums: GroupedSums, settings: AuditSettings, error: float) -> None:
        self.sums, self.settings, self.error = sums, settings, error
        self.large = np.flatnonzero(sums.overall.count >= settings.min_rows)
        self.means = mean_rewards(sums.overall, sums.reward_range, error)
        self.shares = missing_shares(sums.overall, error)

    def result(self) -> Comparison:
        groups = [self._group(number) for number in range(len(self.sums.labels))]
        sign = -1.0 if self.settings.lower_is_better else 1.0
        large = sorted(self.large.tolist(), key=lambda number: sign * self.means.mean[number])
        small = [group for group in groups if not group.is_large_enough]
        analysis = self._analyse(groups, large) if len(large) > 1 else None
        unknown = float(self.sums.unknown.count + self.sums.unknown.missing)
        decided = float((self.sums.overall.count + self.sums.overall.missing).sum()) + unknown
        in_small = float(sum(group.rewards + group.missing for group in small))
        return Comparison(
            self.sums.attributes,
            (*(groups[number] for number in large), *small),
            analysis.conclusion if analysis is not None else "too small",
            analysis,
            Unassessed(decided, unknown, in_small, math.nan, ()),
        )

    def _group(self, number: int) -> GroupResult:
        overall, is_large = self.sums.overall, number in self.large
        mean, rewards = self.means.estimate(number), int(overall.count[number])
        return GroupResult(
            labels=self.sums.labels[number],
            rewards=rewards,
            missing=int(overall.missing[number]),
            users=rewards,
            effective_users=float(rewards),
            mean=mean.value,
            low=mean.low if is_large else math.nan,
            high=mean.high if is_large else math.nan,
            missing_share=self.shares.estimate(number),
            is_large_enough=is_large,
        )

    def _analyse(self, groups: list[GroupResult], large: list[int]) -> GapAnalysis:
        value, low, high = (float(part) for part in self.means.select(self.large).gap())
        disadvantaged, advantaged = large[0], large[-1]
        gap = named_gap((value, low, high), self.sums, self.settings, groups[advantaged], groups[disadvantaged])
        pair = (disadvantaged, advantaged) if self.settings.lower_is_better else (advantaged, disadvantaged)
        shares = self.shares.select(self.large)
        share_gap = IntervalEstimate(*(float(part) for part in shares.gap()))
        return GapAnalysis(
            self.sums.attributes,
            tuple(groups[number] for number in large),
            conclusion(low, high, self.settings.tolerance),
            gap,
            math.nan,
            None,
            None,
            self._timeline(groups),
            arm_effects(self.sums, pair, _without_interval),
            missing_rewards(
                self.sums,
                shares,
                share_gap,
                [groups[i] for i in self.large],
                self.large,
                disadvantaged,
                self.settings.lower_is_better,
            ),
        )

    def _timeline(self, groups: list[GroupResult]) -> Timeline:
        means = mean_rewards(self.sums.cumulative.select(self.large), self.sums.reward_range, self.error)
        _, low, high = means.gap()
        since = start_of_final_run(low > (self.settings.tolerance or 0.0))
        return Timeline(self.sums.blocks, tuple(groups[i] for i in self.large), means, low, high, since)


def _without_interval(value: float, _: float) -> IntervalEstimate:
    # An interval of an effect would hold only for a single look, but this comparison is looked at repeatedly.
    return IntervalEstimate(float(value), math.nan, math.nan)
