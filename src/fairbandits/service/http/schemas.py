"""The types of requests and responses, with which pydantic validates and documents them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal, NoReturn, NotRequired

from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypedDict

from fairbandits.contexts.tables import column_label
from fairbandits.service.config import Config
from fairbandits.service.features import example_values, feature_values_type, strict_dict
from fairbandits.service.inputs import ServiceInputs
from fairbandits.service.names import Name, label_type

_EXAMPLE_ID = "01924f7a3b1c5d0e8f6a7b9c2d4e6f80"
DecisionId = Annotated[str, Field(pattern="^[0-9a-f]{32}$", examples=[_EXAMPLE_ID])]


class ArmScore(TypedDict):
    """The score of an arm by term: total = mean + exploration + fairness; `width` is that of the mean."""

    mean: float
    width: float
    exploration: float
    fairness: float
    total: float


class DecisionResponse(TypedDict):
    """A decision: an arm or a slate, the probability of the choice, and the scores of the chosen arms."""

    decision: DecisionId
    arm: NotRequired[str]
    slate: NotRequired[list[str]]
    propensity: float | None
    scores: ArmScore | list[ArmScore]


class DecisionsResponse(TypedDict):
    """Decisions in the order of the users."""

    decisions: list[DecisionResponse]


class RewardResponse(TypedDict):
    """A reward that has been recorded in the log."""

    decision: DecisionId
    reward: float | list[float | None]


class RefusedReward(TypedDict):
    """A refused reward in a list of rewards, with the reason."""

    decision: DecisionId
    problem: dict[str, Any]


class RewardsResponse(TypedDict):
    """The result of each reward, in the order of the request."""

    rewards: list[RewardResponse | RefusedReward]


class ArmResponse(TypedDict):
    """An arm. Retired arms have no features or matches; initially, neither do those of a saved recommender."""

    arm: str
    version: int
    features: NotRequired[dict[str, Any]]
    matches: NotRequired[dict[str, str | None]]


class ArmsResponse(TypedDict):
    """Arms. `next` is the value of `after` that lists more of them, null at the end."""

    arms: list[ArmResponse]
    next: str | None


class ReadyResponse(TypedDict):
    """Readiness; for keys that may read, also the last applied log entry and a checksum of the state."""

    ready: bool
    seq: NotRequired[int]
    checksum: NotRequired[str]


class ProblemItem(TypedDict):
    """One of several errors, with its location: a JSON pointer into the body, a parameter or a header."""

    detail: str
    pointer: NotRequired[str]
    parameter: NotRequired[str]
    header: NotRequired[str]


class Problem(TypedDict):
    """A problem (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    errors: NotRequired[list[ProblemItem]]


class Schemas:
    """The schemas of requests, which depend on the configuration.

    Parameters
    ----------
    config : Config
        The configuration.
    pseudonymise : callable, optional
        A function that returns the pseudonym of a user, with which parsing replaces the id. Without it, user ids
        are refused.
    """

    def __init__(self, config: Config, pseudonymise: Callable[[str], str] | None = None) -> None:
        decision = _decision_type(config, pseudonymise)
        value: Any = Annotated[
            float, Field(ge=config.reward.low, le=config.reward.high, strict=True, allow_inf_nan=False)
        ]
        most = config.limits.batch
        rewards = _list_of(value | None, config.limits.arms)
        reward = strict_dict("RewardRequest", {"decision": DecisionId, "reward": value | rewards})
        self.decision = _adapter(decision)
        self.decisions = _adapter(strict_dict("DecisionsRequest", {"decisions": _list_of(decision, most)}))
        self.reward = _adapter(reward)
        self.rewards = _adapter(_list_of(reward, most))
        self.arm = _adapter(config.inputs.arm_type)
        self.arms = _adapter(_list_of(config.inputs.arm_type, most))
        self.change = _adapter(_change_type(config))
        self.examples = _examples(config, has_users=pseudonymise is not None)


def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _list_of(kind: Any, most: int) -> Any:
    # Only the first error is reported, because a million items may have a million errors.
    return Annotated[list[kind], Field(min_length=1, max_length=most, fail_fast=True)]


def _examples(config: Config, has_users: bool) -> dict[str, Any]:
    """Return a valid request of each kind, and responses."""
    inputs = config.inputs
    groups = {name: _example_group(name, inputs) for name in inputs.attributes}
    user = {"user": "user-17"} if has_users else {}
    decision = {**user, "features": example_values(inputs.features), "groups": groups}
    features = example_values(inputs.arm_features)
    reward = {"decision": _EXAMPLE_ID, "reward": config.reward.high}
    score = {"mean": 0.5, "width": 0.25, "exploration": 0.125, "fairness": 0.0, "total": 0.625}
    decided = {"decision": _EXAMPLE_ID, "propensity": 1.0, "arm": "an-arm", "scores": score}
    return {
        "DecisionResponse": decided,
        "DecisionsResponse": {"decisions": [decided]},
        "RewardResponse": reward,
        "DecisionRequest": decision,
        "DecisionsRequest": {"decisions": [decision, decision | {"k": 1}]},
        "RewardRequest": reward,
        "Arm": {"arm": "a-new-arm", "features": features, "matches": dict.fromkeys(inputs.matches)},
        "ArmChange": {"features": features},
    }


def _example_group(attribute: str, inputs: ServiceInputs) -> Any:
    groups = inputs.attributes[attribute]
    return (1 if attribute in inputs.integer_attributes else "any") if groups is None else groups[0]


def _decision_type(config: Config, pseudonymise: Callable[[str], str] | None) -> Any:
    inputs = config.inputs
    groups = {name: NotRequired[_group_type(name, inputs) | None] for name in inputs.attributes}
    fields = {
        "user": NotRequired[_user_type(pseudonymise)],
        "features": feature_values_type("UserFeatures", inputs.features),
        "groups": NotRequired[strict_dict("UserGroups", groups)],
        "arms": NotRequired[_list_of(Name, config.limits.arms)],
        "k": NotRequired[_slate_size_type(config.limits.slate)],
    }
    return strict_dict("DecisionRequest", fields)


def _slate_size_type(most: int) -> Any:
    def check(k: int) -> int:
        if k > most:
            raise ValueError(f"k must be at most {most:,} (limits.slate); ask for a smaller slate")
        return k

    return Annotated[int, Field(ge=1, strict=True, json_schema_extra={"maximum": most}), AfterValidator(check)]


def _group_type(attribute: str, inputs: ServiceInputs) -> Any:
    groups = inputs.attributes[attribute]
    if groups is not None:
        return Literal[groups]
    if attribute in inputs.integer_attributes:
        return Annotated[int, Field(strict=True)]
    known = label_type(inputs.known_groups.get(attribute, ()))
    return Annotated[known, AfterValidator(partial(column_label, column=attribute))]


def _user_type(pseudonymise: Callable[[str], str] | None) -> Any:
    if pseudonymise is None:
        # The field is not described, and is refused with the reason.
        return Annotated[SkipJsonSchema[str], BeforeValidator(_refuse_user)]
    description = "Your id for the user, the same on every visit. Only a pseudonym is stored."
    return Annotated[
        str, Field(min_length=1, max_length=200, description=description), AfterValidator(pseudonymise)
    ]


def _refuse_user(_: Any) -> NoReturn:
    raise ValueError("user must be left out, because no secret is configured; set users.secret_file")


def _change_type(config: Config) -> Any:
    fields = {name: kind for name, kind in config.inputs.arm_type.__annotations__.items() if name != "arm"}
    return strict_dict("ArmChange", fields)
