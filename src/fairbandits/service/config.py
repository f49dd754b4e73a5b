"""The configuration of a service."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    Field,
    FiniteFloat,
    IPvAnyNetwork,
    PrivateAttr,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from fairbandits.contexts import ItemCatalogue
from fairbandits.logs.arm_files import MATCH, read_arm_rows
from fairbandits.policies import Policy
from fairbandits.recommender import Recommender
from fairbandits.registry import make_policy
from fairbandits.service.features import (
    CategoricalFeature,
    ConfigPart,
    ConfiguredFeature,
    NumericFeature,
    check_unique,
    strict_dict,
)
from fairbandits.service.inputs import ServiceInputs, configured_inputs, saved_inputs
from fairbandits.service.names import Name
from fairbandits.service.start import SUFFIX, StartState

_DAY = 86400.0
# Settings that a saved recommender replaces.
_IN_RECOMMENDER = ("policy", "features", "attributes", "arm_features", "matches", "catalogue", "arms")
_Seconds = Annotated[float, Field(gt=0, le=3600)]
_Rate = Annotated[float, Field(gt=0, le=1e9)]


class RewardConfig(ConfigPart):
    """The range of rewards, and how late they may arrive.

    Attributes
    ----------
    low, high : float
        The lowest and the highest reward; rewards outside this range are rejected.
    window_days : float
        The number of days after a decision during which its reward is accepted.
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
        The number of log entries between two snapshots of the state. Snapshots speed up the next start.
    timeout_seconds : float
        The number of seconds within which the database must answer. If it does not, requests are refused with 503
        until it answers again.
    """

    url: Annotated[str, Field(pattern="^(sqlite:///.|postgresql(\\+psycopg)?://)")] = "sqlite:///fairbandits.db"
    snapshot_every: Annotated[int, Field(ge=1)] = 20_000
    timeout_seconds: Annotated[float, Field(ge=0.1, le=60)] = 3.0


class ServerConfig(ConfigPart):
    """The address of the service, and the format of its log lines.

    Attributes
    ----------
    host : str
        The address to listen on.
    port : int
        The port; 0 for any free one.
    socket : path, optional
        A Unix socket to listen on, instead of an address and a port. Only the user account that runs the service
        can connect.
    proxies : tuple of str
        Addresses or networks of proxies whose X-Forwarded-For and X-Forwarded-Proto headers are trusted. If any
        proxies are listed, requests are refused until the first key is created.
    insecure : bool
        Whether requests from any address are allowed until the first key is created. If false, only requests that
        come from this machine, and not through a proxy, are allowed until then.
    log_format : str
        The format of log lines: "text", or "json" for one object per line.
    """

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    socket: Path | None = None
    proxies: tuple[IPvAnyNetwork, ...] = ()
    insecure: bool = False
    log_format: Literal["text", "json"] = "text"


class RetentionConfig(ConfigPart):
    """The retention period of the content of decisions and rewards.

    Attributes
    ----------
    decisions : str, optional
        The age after which the content of decisions and rewards is deleted, such as "180 days". Without it,
        everything is kept.
    """

    decisions: Annotated[str, Field(pattern="^[1-9][0-9]{0,4} days?$")] | None = None

    @property
    def seconds(self) -> float | None:
        """The age in seconds; None if everything is kept."""
        return None if self.decisions is None else float(self.decisions.split()[0]) * _DAY


class UsersConfig(ConfigPart):
    """The storage of user ids.

    Attributes
    ----------
    secret_file : path, optional
        The file with the secret that turns ids into pseudonyms. Without it, requests that name a user are refused.
    """

    secret_file: Path | None = None


class Limits(ConfigPart):
    """Limits beyond which requests are refused.

    Attributes
    ----------
    body : int
        The largest request body, in bytes.
    batch : int
        The largest number of decisions, rewards or arms in one request.
    arms : int
        The largest number of arms in the catalogue.
    slate : int
        The largest number of arms in one slate, that is, the largest k.
    cost : int
        The maximum cost of one request, and the maximum total cost of the decisions and rewards that one key may
        have waiting. The unit is the cost of scoring one arm. Each user costs
        `n_arms * (1 + k / 10) + k * (1000 + 8 * n_columns)`, where `n_arms` is the number of arms on offer,
        `n_columns` is the number of columns of a context, and `k` is 1 if there is no slate. A reward costs
        `1000 + 8 * n_columns` per arm.
    rate, burst : float
        The number of requests that one key may send per second, and the number that it may send in a burst after a
        pause. Every KiB of a body counts as another request, as do every 10,000 units of cost and every 100 arms
        in a list of arms.
    guest_rate, guest_burst : float
        The same limits for one address that sends requests without a valid key.
    head_seconds, request_seconds : float
        The number of seconds within which the head of a request, and the whole request, must arrive.
    connections : int
        The largest number of simultaneous connections.
    address_connections : int
        The largest number of simultaneous connections from one address.
    """

    body: Annotated[int, Field(ge=1024, le=1 << 30)] = 1 << 20
    batch: Annotated[int, Field(ge=1, le=100_000)] = 1000
    arms: Annotated[int, Field(ge=1, le=10_000_000)] = 100_000
    slate: Annotated[int, Field(ge=1, le=10_000)] = 100
    cost: Annotated[int, Field(ge=10_000, le=10**12)] = 20_000_000
    rate: _Rate = 5000.0
    burst: Annotated[float, Field(ge=1, le=1e9)] = 10_000.0
    guest_rate: _Rate = 10.0
    guest_burst: Annotated[float, Field(ge=1, le=1e9)] = 100.0
    head_seconds: _Seconds = 10.0
    request_seconds: _Seconds = 30.0
    connections: Annotated[int, Field(ge=1, le=1_000_000)] = 1000
    address_connections: Annotated[int, Field(ge=1, le=1_000_000)] = 250


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
        The number of rewards that a group needs for its results to be shown.
    features : dict
        The features of users, by name.
    attributes : dict
        The sensitive attributes, each with its groups.
    arm_features : dict
        The features of arms, by name.
    matches : tuple of str
        Attributes or categorical features on which a user can match an arm. Each adds a column to the contexts
        that is 1 if the two values are equal.
    catalogue : path, optional
        A file of arms, in any format that a log can have (.csv, .jsonl, .parquet, ...). It has a column `arm`, a
        column for each arm feature, and a column `match:NAME` for each match.
    arms : tuple of dict
        Further arms, with the keys `arm`, `features` and `matches`. The configured arms are added when the log is
        empty; later, arms are added and retired through the API.
    recommender : path, optional
        A file written by `fairbandits fit` or `Recommender.save`. It replaces the configured policy, features,
        attributes, arms and reward range, and the service starts from the learned state of the saved recommender.
    reward, retention, users, store, server, limits
        See `RewardConfig`, `RetentionConfig`, `UsersConfig`, `StoreConfig`, `ServerConfig` and `Limits`.
    """

    title: Name = "Recommendations"
    # `model=auto`, the policy's default, is not used because responses would take several times as long.
    policy: str = "EvenLinUCB(tolerance=0.05, model=disjoint)"
    tolerance: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 0.05
    min_group: Annotated[int, Field(ge=1)] = 20
    features: dict[Name, ConfiguredFeature] = Field(default_factory=dict)
    attributes: dict[Name, Annotated[tuple[Name, ...], Field(min_length=1)]] = Field(default_factory=dict)
    arm_features: dict[Name, ConfiguredFeature] = Field(default_factory=dict)
    matches: tuple[Name, ...] = ()
    catalogue: Path | None = None
    arms: tuple[dict[str, Any], ...] = ()
    recommender: Path | None = None
    reward: RewardConfig = RewardConfig()
    retention: RetentionConfig = RetentionConfig()
    users: UsersConfig = UsersConfig()
    store: StoreConfig = StoreConfig()
    server: ServerConfig = ServerConfig()
    limits: Limits = Limits()
    _start: StartState | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.retention.seconds is not None and self.retention.seconds < self.reward.window:
            raise ValueError(
                f"retention.decisions must be at least reward.window_days ({self.reward.window_days:g}), got "
                f"{self.retention.decisions!r}; decisions must be kept as long as rewards may arrive"
            )
        if self.recommender is not None:
            self._check_recommender()
            return self
        for attribute, groups in self.attributes.items():
            check_unique(f"attributes.{attribute}", groups)
        check_unique("matches", self.matches)
        for name in self.matches:
            if name not in self.attributes and not isinstance(self.features.get(name), CategoricalFeature):
                raise ValueError(f"matches must name attributes or categorical features, got {name!r}")
        for name in self.arm_features:
            if name.startswith(MATCH):
                raise ValueError(f"arm_features must not begin with {MATCH!r}, got {name!r}; use matches")
        if not self.columns:
            raise ValueError(
                "contexts must have at least one column, got none; configure a feature of users or arms, "
                "or a match"
            )
        check_unique("columns", self.columns)
        arms: Any = tuple[self.inputs.arm_type, ...]  # type: ignore[name-defined]  # made at run time
        TypeAdapter(strict_dict("Arms", {"arms": arms})).validate_python({"arms": self.arms})
        check_unique("arms", [arm["arm"] for arm in self.arms])
        self.make_policy()
        return self

    def _check_recommender(self) -> None:
        reward = [f"reward.{name}" for name in ("low", "high") if name in self.reward.model_fields_set]
        given = [name for name in (*_IN_RECOMMENDER, *reward) if name in (*self.model_fields_set, *reward)]
        if given:
            raise ValueError(
                f"{', '.join(given)} must not be set together with recommender, whose file defines them"
            )

    @property
    def start(self) -> StartState | None:
        """The saved recommender that the service starts with; None if the configuration itself describes one."""
        if self.recommender is not None and self._start is None:
            raise ValueError(f"{self.recommender}: no such file; `fairbandits fit` writes one")
        return self._start

    def with_policy(self, policy: str) -> Config:
        """Return the configuration with another policy; raise ValueError if the log cannot be replayed with it."""
        if self.recommender is not None:
            raise ValueError(
                "policy cannot be replaced in a service that starts from a saved recommender, which contains "
                "its policy; fit another recommender, and start a service with it"
            )
        config = self.model_copy(update={"policy": policy})
        config.make_policy()
        return config

    def starting_from(self, start: StartState) -> Config:
        """Return the configuration completed with a saved recommender and that recommender's reward range."""
        low, high = start.recommender().policy.reward_range
        reward = self.reward.model_copy(update={"low": low, "high": high})
        config = self.model_copy(update={"reward": reward})
        config._start = start
        return config

    def with_server(self, server: ServerConfig) -> Config:
        """Return the configuration with other server settings."""
        return self.model_copy(update={"server": server})

    @cached_property
    def inputs(self) -> ServiceInputs:
        """The inputs of the service: features and groups of users, and features and matches of arms."""
        if self.start is not None:
            return saved_inputs(self.start.recommender())
        return configured_inputs(self.features, self.attributes, self.arm_features, self.matches)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a context: the features of the user, those of the arm, and the matches."""
        return self.inputs.encoder.features

    def make_recommender(self) -> Recommender:
        """Create the recommender as it is before the first entry of the log."""
        if self.start is not None:
            return self.start.recommender()
        return Recommender.from_parts(
            self.make_policy(), ItemCatalogue(self.inputs.encoder), tuple(self.attributes)
        )

    def make_policy(self) -> Policy:
        """Create the untrained policy."""
        known = {"reward_range": (self.reward.low, self.reward.high), "columns": self.columns}
        policy = make_policy(self.policy, None, known)
        if tuple(policy.get_params()["reward_range"]) != known["reward_range"]:
            raise ValueError("policy must not set reward_range; set reward.low and reward.high instead")
        if policy.records():
            raise ValueError(
                f"policy must learn from decisions and rewards alone, got {type(policy).__name__}, whose state "
                "cannot be rebuilt from the log; choose another policy"
            )
        return policy

    def log_schema(self) -> str:
        """Return the settings that the log depends on (columns, feature ranges and the reward range) as JSON."""
        reward = [self.reward.low, self.reward.high]
        if self.start is not None:
            saved = {"columns": self.columns, "recommender": self.start.sha256, "reward": reward}
            return json.dumps(saved, sort_keys=True)
        scales = {
            f"{whose}.{name}": [feature.low, feature.high]
            for whose, features in (("user", self.features), ("arm", self.arm_features))
            for name, feature in features.items()
            if isinstance(feature, NumericFeature)
        }
        spec = {"columns": self.columns, "scales": scales, "reward": reward}
        return json.dumps(spec, sort_keys=True)


def example_config() -> str:
    """Return a commented example configuration, as TOML."""
    return files("fairbandits.service").joinpath("example.toml").read_text(encoding="utf-8")


def load_config(path: str | Path) -> Config:
    """Read a configuration and its catalogue; paths in the file are relative to its folder.

    The file may also be a saved recommender; all other settings then have their defaults.
    """
    path = Path(path)
    if path.suffix == SUFFIX:
        return as_config({"recommender": path.name}, str(path), path.parent)
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
    """Validate a configuration given as plain values; the error lists all problems."""
    try:
        config = Config.model_validate(plain)
        if config.catalogue is not None:
            arms = [*config.arms, *_read_catalogue(folder / config.catalogue, config)]
            config = Config.model_validate({**plain, "arms": arms, "catalogue": None})
        if config.recommender is not None:
            file = folder / config.recommender
            config = config.model_copy(update={"recommender": file})
            # If the file is missing, the copy in the store is used, provided that there is one.
            if file.is_file():
                config = config.starting_from(StartState.read(file))
    except ValidationError as error:
        raise ValueError(f"{name}: {'; '.join(_messages(error))}") from None
    if config.users.secret_file is None:
        return config
    users = UsersConfig(secret_file=folder / config.users.secret_file)
    return config.model_copy(update={"users": users})


def _messages(error: ValidationError) -> list[str]:
    """Return one message for each error, with its location in the configuration."""
    messages = []
    for each in error.errors(include_url=False, include_context=False, include_input=False):
        place = ".".join(str(part) for part in each["loc"])
        message = each["msg"].removeprefix("Value error, ")
        messages.append(f"{place}: {message}" if place else message)
    return messages


def _read_catalogue(path: Path, config: Config) -> list[dict[str, Any]]:
    kinds = {name: feature.encoder(name).kind for name, feature in config.arm_features.items()}
    return read_arm_rows(path, kinds, config.matches)
