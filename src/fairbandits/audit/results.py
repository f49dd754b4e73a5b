"""What an audit finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairbandits.audit.intervals import GroupMeans, IntervalEstimate
from fairbandits.audit.time_blocks import TimeBlocks
from fairbandits.categorical import Label
from fairbandits.fairness import Gap


@dataclass(frozen=True)
class GroupGains:
    """What one group gained.

    Attributes
    ----------
    labels : tuple
        The group, a label for each attribute.
    rewards, missing : int
        How many rewards came, and how many never did.
    mean : float
        The mean of those that came; NaN where none did.
    low, high : float
        Its interval; NaN where the group is too small to say anything.
    missing_share : IntervalEstimate
        Which share of its rewards never came.
    enough : bool
        Whether the group is large enough to be compared.
    """

    labels: tuple[Label, ...]
    rewards: int
    missing: int
    mean: float
    low: float
    high: float
    missing_share: IntervalEstimate
    enough: bool

    @property
    def name(self) -> str:
        """The group in a few words."""
        return ", ".join(map(str, self.labels))


@dataclass(frozen=True)
class ArmPart:
    """What one arm contributes to a gap.

    Attributes
    ----------
    arm : str or int
        The arm.
    shown, same_arm : float
        By who was shown what, and by who got more from the same arm.
    total : IntervalEstimate
        Both, with the interval of a bootstrap.
    shares : tuple of two floats
        Which share of the rewards of the group ahead, and of the group behind, came from the arm.
    means : tuple of two floats
        What the arm gave each of the two on average; NaN where it was never shown.
    """

    arm: Label
    shown: float
    same_arm: float
    total: IntervalEstimate
    shares: tuple[float, float]
    means: tuple[float, float]


@dataclass(frozen=True)
class Decomposition:
    """A gap between the group ahead and the group behind, split exactly over two causes and over arms.

    Attributes
    ----------
    shown, same_arm : IntervalEstimate
        By who was shown what, and by who got more from the same arm; they add up to the gap.
    one_sided : IntervalEstimate
        The part of `shown` that is due to arms which only one of the two groups was shown.
    one_sided_shares : tuple of two floats
        Which share of the rewards of the group ahead, and of the group behind, came from such arms.
    arms : tuple of ArmPart
        The arms that contribute most, either way, the largest first.
    n_arms : int
        How many arms there are in all.
    rest : float
        What all other arms contribute together.
    draws : int
        How often the bootstrap was drawn.
    """

    shown: IntervalEstimate
    same_arm: IntervalEstimate
    one_sided: IntervalEstimate
    one_sided_shares: tuple[float, float]
    arms: tuple[ArmPart, ...]
    n_arms: int
    rest: float
    draws: int


@dataclass(frozen=True)
class MissingRewards:
    """Whose rewards are missing more often, and what that could hide.

    Attributes
    ----------
    apart : IntervalEstimate
        How far the highest and the lowest share of missing rewards are apart.
    most, least : GroupGains
        The groups with the highest and the lowest share.
    bounds : tuple of two floats
        How small and how large the gap could be, had the missing rewards come: the lowest possible ones for one of
        the two groups, the highest for the other.
    """

    apart: IntervalEstimate
    most: GroupGains
    least: GroupGains
    bounds: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Timeline:
    """How the mean rewards of the groups came about, as known at the end of each block of time.

    Attributes
    ----------
    blocks : TimeBlocks
        The blocks of time.
    groups : tuple of GroupGains
        The groups that are large enough.
    means : GroupMeans
        Of shape (blocks, groups): the mean of all rewards up to then, NaN before the first.
    gap_low, gap_high : arrays
        How far apart the groups were then, at least and at most.
    since : int or None
        The block from which on the gap has shown: its interval excluded zero, or what is tolerated.
    """

    blocks: TimeBlocks
    groups: tuple[GroupGains, ...]
    means: GroupMeans
    gap_low: Any
    gap_high: Any
    since: int | None


@dataclass(frozen=True, eq=False)
class GroupGap:
    """How far the groups of a comparison are apart, and all that goes with it.

    Attributes
    ----------
    attributes : tuple of str
        What they are compared by.
    groups : tuple of GroupGains
        The groups that are large enough, the worst off first.
    word : str
        As in `Comparison`.
    gap : Gap
        The highest mean reward less the lowest, with its interval.
    timeline : Timeline
        Since when.
    decomposition : Decomposition
        By what.
    missing : MissingRewards
        What missing rewards may hide.
    """

    attributes: tuple[str, ...]
    groups: tuple[GroupGains, ...]
    word: str
    gap: Gap
    timeline: Timeline
    decomposition: Decomposition
    missing: MissingRewards

    @property
    def has_times(self) -> bool:
        """Whether there is anything to show over time."""
        return self.timeline.blocks.n > 1 and not bool(np.isnan(self.timeline.means.mean).all())

    @property
    def behind(self) -> GroupGains:
        """The group that gained least."""
        return self.groups[0]

    @property
    def ahead(self) -> GroupGains:
        """The group that gained most."""
        return self.groups[-1]

    @property
    def name(self) -> str:
        """What is compared, in a few words."""
        return " x ".join(self.attributes)


@dataclass(frozen=True, eq=False)
class Comparison:
    """The groups of one or more attributes, compared.

    Attributes
    ----------
    attributes : tuple of str
        The attributes; where they are several, a group is an intersection of theirs.
    groups : tuple of GroupGains
        All groups: first those that are large enough, the worst off first, then the others.
    word : str
        What is found: "unfair", "fair" or "unsure" where something is tolerated, "apart" or "unsure" where not;
        "too small" where fewer than two groups are large enough.
    difference : GroupGap or None
        How far the groups are apart; None where there are not two to compare.
    """

    attributes: tuple[str, ...]
    groups: tuple[GroupGains, ...]
    word: str
    difference: GroupGap | None

    @property
    def name(self) -> str:
        """What is compared, in a few words."""
        return " x ".join(self.attributes)

    @property
    def enough(self) -> tuple[GroupGains, ...]:
        """The groups that are large enough."""
        return tuple(group for group in self.groups if group.enough)

    @property
    def too_small(self) -> tuple[GroupGains, ...]:
        """The groups that are not."""
        return tuple(group for group in self.groups if not group.enough)
