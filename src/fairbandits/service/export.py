"""Export from a service: its log, as a file that `audit`, `evaluate` and `fit` can read, or its recommender."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, func, select

from fairbandits.categorical import Categorical
from fairbandits.contexts import CategoryEncoder, DateEncoder
from fairbandits.contexts.column_encoders import category_text
from fairbandits.logs import Roles, write_log
from fairbandits.logs.writing import check_log_path
from fairbandits.recommender import Recommender
from fairbandits.service.config import Config
from fairbandits.service.features import Feature, SavedFeature
from fairbandits.service.inputs import ServiceInputs
from fairbandits.service.log.events import Decided, reward_key, rewards_by_arm
from fairbandits.service.log.follower import Follower
from fairbandits.service.log.insertion import last_seq
from fairbandits.service.log.log_facts import PrunedContent
from fairbandits.service.log.reading import find
from fairbandits.service.log.store import open_store
from fairbandits.service.log.tables import events
from fairbandits.service.state.recommender import ServedRecommender
from fairbandits.storage import remove_abandoned

_ROWS = 5000
# Prefixes of the columns of user features, and of attributes whose name is already taken by another column.
_USER, _GROUP = "user_", "group_"
_PROPENSITY, _SLATE_PROBABILITY = "propensity", "chance_of_slate"
_FIXED = (
    *("decision", "time", "user", "key_id", "policy", "arm", "place", "reward"),
    *(_PROPENSITY, _SLATE_PROBABILITY),
)

# Selects decisions whose content was not deleted.
_HELD = (events.c.kind == Decided.KIND) & events.c.body.is_not(None)

Row = tuple[Decided, int, float]


def export(config: Config, path: str | os.PathLike[str]) -> int:
    """Write the decisions of a service with their rewards to a .parquet or .csv file.

    There is one row for each decision or, for a slate, one row for each arm, numbered from 1 by `place`, with the
    reward of the arm. `user` is the pseudonym of the user, empty if the request named none. `key_id` is the id of
    the API key that requested the decision, empty if there was none. `policy` is the id of the policy that made
    the decision. The probability of a slate is that of all its arms together. If the log has slates, or decisions
    without a probability, the column is called `chance_of_slate`, so that it is not mistaken for a propensity.
    Decisions whose content was deleted are left out.

    Returns
    -------
    int
        The number of rows.
    """
    check_log_path(path)
    remove_abandoned(Path(path))
    with open_store(config, must_exist=True) as store, store.connection() as connection:
        # A running service continues to write; later entries are left out.
        last = last_seq(connection)
        while True:
            pruned = PrunedContent.read(connection)
            if not _count_decisions(connection, last):
                raise ValueError("the log has no decisions yet, so there is nothing to export")
            probability = _PROPENSITY if _has_propensities(connection, last) else _SLATE_PROBABILITY
            chunks = (_columns(config, rows, probability) for rows in _chunks(connection, last))
            n_rows = write_log(path, chunks, _roles(config, probability), _describe(pruned))
            # The note comes first in the file, and must count all decisions that were left out.
            if PrunedContent.read(connection) == pruned:
                return n_rows


def pruned_note(config: Config) -> str | None:
    """Return a sentence about the decisions that an export can no longer contain, or None if there are none."""
    with open_store(config, must_exist=True) as store:
        return _describe(store.read_pruned())


def _describe(pruned: PrunedContent) -> str | None:
    if not pruned.decisions:
        return None
    day = datetime.fromtimestamp(pruned.until, UTC).strftime("%Y-%m-%d")
    return f"The content of {pruned.decisions:,} decision(s) before {day} was deleted because of its age."


def export_recommender(config: Config, path: str | os.PathLike[str]) -> Recommender:
    """Write the recommender of a service, with its learned state, to a file for `Recommender.load`."""
    with open_store(config, must_exist=True) as store:
        policy_config = store.read_change().served_config(config)
        follower = Follower(lambda: {"recommender": ServedRecommender(policy_config)}, config.store.snapshot_every)
        if config.start is None and not store.last_seq():
            raise ValueError("the log is empty, so there is nothing to export")
        follower.start(store)
    served = cast(ServedRecommender, follower.folds["recommender"])
    served.catalogue.encode()
    remove_abandoned(Path(path))
    served.recommender.save(path)
    return served.recommender


def _roles(config: Config, probability: str) -> Roles:
    return Roles(
        arm="arm",
        reward="reward",
        groups=tuple(_group_columns(config).values()),
        propensity=probability if probability == _PROPENSITY else None,
        contexts=_user_columns(config),
        time="time",
        decision="decision",
        user="user",
        position="place",
    )


def _user_columns(config: Config) -> tuple[str, ...]:
    """Return the column name of each feature."""
    if config.start is None:
        return tuple(f"{_USER}{name}" for name in config.features)
    # A saved recommender keeps its own names for the features, so that it can be evaluated and fitted again.
    taken = {*_FIXED, *config.inputs.attributes}
    return tuple(f"{_USER}{name}" if name in taken else name for name in config.inputs.features)


def _group_columns(config: Config) -> dict[str, str]:
    """Return the column name of each attribute."""
    taken = {*_FIXED, *_user_columns(config)}
    return {name: f"{_GROUP}{name}" if name in taken else name for name in config.inputs.attributes}


def _has_propensities(connection: Connection, last: int) -> bool:
    """Return whether every decision is for a single arm and has a probability."""
    without = events.c.body.contains('"propensity":null') | events.c.body.contains('"slate":true')
    return not _count_decisions(connection, last, without)


def _count_decisions(connection: Connection, last: int, *which: ColumnElement[bool]) -> int:
    query = select(func.count()).where(_HELD, events.c.seq <= last, *which)
    return connection.execute(query).scalar() or 0


def _chunks(connection: Connection, last: int) -> Iterator[list[Row]]:
    seq = 0
    while True:
        query = select(events.c.seq, events.c.key).where(_HELD)
        query = query.where(events.c.seq > seq, events.c.seq <= last).order_by(events.c.seq).limit(_ROWS)
        found = connection.execute(query).all()
        if not found:
            if not seq:  # even if all content has just been deleted, a file must have columns
                yield []
            return
        # Content may be deleted between two statements: first that of a decision, and at the same time or later
        # that of its reward.
        by_key = find(connection, [row.key for row in found])
        decisions = [decided for row in found if (decided := by_key[row.key]) is not None]
        rewards = find(connection, [reward_key(decided.id) for decided in decisions])
        deleted = {key for key, rewarded in rewards.items() if rewarded is None}
        held = [decided for decided in decisions if reward_key(decided.id) not in deleted]
        yield [row for decided in held for row in _rows(decided, rewards)]
        seq = found[-1].seq


def _rows(decided: Decided, rewards: Mapping[str, Any]) -> Iterator[Row]:
    rewarded = rewards.get(reward_key(decided.id))
    n = len(decided.picked)
    by_arm = [None] * n if rewarded is None else rewards_by_arm(rewarded.reward, n)[1]
    for place, reward in enumerate(by_arm):
        yield decided, place, np.nan if reward is None else reward


def _columns(config: Config, rows: list[Row], probability: str) -> dict[str, Any]:
    decisions = [decided for decided, _, _ in rows]
    columns: dict[str, Any] = {
        "decision": _categorical([decided.id for decided in decisions]),
        "time": np.array([int(decided.time * 1e6) for decided in decisions], "datetime64[us]"),
        "user": _categorical([decided.user for decided in decisions]),
        "key_id": _categorical([decided.key_id for decided in decisions]),
        "policy": _categorical([decided.policy for decided in decisions]),
        "arm": _categorical([decided.picked[place] for decided, place, _ in rows]),
        "place": np.array([place + 1 for _, place, _ in rows], np.int64),
        "reward": np.array([reward for _, _, reward in rows], float),
        probability: np.array([decided.propensity for decided in decisions], float),
    }
    for name, column in _group_columns(config).items():
        groups = [decided.groups.get(name) for decided in decisions]
        columns[column] = _group_column(groups, name, config.inputs)
    for (name, feature), column in zip(config.inputs.features.items(), _user_columns(config), strict=True):
        columns[column] = _feature_column([decided.features.get(name) for decided in decisions], name, feature)
    return columns


def _group_column(groups: list[Any], name: str, inputs: ServiceInputs) -> Any:
    """Return the groups of an attribute as a column, which holds either integers or text."""
    if name in inputs.integer_attributes:
        known = sorted({group for group in groups if group is not None}) or [0]
        return Categorical(
            np.array([-1 if each is None else known.index(each) for each in groups], np.int32), known
        )
    texts = [None if group is None else str(group) for group in groups]
    return _categorical(texts, inputs.attributes[name] or ())


def _feature_column(values: list[Any], name: str, feature: Feature) -> Any:
    encoder = feature.encoder(name)
    # Defaults of the configuration count as values, but values that a saved recommender fills in do not.
    default = None if isinstance(feature, SavedFeature) else feature.default
    filled = [default if value is None else value for value in values]
    if isinstance(encoder, CategoryEncoder):
        texts = [None if value is None else category_text(value) for value in filled]
        return _categorical(texts, encoder.categories)
    numbers = np.array([np.nan if value is None else encoder.parse(value) for value in filled])
    return _as_times(numbers) if isinstance(encoder, DateEncoder) else numbers


def _as_times(seconds: NDArray[np.float64]) -> NDArray[np.datetime64]:
    times = np.full(len(seconds), "NaT", "datetime64[us]")
    known = ~np.isnan(seconds)
    times[known] = (seconds[known] * 1e6).astype(np.int64).astype("datetime64[us]")
    return times


def _categorical(values: list[Any], labels: tuple[str, ...] = ()) -> Categorical:
    """Encode labels; configured labels come first, so that even a column without values is categorical."""
    known = [*dict.fromkeys([*labels, *(value for value in values if value is not None)])] or [""]
    code = {label: number for number, label in enumerate(known)}
    return Categorical(np.array([-1 if value is None else code[value] for value in values], np.int32), known)
