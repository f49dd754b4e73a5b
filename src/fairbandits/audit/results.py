"""The results of an audit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.adjusted_gaps import AdjustedGaps
from fairbandits.audit.exposure import Exposure
from fairbandits.audit.impact_ratios import ImpactRatios
from fairbandits.audit.intervals import GroupMeans, IntervalEstimate
from fairbandits.audit.reference import ReferenceComparison
from fairbandits.audit.simultaneous import PairwiseGaps
from fairbandits.audit.time_blocks import TimeBlocks
from fairbandits.audit.windows import Windows
from fairbandits.categorical import Label
from fairbandits.fairness import Gap
from fairbandits.views.short_repr import ShortRepr


@dataclass(frozen=True, repr=False)
class GroupResult(ShortRepr):
    """The rewards of one group.

    Attributes
    ----------
    labels : tuple
        The group's label for each attribute.
    rewards, missing : int
        The number of rewards, and the number of missing rewards.
    users : int
        The number of users with a reward, or the number of rewards if users are unknown.
    effective_users : float
        The number of equally active users that would provide the same amount of information.
    mean : float
        The mean reward; NaN if there are no rewards.
    low, high : float
        The confidence interval for the mean; NaN if the group is too small to compare.
    missing_share : IntervalEstimate
        The share of rewards that are missing.
    is_large_enough : bool
        Whether the group has enough data to be compared.
    """

    labels: tuple[Label, ...]
    rewards: int
    missing: int
    users: int
    effective_users: float
    mean: float
    low: float
    high: float
    missing_share: IntervalEstimate
    is_large_enough: bool

    @property
    def name(self) -> str:
        """The labels, separated by commas."""
        return ", ".join(map(str, self.labels))


@dataclass(frozen=True, repr=False)
class ArmContribution(ShortRepr):
    """The contribution of one arm to a gap.

    Attributes
    ----------
    arm : str or int
        The arm.
    exposure_effect, within_arm_effect : float
        The exposure effect and the within-arm effect of the arm.
    total : IntervalEstimate
        The sum of the two effects; its interval is NaN in a sequential audit.
    shares : tuple of two floats
        The share of rewards that came from the arm, in the advantaged and in the disadvantaged group.
    means : tuple of two floats
        The mean reward that each of the two groups received from the arm; NaN for a group that was never shown it.
    """

    arm: Label
    exposure_effect: float
    within_arm_effect: float
    total: IntervalEstimate
    shares: tuple[float, float]
    means: tuple[float, float]


@dataclass(frozen=True, repr=False)
class Decomposition(ShortRepr):
    """The gap between the advantaged and the disadvantaged group, decomposed by effect and by arm.

    Attributes
    ----------
    exposure_effect, within_arm_effect : IntervalEstimate
        The two effects, which add up to the gap; their intervals are NaN in a sequential audit.
    one_sided : IntervalEstimate
        The part of the exposure effect due to arms that only one of the groups was shown.
    one_sided_shares : tuple of two floats
        The share of rewards, in the advantaged and in the disadvantaged group, that came from arms that only one
        of the groups was shown.
    arms : tuple of ArmContribution
        The arms with the largest contributions of either sign, in descending order of size.
    n_arms : int
        The number of arms.
    rest : float
        The total contribution of all arms that are not in `arms`.
    rare_share : float
        The share of rewards, averaged over the two groups, that came from rare arms, whose within-arm effect was
        estimated from other arms that are equally rare.
    """

    exposure_effect: IntervalEstimate
    within_arm_effect: IntervalEstimate
    one_sided: IntervalEstimate
    one_sided_shares: tuple[float, float]
    arms: tuple[ArmContribution, ...]
    n_arms: int
    rest: float
    rare_share: float


@dataclass(frozen=True, repr=False)
class MissingRewards(ShortRepr):
    """Differences in the share of missing rewards, and the possible influence of missing rewards on the gap.

    Attributes
    ----------
    share_gap : IntervalEstimate
        The highest share of missing rewards minus the lowest.
    most, least : GroupResult
        The groups with the highest and the lowest share of missing rewards.
    gap_bounds : tuple of two floats
        The worst-case bounds on the gap, obtained by setting each missing reward to the lowest or the highest
        possible value. The lower bound is negative if another group could be the disadvantaged one.
    """

    share_gap: IntervalEstimate
    most: GroupResult
    least: GroupResult
    gap_bounds: tuple[float, float]


@dataclass(frozen=True, repr=False)
class ClearestGap(ShortRepr):
    """The two groups whose difference has the highest lower bound, even if the means of other groups differ more.

    Attributes
    ----------
    advantaged, disadvantaged : GroupResult
        The groups.
    difference : IntervalEstimate
        The difference between their mean rewards. The groups demonstrably differ if the interval lies above 0.
    extremes : IntervalEstimate
        The difference between the highest and the lowest mean reward of a group, with its interval.
    """

    advantaged: GroupResult
    disadvantaged: GroupResult
    difference: IntervalEstimate
    extremes: IntervalEstimate


@dataclass(frozen=True, eq=False, repr=False)
class Timeline(ShortRepr):
    """The cumulative mean rewards of the groups at the end of each time block.

    Attributes
    ----------
    blocks : TimeBlocks
        The time blocks.
    groups : tuple of GroupResult
        The groups that are large enough to be compared.
    means : GroupMeans
        The mean of each group's rewards up to the end of each block, as arrays of shape (blocks, groups); NaN
        before the first reward of a group.
    gap_low, gap_high : arrays
        The interval for the gap at the end of each block.
    since : int or None
        The first block of the final run of blocks in which the lower bound of the gap exceeds the tolerance (or
        zero, if no tolerance is set); None if the lower bound does not exceed it at the end of the log.
    """

    blocks: TimeBlocks
    groups: tuple[GroupResult, ...]
    means: GroupMeans
    gap_low: Any
    gap_high: Any
    since: int | None


@dataclass(frozen=True, eq=False, repr=False)
class History(ShortRepr):
    """The mean rewards of the groups in each window of time, with simultaneous intervals.

    Attributes
    ----------
    windows : Windows
        The windows.
    groups : tuple of GroupResult
        The groups that are compared.
    means : GroupMeans
        The mean rewards, of shape (windows, groups); NaN where a group has too little data in a window.
    gaps : tuple of WindowGap
        The gap in each window.
    difference_low : array of shape (windows, groups, groups)
        The lower bound of the difference in mean reward between each pair of groups in each window; NaN where
        one of the two groups has too little data. All bounds hold jointly.
    tolerance : float or None
        The largest gap that is tolerated.
    """

    windows: Windows
    groups: tuple[GroupResult, ...]
    means: GroupMeans
    gaps: tuple[WindowGap, ...]
    difference_low: NDArray[np.float64]
    tolerance: float | None

    @property
    def unfair(self) -> list[int]:
        """The windows in which the gap exceeds the tolerance, or exceeds zero if there is no tolerance."""
        return [number for number, gap in enumerate(self.gaps) if gap.conclusion in ("unfair", "gap")]


@dataclass(frozen=True, repr=False)
class WindowGap(ShortRepr):
    """The gap in one window of time.

    Attributes
    ----------
    gap : IntervalEstimate
        The highest mean reward of a group minus the lowest; NaN if fewer than two groups can be compared.
    advantaged, disadvantaged : GroupResult or None
        The groups with the highest and the lowest mean reward in the window.
    conclusion : str
        As in `Comparison`.
    detectable : float
        The smallest gap that the audit would have shown, with 80% power, to exceed the tolerance.
    clearest : ClearestGap or None
        As in `GapAnalysis`.
    """

    gap: IntervalEstimate
    advantaged: GroupResult | None
    disadvantaged: GroupResult | None
    conclusion: str
    detectable: float
    clearest: ClearestGap | None = None


@dataclass(frozen=True, repr=False)
class Unassessed(ShortRepr):
    """The users whom a comparison could not assess.

    Attributes
    ----------
    users : float
        The total number of users, or of decisions if there is no user column.
    unknown, in_small_groups : float
        The number of users whose group is unknown, and the number of users in groups that are too small.
    worst_case : float
        The gap that would result if all users whose group is unknown belonged to whichever groups would widen the
        gap most.
    outside : tuple of GroupResult
        The small groups that a test shows to differ from a compared group by more than the tolerance.
    without_reward : float
        The number of users who belong to a compared group, but whose rewards are all missing.
    """

    users: float
    unknown: float
    in_small_groups: float
    worst_case: float
    outside: tuple[GroupResult, ...]
    without_reward: float = 0.0

    @property
    def total(self) -> float:
        """The number of users who could not be assessed."""
        return self.unknown + self.in_small_groups + self.without_reward

    @property
    def share(self) -> float:
        """The share of users who could not be assessed."""
        return self.total / self.users if self.users else 0.0


@dataclass(frozen=True, eq=False, repr=False)
class GapAnalysis(ShortRepr):
    """The gap between the groups of a comparison, with its history and its decomposition.

    Attributes
    ----------
    attributes : tuple of str
        The attributes.
    groups : tuple of GroupResult
        The groups that are large enough to be compared, with the disadvantaged one first.
    conclusion : str
        As in `Comparison`.
    gap : Gap
        The highest mean reward minus the lowest, with its interval.
    detectable : float
        The smallest gap that the audit would have shown, with 80% power, to exceed the tolerance; NaN in a
        sequential audit.
    recent : WindowGap or None
        The gap in the most recent window; None in a sequential audit, or if there is no history.
    history : History or None
        The gap over time, with fixed-sample intervals; None in a sequential audit.
    timeline : Timeline or None
        The cumulative means over time, with anytime-valid intervals; None in a fixed-sample audit.
    decomposition : Decomposition
        The decomposition of the gap, by effect and by arm.
    missing : MissingRewards
        The possible influence of missing rewards.
    pairwise : PairwiseGaps or None
        The difference in mean reward between the two groups of each pair; None in a sequential audit.
    clearest : ClearestGap or None
        The two groups whose difference has the highest lower bound; None in a sequential audit.
    """

    attributes: tuple[str, ...]
    groups: tuple[GroupResult, ...]
    conclusion: str
    gap: Gap
    detectable: float
    recent: WindowGap | None
    history: History | None
    timeline: Timeline | None
    decomposition: Decomposition
    missing: MissingRewards
    pairwise: PairwiseGaps | None = None
    clearest: ClearestGap | None = None

    @property
    def has_history(self) -> bool:
        """Whether there is more than one time block with data."""
        if self.timeline is not None:
            return self.timeline.blocks.n > 1 and not bool(np.isnan(self.timeline.means.mean).all())
        return self.history is not None and self.history.windows.n > 1

    @property
    def disadvantaged(self) -> GroupResult:
        """The group with the lowest mean reward, or with the highest if lower is better."""
        return self.groups[0]

    @property
    def advantaged(self) -> GroupResult:
        """The group with the highest mean reward, or with the lowest if lower is better."""
        return self.groups[-1]

    @property
    def is_detectable(self) -> bool:
        """Whether the gap is detectable at the end of the log and `timeline.since` is known."""
        return (
            self.timeline is not None and self.timeline.since is not None and self.conclusion in ("gap", "unfair")
        )

    @property
    def name(self) -> str:
        """The attributes, joined by "x"."""
        return " x ".join(self.attributes)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(ShortRepr):
    """A comparison of the groups of one or more attributes.

    Attributes
    ----------
    attributes : tuple of str
        The attributes; if there are several, the groups are intersections.
    groups : tuple of GroupResult
        All groups: first those that are large enough to be compared, in ascending order of mean reward, then the
        others.
    conclusion : str
        With a tolerance, "unfair", "fair" or "undecided"; without one, "gap" or "undecided"; "too small" if fewer
        than two groups are large enough.
    analysis : GapAnalysis or None
        The analysis of the gap; None if fewer than two groups can be compared.
    unassessed : Unassessed
        The users who could not be assessed.
    shared_users : int
        The number of users who appear in several groups.
    reference : ReferenceComparison or None
        Differences from the reference group, and ratios to it.
    exposure : Exposure or None
        The distribution of exposure over arms.
    impact : ImpactRatios or None
        Impact ratios, if requested.
    adjusted : AdjustedGaps or None
        Differences adjusted for the factors, which are the columns of the log with the role `given`; None if there
        are no such columns.
    """

    attributes: tuple[str, ...]
    groups: tuple[GroupResult, ...]
    conclusion: str
    analysis: GapAnalysis | None
    unassessed: Unassessed
    shared_users: int = 0
    reference: ReferenceComparison | None = None
    exposure: Exposure | None = None
    impact: ImpactRatios | None = None
    adjusted: AdjustedGaps | None = None

    @property
    def recent_conclusion(self) -> str | None:
        """The conclusion about the most recent window; None if there is no such window."""
        recent = self.analysis.recent if self.analysis is not None else None
        return recent.conclusion if recent is not None else None

    @property
    def name(self) -> str:
        """The attributes, joined by "x"."""
        return " x ".join(self.attributes)

    @property
    def compared(self) -> tuple[GroupResult, ...]:
        """The groups that are large enough to be compared."""
        return tuple(group for group in self.groups if group.is_large_enough)

    @property
    def too_small(self) -> tuple[GroupResult, ...]:
        """The groups that are too small to be compared."""
        return tuple(group for group in self.groups if not group.is_large_enough)
