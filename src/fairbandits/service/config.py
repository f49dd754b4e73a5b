"""The configuration of a service."""

from __future__ import annotations

import csv
import json
import tomllib
from collections.abc import Mapping
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, NotRequired, Self

from pydantic import Field, FiniteFloat, IPvAnyNetwork, TypeAdapter, ValidationError, model_validator

from fairbandits.policies import Policy
from fairbandits.registry import make_policy
from fairbandits.service.features import (
    CategoricalFeature,
    ConfigPart,
    Feature,
    Name,
    NumericFeature,
    check_unique,
    column_names,
    feature_values_type,
    strict_dict,
)

_DAY = 86400.0
_Seconds = Annotated[float, Field(gt=0, le=3600)]
_Rate = Annotated[float, Field(gt=0, le=1e9)]


class RewardConfig(ConfigPart):
    """The range of rewards, and how late they may arrive.

    Attributes
    ----------
    low, high : float
        The range of rewards; others are refused.
    window_days : float
        The number of days after a decision in which its reward is accepted.
    """

    low: FiniteFloat = 0.0
    high: FiniteFloat = 1.0
    window_days: Annotated[float, Field(gt=0, le=36500)] = 30.0

    @property
    def window(self) -> float:
        """The window in seconds."""
        return self.window_days * _DAY


class StoreConfig(ConfigPart):
    """The store of the log.

    Attributes
    ----------
    url : str
        `sqlite:///FILE`, or `postgresql://USER:PASSWORD@HOST/DATABASE`.
    snapshot_every : int
        The number of log entries between two snapshots of the state, which shorten the next start.
    """

    url: Annotated[str, Field(pattern="^(sqlite:///.|postgresql(\\+psycopg)?://)")] = "sqlite:///fairbandits.db"
    snapshot_every: Annotated[int, Field(ge=1)] = 20_000


class ServerConfig(ConfigPart):
    """The address of the service.

    Attributes
    ----------
    host : str
        The address to listen on.
    port : int
        The port; 0 for any free one.
    proxies : tuple of str
        Addresses or networks of proxies whose X-Forwarded-For and X-Forwarded-Proto headers are trusted.
    """

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    proxies: tuple[IPvAnyNetwork, ...] = ()


class UsersConfig(ConfigPart):
    """How ids of users are stored.

    Attributes
    ----------
    secret_file : path, optional
        The file of the secret with which ids become pseudonyms. Without it, requests that name a user are refused.
    """

    secret_file: Path | None = None


class Limits(ConfigPart):
    """Limits beyond which requests are refused.

    Attributes
    ----------
    body : int
        Bytes of a request body.
    batch : int
        Decisions, rewards or arms in one request.
    arms : int
        Arms in the catalogue.
    rate, burst : float
        Requests per second of one key, and at once after a pause. Every KiB of a body counts as another request.
    guest_rate, guest_burst : float
        The same for one address from which requests come without a valid key.
    head_seconds, request_seconds : float
        Seconds in which the head of a request, and all of it, must arrive.
    connections : int
        Simultaneous connections.
    """

    body: Annotated[int, Field(ge=1024, le=1 << 30)] = 1 << 20
    batch: Annotated[int, Field(ge=1, le=100_000)] = 1000
    arms: Annotated[int, Field(ge=1, le=10_000_000)] = 100_000
    rate: _Rate = 5000.0
    burst: Annotated[float, Field(ge=1, le=1e9)] = 10_000.0
    guest_rate: _Rate = 10.0
    guest_burst: Annotated[float, Field(ge=1, le=1e9)] = 100.0
    head_seconds: _Seconds = 10.0
    request_seconds: _Seconds = 30.0
    connections: Annotated[int, Field(ge=1, le=1_000_000)] = 1000


class Config(ConfigPart):
    """The configuration of a service.

    Attributes
    ----------
    title : str
        The title of the page and of the API.
    policy : str
        The policy with its parameters, in the form that `fairbandits simulate` and `compare` accept.
    tolerance : float
        The tolerated gap between the mean rewards of groups.
    min_group : int
        The number of rewards from which a group is shown.
    features : dict
        The features of users, by name.
    attributes : dict
        The sensitive attributes, each with its groups.
    arm_features : dict
        The features of arms, by name.
    matches : tuple of str
        Attributes or categorical features in which a user can match an arm. Each is a column of the contexts,
        1 if the two values are equal.
    catalogue : path, optional
        A CSV file of arms with a column `arm`, one for each arm feature, and `match_NAME` for each match.
    arms : tuple of dict
        Further arms: `arm`, `features`, `matches`. The configured arms fill an empty log; later, arms are added
        and retired through the API.
    reward, users, store, server, limits
        See `RewardConfig`, `UsersConfig`, `StoreConfig`, `ServerConfig` and `Limits`.
    """

    title: Name = "Recommendations"
    policy: str = "EvenLinUCB(tolerance=0.05)"
    tolerance: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 0.05
    min_group: Annotated[int, Field(ge=1)] = 20
    features: dict[Name, Feature] = Field(default_factory=dict)
    attributes: dict[Name, Annotated[tuple[Name, ...], Field(min_length=1)]] = Field(default_factory=dict)
    arm_features: dict[Name, Feature] = Field(default_factory=dict)
    matches: tuple[Name, ...] = ()
    catalogue: Path | None = None
    arms: tuple[dict[str, Any], ...] = ()
    reward: RewardConfig = RewardConfig()
    users: UsersConfig = UsersConfig()
    store: StoreConfig = StoreConfig()
    server: ServerConfig = ServerConfig()
    limits: Limits = Limits()

    @model_validator(mode="after")
    def _check(self) -> Self:
        for attribute, groups in self.attributes.items():
            check_unique(f"attributes.{attribute}", groups)
        check_unique("matches", self.matches)
        for name in self.matches:
            if name not in self.attributes and not isinstance(self.features.get(name), CategoricalFeature):
                raise ValueError(f"matches must name attributes or categorical features, got {name!r}")
        if not self.columns:
            raise ValueError("contexts must have a column: configure a feature of users or of arms, or a match")
        check_unique("columns", self.columns)
        arms: Any = tuple[self.arm_type, ...]  # type: ignore[name-defined]  # made at run time
        TypeAdapter(strict_dict("Arms", {"arms": arms})).validate_python({"arms": self.arms})
        check_unique("arms", [arm["arm"] for arm in self.arms])
        self.make_policy()
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a context: the features of the user, those of the arm, the matches."""
        return (
            *column_names(self.features),
            *(f"arm-{column}" for column in column_names(self.arm_features)),
            *(f"match-{name}" for name in self.matches),
        )

    @cached_property
    def arm_type(self) -> Any:
        """The type of an arm: its id, its features, its matches."""
        matches = strict_dict("ArmMatches", dict.fromkeys(self.matches, NotRequired[Name | None]))
        fields = {
            "arm": Name,
            "features": feature_values_type("ArmFeatures", self.arm_features),
            "matches": NotRequired[matches],
        }
        return strict_dict("Arm", fields)

    def make_policy(self) -> Policy:
        """Create the policy, which has learned nothing yet."""
        known = {"reward_range": (self.reward.low, self.reward.high), "columns": self.columns}
        policy = make_policy(self.policy, None, known)
        if tuple(policy.get_params()["reward_range"]) != known["reward_range"]:
            raise ValueError("policy must not set reward_range; set reward.low and reward.high instead")
        if policy.records():
            raise ValueError(
                f"policy must learn from decisions and rewards alone, got {type(policy).__name__}, whose state "
                "does not follow from the log; choose another policy"
            )
        return policy

    def log_schema(self) -> str:
        """Return what the numbers in the log depend on: columns, feature ranges and the reward range, as JSON."""
        scales = {
            f"{whose}.{name}": [feature.low, feature.high]
            for whose, features in (("user", self.features), ("arm", self.arm_features))
            for name, feature in features.items()
            if isinstance(feature, NumericFeature)
        }
        spec = {"columns": self.columns, "scales": scales, "reward": [self.reward.low, self.reward.high]}
        return json.dumps(spec, sort_keys=True)


def example_config() -> str:
    """Return a configuration with comments, as TOML."""
    return files("fairbandits.service").joinpath("example.toml").read_text(encoding="utf-8")


def load_config(path: str | Path) -> Config:
    """Read a configuration and its catalogue; paths in the file are relative to its folder."""
    path = Path(path)
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(
            f"{path}: cannot be read ({error.strerror}); `fairbandits serve --example` prints one"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not valid TOML ({error})") from None
    return as_config(plain, str(path), path.parent)


def as_config(plain: Mapping[str, Any], name: str = "config", folder: Path = Path()) -> Config:
    """Validate a configuration given as plain values; the error lists everything that is wrong."""
    try:
        config = Config.model_validate(plain)
        if config.catalogue is not None:
            arms = [*config.arms, *_read_catalogue(folder / config.catalogue, config)]
            config = Config.model_validate({**plain, "arms": arms, "catalogue": None})
    except ValidationError as error:
        raise ValueError(f"{name}: {'; '.join(_messages(error))}") from None
    if config.users.secret_file is None:
        return config
    users = UsersConfig(secret_file=folder / config.users.secret_file)
    return config.model_copy(update={"users": users})


def _messages(error: ValidationError) -> list[str]:
    """Return one message for each error, with its place in the configuration."""
    messages = []
    for each in error.errors(include_url=False, include_context=False, include_input=False):
        place = ".".join(str(part) for part in each["loc"])
        message = each["msg"].removeprefix("Value error, ")
        messages.append(f"{place}: {message}" if place else message)
    return messages


def _read_catalogue(path: Path, config: Config) -> list[dict[str, Any]]:
    try:
        # Excel puts a byte-order mark at the beginning of a file.
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path}: the catalogue cannot be read ({error})") from None
    expected = ["arm", *config.arm_features, *(f"match_{name}" for name in config.matches)]
    if not rows or set(rows[0]) != set(expected):
        got = ", ".join(map(str, rows[0])) if rows else "no rows"
        raise ValueError(f"{path}: columns must be {', '.join(expected)}, got {got}")
    for number, row in enumerate(rows, start=1):
        if None in row or None in row.values():  # DictReader's sign of too many or too few cells
            raise ValueError(f"{path}: row {number} must have one cell for each of the {len(expected)} columns")
    return [
        {
            "arm": row["arm"],
            "features": {name: _as_value(row[name], feature) for name, feature in config.arm_features.items()},
            "matches": {name: row[f"match_{name}"] or None for name in config.matches},
        }
        for row in rows
    ]


def _as_value(text: str, feature: NumericFeature | CategoricalFeature) -> float | str:
    try:
        return text if isinstance(feature, CategoricalFeature) else float(text)
    except ValueError:
        return text  # refused when the arm is validated, with its place
