"""The log of a service as a log that `fairbandits audit`, `judge` and `fit` read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, select

from fairbandits.categorical import Categorical
from fairbandits.logs import Roles, write_log
from fairbandits.service.config import Config
from fairbandits.service.features import CategoricalFeature, NumericFeature
from fairbandits.service.log.events import Decided, read_event, reward_key
from fairbandits.service.log.opening import opened
from fairbandits.service.log.store import find, last_seq
from fairbandits.service.log.tables import events
from fairbandits.service.state.recommender import spread

_ROWS = 5000
#: What the columns of a user's features begin with; and those of attributes that are named as another column.
_USER, _GROUP = "user_", "group_"
_PROPENSITY, _CHANCE = "propensity", "chance_of_slate"
_OURS = ("decision", "time", "arm", "place", "reward", _PROPENSITY, _CHANCE)

Row = tuple[Decided, int, float]


def export(config: Config, path: str | os.PathLike[str]) -> int:
    """Write the decisions of a service, each with its reward where one came, to a .parquet or .csv file.

    One row for each decision; for a slate one for each of its arms, numbered by `place` from 1, with the reward
    that this arm gave. The probability of a slate is that of all its arms; where there are slates, or picks whose
    probability is not known, it stands under a name by which nobody takes it for a propensity.

    Returns
    -------
    int
        How many rows were written.
    """
    with opened(config) as store, store.connection() as connection:
        # A service that runs goes on writing: what comes from now on is left out.
        last = last_seq(connection)
        chance = _PROPENSITY if _has_propensities(connection, last) else _CHANCE
        stretches = (_columns(config, rows, chance) for rows in _stretches(connection, last))
        return write_log(path, stretches, _roles(config, chance))


def _roles(config: Config, chance: str) -> Roles:
    return Roles(
        arm="arm",
        reward="reward",
        groups=tuple(_group_columns(config).values()),
        propensity=chance if chance == _PROPENSITY else None,
        contexts=_user_columns(config),
        time="time",
        decision="decision",
    )


def _user_columns(config: Config) -> tuple[str, ...]:
    return tuple(f"{_USER}{name}" for name in config.features)


def _group_columns(config: Config) -> dict[str, str]:
    """Name the columns of groups by their attributes."""
    taken = {*_OURS, *_user_columns(config)}
    return {name: f"{_GROUP}{name}" if name in taken else name for name in config.attributes}


def _has_propensities(connection: Connection, last: int) -> bool:
    """Whether every decision is for one arm, of which the probability is known."""
    without = events.c.body.contains('"propensity":null') | events.c.body.contains('"slate":true')
    query = select(func.count()).where(events.c.kind == Decided.KIND, events.c.seq <= last, without)
    return not connection.execute(query).scalar()


def _stretches(connection: Connection, last: int) -> Iterator[list[Row]]:
    seq = 0
    while True:
        query = select(events.c.seq, events.c.body).where(events.c.kind == Decided.KIND)
        query = query.where(events.c.seq > seq, events.c.seq <= last).order_by(events.c.seq).limit(_ROWS)
        found = connection.execute(query).all()
        if not found and seq:
            return
        decisions = [read_event(Decided.KIND, body) for _, body in found]
        rewards = find(connection, [reward_key(decided.id) for decided in decisions])
        yield [row for decided in decisions for row in _rows(decided, rewards)]
        if not found:
            return
        seq = found[-1].seq


def _rows(decided: Decided, rewards: Mapping[str, Any]) -> Iterator[Row]:
    came = rewards.get(reward_key(decided.id))
    n = len(decided.picked)
    each = [None] * n if came is None else spread(came.reward, n)[1]
    for place, reward in enumerate(each):
        yield decided, place, np.nan if reward is None else reward


def _columns(config: Config, rows: list[Row], chance: str) -> dict[str, Any]:
    decisions = [decided for decided, _, _ in rows]
    columns: dict[str, Any] = {
        "decision": _coded([decided.id for decided in decisions]),
        "time": np.array([int(decided.time * 1e6) for decided in decisions], "datetime64[us]"),
        "arm": _coded([decided.picked[place] for decided, place, _ in rows]),
        "place": np.array([place + 1 for _, place, _ in rows], np.int64),
        "reward": np.array([reward for _, _, reward in rows], float),
        chance: np.array([decided.propensity for decided in decisions], float),
    }
    for name, column in _group_columns(config).items():
        columns[column] = _coded([decided.groups.get(name) for decided in decisions], config.attributes[name])
    for (name, feature), column in zip(config.features.items(), _user_columns(config), strict=True):
        values = [_known(decided, name, feature) for decided in decisions]
        columns[column] = (
            _coded(values, feature.values) if isinstance(feature, CategoricalFeature) else np.array(values, float)
        )
    return columns


def _known(decided: Decided, name: str, feature: NumericFeature | CategoricalFeature) -> Any:
    value = decided.features.get(name)
    return feature.default if value is None else value


def _coded(values: list[Any], labels: tuple[str, ...] = ()) -> Categorical:
    """Write labels as numbers; the configured ones come first, so that the column is one of words in any case."""
    known = [*dict.fromkeys([*labels, *(value for value in values if value is not None)])] or [""]
    code = {label: number for number, label in enumerate(known)}
    return Categorical(np.array([-1 if value is None else code[value] for value in values], np.int32), known)
