"""The response of `/v1/fairness`, as types that describe the API and against which tests check responses."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from fairbandits.service.http.schemas import ArmScore

_OptionalFloat = float | None


class EstimateSchema(TypedDict):
    """An estimate with its confidence interval."""

    value: float
    low: float
    high: float


class GroupGainsSchema(TypedDict):
    """The rewards of a group, its missing rewards and its exploration burden."""

    labels: list[str]
    place: int
    large_enough: Literal[True]
    rewards: int
    missing: int
    mean: float
    low: float
    high: float
    missing_share: EstimateSchema
    decisions: int
    share_of_decisions: float
    explorations: int
    share_of_explorations: float
    exploration_rate: float


class FoundGap(EstimateSchema):
    """The gap: the highest mean reward of a group minus the lowest."""

    advantaged: list[str]
    disadvantaged: list[str]


class OneSided(TypedDict):
    """The part of a gap that comes from arms that only one of the two groups was shown."""

    value: float
    share_advantaged: float
    share_disadvantaged: float


class ArmPartSchema(TypedDict):
    """The contribution of an arm to a gap: its exposure effect and its within-arm effect."""

    arm: str
    exposure_effect: float
    within_arm_effect: float
    total: float
    share_advantaged: float
    share_disadvantaged: float
    mean_advantaged: _OptionalFloat
    mean_disadvantaged: _OptionalFloat


class DecompositionSchema(TypedDict):
    """A gap decomposed by arm; `rest` is the contribution of all arms that are not listed."""

    exposure_effect: float
    within_arm_effect: float
    one_sided: OneSided
    rare_share: float
    arms: list[ArmPartSchema]
    n_arms: int
    rest: float


class MissingRewardsSchema(TypedDict):
    """The groups with the most and the fewest missing rewards, and bounds of the gap had all rewards arrived."""

    share_gap: EstimateSchema
    most: list[str]
    least: list[str]
    gap_low: float
    gap_high: float


class GroupLine(TypedDict):
    """The mean reward of a group at the end of each block of time; null while the group is too small."""

    labels: list[str]
    mean: list[_OptionalFloat]
    low: list[_OptionalFloat]
    high: list[_OptionalFloat]


class TimelineSchema(TypedDict):
    """The mean rewards of groups and the gap over time."""

    ends: list[str]
    groups: list[GroupLine]
    gap_low: list[_OptionalFloat]
    gap_high: list[_OptionalFloat]


class ComparisonSchema(TypedDict):
    """The groups of an attribute, compared. Values are null unless two groups are large enough."""

    attributes: list[str]
    conclusion: Literal["fair", "unfair", "undecided", "too small"]
    sentence: str
    groups: list[GroupGainsSchema]
    gap: FoundGap | None
    since: str | None
    decomposition: DecompositionSchema | None
    missing: MissingRewardsSchema | None
    timeline: TimelineSchema | None
    not_shown: int
    about: dict[str, str]


class RecentDecision(TypedDict):
    """A recent decision, without groups that are too small to be shown."""

    decision: str
    time: str
    groups: dict[str, str]
    picked: list[str]
    scores: list[ArmScore]
    offered: int
    propensity: _OptionalFloat
    explored: bool
    reward: _OptionalFloat


class FairnessResponse(TypedDict):
    """The gap between groups: the verdict in words, the estimates, the history, the arms, the recent decisions."""

    seq: int
    time: str
    title: str
    status: Literal["fair", "unfair", "undecided"]
    sentence: str
    detail: str
    headline: str | None
    tolerance: float
    confidence: float
    min_group: int
    reward_range: list[float]
    decisions: int
    rewards: int
    comparisons: list[ComparisonSchema]
    recent: list[RecentDecision]
