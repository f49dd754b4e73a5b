"""What a service is told: its catalogue, users, groups, policy, store."""

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
    closed_dict,
    columns_of,
    refuse_twice,
    values_type,
)
from fairbandits.service.http.limits import Limits

_DAY = 86400.0


class Reward(ConfigPart):
    """What rewards look like, and how long they may take.

    Attributes
    ----------
    low, high : float
        The least and the greatest reward; others are refused.
    window_days : float
        A reward that comes later than this after its decision is refused.
    """

    low: FiniteFloat = 0.0
    high: FiniteFloat = 1.0
    window_days: Annotated[float, Field(gt=0, le=36500)] = 30.0

    @property
    def window(self) -> float:
        """The window in seconds."""
        return self.window_days * _DAY


class StoreConfig(ConfigPart):
    """Where the log is kept.

    Attributes
    ----------
    url : str
        `sqlite:///FILE`, or `postgresql://USER:PASSWORD@HOST/DATABASE`.
    snapshot_every : int
        After how many events the state is written down, so that a start need not read the log from its beginning.
    """

    url: Annotated[str, Field(pattern="^(sqlite:///.|postgresql(\\+psycopg)?://)")] = "sqlite:///fairbandits.db"
    snapshot_every: Annotated[int, Field(ge=1)] = 20_000


class Server(ConfigPart):
    """Where the service listens.

    Attributes
    ----------
    host : str
        The address.
    port : int
        The port; 0 for any that is free.
    proxies : tuple of str
        Addresses or networks of proxies that are believed when they say for whom, and how, a request comes
        (X-Forwarded-For, X-Forwarded-Proto).
    """

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    proxies: tuple[IPvAnyNetwork, ...] = ()


class Config(ConfigPart):
    """All that a service is told.

    Attributes
    ----------
    title : str
        What it recommends, for people.
    policy : str
        The policy with its parameters, as `fairbandits simulate` and `compare` take it.
    tolerance : float
        The difference between the mean rewards of groups that is tolerated.
    min_group : int
        Groups with fewer rewards than this are not shown.
    features : dict
        What is known of a user, by name.
    attributes : dict
        The sensitive attributes, each with its groups.
    arm_features : dict
        What is known of an arm, by name.
    matches : tuple of str
        Attributes or features in which a user can match an arm; each is a column, 1 where the two are equal.
    catalogue : path, optional
        A CSV file of arms: a column `arm`, one for each of the arm's features, `match_NAME` for each way to match.
    arms : tuple of dict
        More arms: `arm`, `features`, `matches`. Both fill an empty log; from then on arms come and go through
        the API.
    reward, store, server, limits
        See there.
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
    reward: Reward = Reward()
    store: StoreConfig = StoreConfig()
    server: Server = Server()
    limits: Limits = Limits()

    @model_validator(mode="after")
    def _check(self) -> Self:
        for attribute, groups in self.attributes.items():
            refuse_twice(f"attributes.{attribute}", groups)
        refuse_twice("matches", self.matches)
        for name in self.matches:
            if name not in self.attributes and not isinstance(self.features.get(name), CategoricalFeature):
                raise ValueError(f"matches names {name!r}, which is no attribute and no feature of words")
        if not self.columns:
            raise ValueError("contexts would have no columns: name a feature of users or of arms, or a match")
        refuse_twice("columns", self.columns)
        arms: Any = tuple[self.arm_type, ...]  # type: ignore[name-defined]  # made at run time
        TypeAdapter(closed_dict("Arms", {"arms": arms})).validate_python({"arms": self.arms})
        refuse_twice("arms", [arm["arm"] for arm in self.arms])
        self.make_policy()
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a context: the user's features, the arm's, the matches."""
        return (
            *columns_of(self.features),
            *(f"arm-{column}" for column in columns_of(self.arm_features)),
            *(f"match-{name}" for name in self.matches),
        )

    @cached_property
    def arm_type(self) -> Any:
        """What an arm is: its id, its features, what it matches."""
        matches = closed_dict("ArmMatches", dict.fromkeys(self.matches, NotRequired[Name | None]))
        fields = {
            "arm": Name,
            "features": values_type("ArmFeatures", self.arm_features),
            "matches": NotRequired[matches],
        }
        return closed_dict("Arm", fields)

    def make_policy(self) -> Policy:
        """Make the policy, which has learned nothing."""
        known = {"reward_range": (self.reward.low, self.reward.high), "columns": self.columns}
        policy = make_policy(self.policy, None, known)
        if tuple(policy.get_params()["reward_range"]) != known["reward_range"]:
            raise ValueError("the range of rewards is said in [reward], not in the policy's parameters")
        if policy.notes_more:
            raise ValueError(
                f"{type(policy).__name__} learns from more than a log of decisions and rewards holds, so that its "
                "state does not follow from the log; take another policy"
            )
        return policy

    def meaning(self) -> str:
        """Say what the numbers of its log mean, so that no log is read as if it were another's."""
        scales = {
            f"{whose}.{name}": [feature.low, feature.high]
            for whose, features in (("user", self.features), ("arm", self.arm_features))
            for name, feature in features.items()
            if isinstance(feature, NumericFeature)
        }
        spec = {"columns": self.columns, "scales": scales, "reward": [self.reward.low, self.reward.high]}
        return json.dumps(spec, sort_keys=True)


def example() -> str:
    """Give a configuration with comments."""
    return files("fairbandits.service").joinpath("example.toml").read_text(encoding="utf-8")


def load_config(path: str | Path) -> Config:
    """Read a configuration, and the catalogue that it names; paths in it are relative to its folder."""
    path = Path(path)
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror}); serve --example prints a config") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: is no TOML ({error})") from None
    return as_config(plain, str(path), path.parent)


def as_config(plain: Mapping[str, Any], name: str = "config", folder: Path = Path()) -> Config:
    """Check a configuration given as plain values; errors say all that is wrong, and where."""
    try:
        config = Config.model_validate(plain)
        if config.catalogue is None:
            return config
        arms = [*config.arms, *_read_catalogue(folder / config.catalogue, config)]
        return Config.model_validate({**plain, "arms": arms, "catalogue": None})
    except ValidationError as error:
        raise ValueError(f"{name}: {'; '.join(said(error))}") from None


def said(error: ValidationError) -> list[str]:
    """Say what pydantic found wrong, a phrase for each: where, and what."""
    lines = []
    for line in error.errors(include_url=False, include_context=False, include_input=False):
        place = ".".join(str(part) for part in line["loc"])
        what = line["msg"].removeprefix("Value error, ")
        lines.append(f"{place}: {what}" if place else what)
    return lines


def _read_catalogue(path: Path, config: Config) -> list[dict[str, Any]]:
    try:
        # Excel marks UTF-8 at the beginning of a file.
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path}: the catalogue cannot be read ({error})") from None
    expected = ["arm", *config.arm_features, *(f"match_{name}" for name in config.matches)]
    if not rows or set(rows[0]) != set(expected):
        raise ValueError(f"{path}: expected rows with the columns {', '.join(expected)}")
    for number, row in enumerate(rows, start=1):
        if None in row or None in row.values():  # which is how more or fewer cells are read
            raise ValueError(f"{path}: row {number} has not as many cells as there are columns")
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
        return text  # refused where the arm is checked, with its place
