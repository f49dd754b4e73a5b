"""What `/v1/fairness` answers, as types: they describe the API, and tests check answers against them."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from fairbandits.service.api.schemas import PartsOfScore

Number = float | None


class Estimate(TypedDict):
    """A number, and where it may truly lie."""

    value: float
    low: float
    high: float


class GroupGains(TypedDict):
    """What a group gained, the rewards it still misses, and the experiments it bore."""

    labels: list[str]
    place: int
    enough: Literal[True]
    rewards: int
    missing: int
    mean: float
    low: float
    high: float
    missing_share: Estimate
    decisions: int
    share_of_decisions: float
    experiments: int
    share_of_experiments: float
    experiment_rate: float


class FoundGap(Estimate):
    """The highest mean of a group less the lowest."""

    ahead: list[str]
    behind: list[str]


class OneSided(Estimate):
    """The part of a gap that is due to arms which only one of the two groups was shown."""

    share_ahead: float
    share_behind: float


class ArmPart(TypedDict):
    """What an arm adds to a gap: by who was shown it, and by who got more from it."""

    arm: str
    shown: float
    same_arm: float
    total: Estimate
    share_ahead: float
    share_behind: float
    mean_ahead: Number
    mean_behind: Number


class Decomposition(TypedDict):
    """A gap, split over arms; `rest` is what all others add."""

    shown: Estimate
    same_arm: Estimate
    one_sided: OneSided
    arms: list[ArmPart]
    n_arms: int
    rest: float
    draws: int


class MissingRewards(TypedDict):
    """Whose rewards are missing more often, and how small and large the gap could be, had they come."""

    apart: Estimate
    most: list[str]
    least: list[str]
    gap_low: float
    gap_high: float


class GroupLine(TypedDict):
    """The mean reward of a group at the end of each block of time; null while it is not shown."""

    labels: list[str]
    mean: list[Number]
    low: list[Number]
    high: list[Number]


class Timeline(TypedDict):
    """How the gap came about."""

    ends: list[str]
    groups: list[GroupLine]
    gap_low: list[Number]
    gap_high: list[Number]


class Comparison(TypedDict):
    """The groups of an attribute, compared; what is null needs two groups that are large enough."""

    attributes: list[str]
    word: Literal["fair", "unfair", "unsure", "too small"]
    sentence: str
    groups: list[GroupGains]
    gap: FoundGap | None
    since: str | None
    decomposition: Decomposition | None
    missing: MissingRewards | None
    timeline: Timeline | None
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
    propensity: Number
    explored: bool
    reward: Number


class FairnessAnswer(TypedDict):
    """Who gains less: in words, now, over time, by arms; and the last decisions."""

    seq: int
    time: str
    title: str
    status: Literal["fair", "unfair", "unsure"]
    sentence: str
    detail: str
    foremost: str | None
    tolerance: float
    confidence: float
    min_group: int
    reward_range: list[float]
    decisions: int
    rewards: int
    comparisons: list[Comparison]
    recent: list[RecentDecision]
