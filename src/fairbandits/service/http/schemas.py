"""What requests and answers look like: checked by pydantic, and documented by the same types."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from fairbandits.service.config import Config
from fairbandits.service.features import Name, closed_dict, some_values, values_type
from fairbandits.service.http.validation import invalid

DecisionId = Annotated[str, Field(pattern="^[0-9a-f]{32}$", examples=["01924f7a3b1c5d0e8f6a7b9c2d4e6f80"])]


class PartsOfScore(TypedDict):
    """The score of an arm by part: total = mean + exploration + fairness."""

    mean: float
    width: float
    exploration: float
    fairness: float
    total: float


class DecisionAnswer(TypedDict):
    """An arm, or a slate of several; and why."""

    decision: DecisionId
    arm: NotRequired[str]
    slate: NotRequired[list[str]]
    propensity: float | None
    scores: PartsOfScore | list[PartsOfScore]


class DecisionsAnswer(TypedDict):
    """Decisions in the order of the requests."""

    decisions: list[DecisionAnswer]


class RewardAnswer(TypedDict):
    """A reward that stands in the log."""

    decision: DecisionId
    reward: float | list[float | None]


class RefusedReward(TypedDict):
    """A reward of many that was refused, and why."""

    decision: DecisionId
    problem: dict[str, Any]


class RewardsAnswer(TypedDict):
    """What became of each reward, in the order in which they came."""

    rewards: list[RewardAnswer | RefusedReward]


class ArmAnswer(TypedDict):
    """An arm of the catalogue; of one that was retired, what is known of it is left out."""

    arm: str
    version: int
    features: NotRequired[dict[str, Any]]
    matches: NotRequired[dict[str, str | None]]


class ArmsAnswer(TypedDict):
    """Arms; `next` is what to ask for to see more."""

    arms: list[ArmAnswer]
    next: str | None


class Ready(TypedDict):
    """Up to which entry the log was followed, and the fingerprint of what was learned: for those who may read."""

    ready: bool
    seq: NotRequired[int]
    checksum: NotRequired[str]


class Wrong(TypedDict):
    """One of several things that are wrong: what, and where in the body, or in which parameter or header."""

    detail: str
    pointer: NotRequired[str]
    parameter: NotRequired[str]
    header: NotRequired[str]


class Problem(TypedDict):
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    errors: NotRequired[list[Wrong]]


class Schemas:
    """The types of requests, which follow from the configuration.

    Parameters
    ----------
    config : Config
        What it is told.
    """

    def __init__(self, config: Config) -> None:
        decision = _decision_type(config)
        value: Any = Annotated[
            float, Field(ge=config.reward.low, le=config.reward.high, strict=True, allow_inf_nan=False)
        ]
        most = config.limits.batch
        rewards = _several(value | None, config.limits.arms)
        reward = closed_dict("RewardRequest", {"decision": DecisionId, "reward": value | rewards})
        self.decision = _adapter(decision)
        self.decisions = _adapter(closed_dict("DecisionsRequest", {"decisions": _several(decision, most)}))
        self.reward = _adapter(reward)
        self.rewards = _adapter(_several(reward, most))
        self.arm = _adapter(config.arm_type)
        self.arms = _adapter(_several(config.arm_type, most))
        self.change = _adapter(_change_type(config))
        self.examples = _examples(config)


def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _several(kind: Any, most: int) -> Any:
    # The first error will do: of a million there may be a million.
    return Annotated[list[kind], Field(min_length=1, max_length=most, fail_fast=True)]


def _examples(config: Config) -> dict[str, Any]:
    """Give a request of each kind that fits the configuration."""
    groups = {name: values[0] for name, values in config.attributes.items()}
    decision = {"features": some_values(config.features), "groups": groups}
    features = some_values(config.arm_features)
    return {
        "DecisionRequest": decision,
        "DecisionsRequest": {"decisions": [decision, decision | {"k": 1}]},
        "RewardRequest": {"decision": "01924f7a3b1c5d0e8f6a7b9c2d4e6f80", "reward": config.reward.high},
        "Arm": {"arm": "a-new-arm", "features": features, "matches": dict.fromkeys(config.matches)},
        "ArmChange": {"features": features},
    }


def _decision_type(config: Config) -> Any:
    groups = {name: NotRequired[Literal[groups] | None] for name, groups in config.attributes.items()}
    fields = {
        "features": values_type("UserFeatures", config.features),
        "groups": NotRequired[closed_dict("UserGroups", groups)],
        "arms": NotRequired[_several(Name, config.limits.arms)],
        "k": NotRequired[Annotated[int, Field(ge=1, strict=True)]],
    }
    return closed_dict("DecisionRequest", fields)


def _change_type(config: Config) -> Any:
    fields = {name: kind for name, kind in config.arm_type.__annotations__.items() if name != "arm"}
    return closed_dict("ArmChange", fields)


def parse(schema: TypeAdapter[Any], body: bytes) -> Any:
    """Check a body, and give its values."""
    try:
        return schema.validate_json(body)
    except ValidationError as error:
        raise invalid(error, body) from None
