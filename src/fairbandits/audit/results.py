"""The results of an audit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairbandits.audit.intervals import GroupMeans, IntervalEstimate
from fairbandits.audit.time_blocks import TimeBlocks
from fairbandits.categorical import Label
from fairbandits.fairness import Gap


@dataclass(frozen=True)
class GroupResult:
    """The rewards of one group.

    Attributes
    ----------
    labels : tuple
        The label of each attribute.
    rewards, missing : int
        The number of rewards, and of missing rewards.
    mean : float
        The mean reward; NaN without rewards.
    low, high : float
        The confidence interval of the mean; NaN if the group is too small to compare.
    missing_share : IntervalEstimate
        The share of rewards that are missing.
    is_large_enough : bool
        Whether the group has enough rewards to be compared.
    """

    labels: tuple[Label, ...]
    rewards: int
    missing: int
    mean: float
    low: float
    high: float
    missing_share: IntervalEstimate
    is_large_enough: bool

    @property
    def name(self) -> str:
        """The labels, separated by commas."""
        return ", ".join(map(str, self.labels))


@dataclass(frozen=True)
class ArmContribution:
    """The contribution of one arm to a gap.

    Attributes
    ----------
    arm : str or int
        The arm.
    exposure_effect, within_arm_effect : float
        The two effects.
    total : IntervalEstimate
        Their sum, with a bootstrap interval.
    shares : tuple of two floats
        The share of the rewards of the advantaged and the disadvantaged group that came from the arm.
    means : tuple of two floats
        The mean reward of the two groups from the arm; NaN if the group was never shown it.
    """

    arm: Label
    exposure_effect: float
    within_arm_effect: float
    total: IntervalEstimate
    shares: tuple[float, float]
    means: tuple[float, float]


@dataclass(frozen=True)
class Decomposition:
    """The gap between the advantaged and the disadvantaged group, decomposed into two effects and over arms.

    Attributes
    ----------
    exposure_effect, within_arm_effect : IntervalEstimate
        The two effects, which add up to the gap.
    one_sided : IntervalEstimate
        The part of the exposure effect due to arms that only one of the groups was shown.
    one_sided_shares : tuple of two floats
        The share of the rewards of the advantaged and the disadvantaged group that came from such arms.
    arms : tuple of ArmContribution
        The arms with the largest contributions of either sign, the largest first.
    n_arms : int
        The number of arms.
    rest : float
        The total contribution of all other arms.
    draws : int
        The number of bootstrap draws.
    """

    exposure_effect: IntervalEstimate
    within_arm_effect: IntervalEstimate
    one_sided: IntervalEstimate
    one_sided_shares: tuple[float, float]
    arms: tuple[ArmContribution, ...]
    n_arms: int
    rest: float
    draws: int


@dataclass(frozen=True)
class MissingRewards:
    """Differences in missing rewards, and their possible influence on the gap.

    Attributes
    ----------
    share_gap : IntervalEstimate
        The highest share of missing rewards minus the lowest.
    most, least : GroupResult
        The groups with the highest and the lowest share.
    gap_bounds : tuple of two floats
        The worst-case bounds of the gap: all missing rewards of one group at the lowest possible reward, and those
        of the other group at the highest.
    """

    share_gap: IntervalEstimate
    most: GroupResult
    least: GroupResult
    gap_bounds: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Timeline:
    """The cumulative mean rewards of the groups at the end of each time block.

    Attributes
    ----------
    blocks : TimeBlocks
        The time blocks.
    groups : tuple of GroupResult
        The groups that are large enough.
    means : GroupMeans
        Of shape (blocks, groups): the mean of all rewards up to then; NaN before the first.
    gap_low, gap_high : arrays
        The interval of the gap at the end of each block.
    since : int or None
        The first block from which on the interval of the gap has excluded zero, or the tolerance.
    """

    blocks: TimeBlocks
    groups: tuple[GroupResult, ...]
    means: GroupMeans
    gap_low: Any
    gap_high: Any
    since: int | None


@dataclass(frozen=True, eq=False)
class GapAnalysis:
    """The gap between the groups of a comparison, with its history and its decomposition.

    Attributes
    ----------
    attributes : tuple of str
        The attributes.
    groups : tuple of GroupResult
        The groups that are large enough, in ascending order of mean reward.
    conclusion : str
        As in `Comparison`.
    gap : Gap
        The highest mean reward minus the lowest, with its interval.
    timeline : Timeline
        The gap over time.
    decomposition : Decomposition
        The decomposition over arms.
    missing : MissingRewards
        The possible influence of missing rewards.
    """

    attributes: tuple[str, ...]
    groups: tuple[GroupResult, ...]
    conclusion: str
    gap: Gap
    timeline: Timeline
    decomposition: Decomposition
    missing: MissingRewards

    @property
    def has_history(self) -> bool:
        """Whether there is more than one time block, with data."""
        return self.timeline.blocks.n > 1 and not bool(np.isnan(self.timeline.means.mean).all())

    @property
    def disadvantaged(self) -> GroupResult:
        """The group with the lowest mean reward."""
        return self.groups[0]

    @property
    def advantaged(self) -> GroupResult:
        """The group with the highest mean reward."""
        return self.groups[-1]

    @property
    def is_detectable(self) -> bool:
        """Whether the gap is detectable at the end of the log and its `timeline.since` is known."""
        return self.timeline.since is not None and self.conclusion in ("gap", "unfair")

    @property
    def name(self) -> str:
        """The attributes, joined by "x"."""
        return " x ".join(self.attributes)


@dataclass(frozen=True, eq=False)
class Comparison:
    """A comparison of the groups of one or more attributes.

    Attributes
    ----------
    attributes : tuple of str
        The attributes; the groups of several attributes are intersections.
    groups : tuple of GroupResult
        All groups: first those that are large enough, in ascending order of mean reward, then the others.
    conclusion : str
        With a tolerance "unfair", "fair" or "undecided"; without one "gap" or "undecided"; "too small" if fewer
        than two groups are large enough.
    analysis : GapAnalysis or None
        The gap; None if there are no two groups to compare.
    """

    attributes: tuple[str, ...]
    groups: tuple[GroupResult, ...]
    conclusion: str
    analysis: GapAnalysis | None

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
        """The groups that are not."""
        return tuple(group for group in self.groups if not group.is_large_enough)
