"""What `/v1/fairness` answers, as types: they describe the API, and tests check answers against them."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from fairbandits.service.http.schemas import PartsOfScore

NumericFeature = float | None


class EstimateSchema(TypedDict):
    """A number, and where it may truly lie."""

    value: float
    low: float
    high: float


class GroupGainsSchema(TypedDict):
    """What a group gained, the rewards it still misses, and the experiments it bore."""

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
    """The highest mean of a group less the lowest."""

    advantaged: list[str]
    disadvantaged: list[str]


class OneSided(EstimateSchema):
    """The part of a gap that is due to arms which only one of the two groups was shown."""

    share_advantaged: float
    share_disadvantaged: float


class ArmPartSchema(TypedDict):
    """What an arm adds to a gap: by who was shown it, and by who got more from it."""

    arm: str
    exposure_effect: float
    within_arm_effect: float
    total: EstimateSchema
    share_advantaged: float
    share_disadvantaged: float
    mean_advantaged: NumericFeature
    mean_disadvantaged: NumericFeature


class DecompositionSchema(TypedDict):
    """A gap, split over arms; `rest` is what all others add."""

    exposure_effect: EstimateSchema
    within_arm_effect: EstimateSchema
    one_sided: OneSided
    arms: list[ArmPartSchema]
    n_arms: int
    rest: float
    draws: int


class MissingRewardsSchema(TypedDict):
    """Whose rewards are missing more often, and how small and large the gap could be, had they come."""

    share_gap: EstimateSchema
    most: list[str]
    least: list[str]
    gap_low: float
    gap_high: float


class GroupLine(TypedDict):
    """The mean reward of a group at the end of each block of time; null while it is not shown."""

    labels: list[str]
    mean: list[NumericFeature]
    low: list[NumericFeature]
    high: list[NumericFeature]


class TimelineSchema(TypedDict):
    """How the gap came about."""

    ends: list[str]
    groups: list[GroupLine]
    gap_low: list[NumericFeature]
    gap_high: list[NumericFeature]


class ComparisonSchema(TypedDict):
    """The groups of an attribute, compared; what is null needs two groups that are large enough."""

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
    """A decision of late; groups that are too small to be shown are left out."""

    decision: str
    time: str
    groups: dict[str, str]
    picked: list[str]
    scores: list[PartsOfScore]
    offered: int
    propensity: NumericFeature
    explored: bool
    reward: NumericFeature


class FairnessAnswer(TypedDict):
    """Who gains less: in words, now, over time, by arms; and the last decisions."""

    seq: int
    time: str
    title: str
    status: Literal["fair", "unfair", "unsure"]
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
