"""Fitting the encoder of users and items to two tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fairbandits.contexts.context_encoder import ContextEncoder
from fairbandits.contexts.table_encoder import TableEncoder
from fairbandits.contexts.tables import FrameTable, fit_encoder
from fairbandits.contexts.transformer_encoder import TransformerEncoder


def fit_context_encoder(
    users: FrameTable,
    items: FrameTable,
    *,
    left_out: Sequence[str],
    item_id: str | None,
    features: Any,
    matches: Any,
    interactions: Any,
    categories: Any,
    user_encoder: Any,
    item_encoder: Any,
) -> ContextEncoder:
    """Fit an encoder of users and items to two tables.

    Parameters
    ----------
    users, items : FrameTable
        The tables.
    left_out : sequence of str
        The columns of users that are not features, unless `features` names them.
    item_id : str or None
        The column with the ids of items.
    features, matches, interactions, categories, user_encoder, item_encoder
        As for `fairbandits.Recommender`; they are checked here.
    """
    pairs = _as_matches(matches)
    for of_user, of_item in pairs.values():
        users.require([of_user], "matches")
        items.require([of_item], "matches")
    named = as_names("categories", categories)
    users.require([column for column in named if column not in items.columns], "categories")
    wanted = _feature_columns(users, left_out, features)
    others = [name for name in items.columns if name != item_id and not _is_id(name)]
    encoder = ContextEncoder(
        _encoder_of(users, wanted, named, user_encoder, "user_encoder", has_constant=True),
        _encoder_of(items, others, named, item_encoder, "item_encoder", has_constant=False),
        pairs,
        _as_pairs(interactions),
    )
    encoder.check()
    return encoder


def _encoder_of(
    table: FrameTable,
    columns: Sequence[str],
    categories: Sequence[str],
    custom: Any,
    name: str,
    *,
    has_constant: bool,
) -> TableEncoder | TransformerEncoder:
    if custom is not None:
        return TransformerEncoder(custom, name)
    return fit_encoder(table, columns, categories, has_constant=has_constant)


def as_names(parameter: str, names: Any) -> tuple[str, ...]:
    """Check a list of column names."""
    is_listed = isinstance(names, Iterable) and not isinstance(names, str)
    if not is_listed or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{parameter} must be a list of column names, got {names!r}")
    return tuple(names)


def _as_matches(matches: Any) -> dict[str, tuple[str, str]]:
    if isinstance(matches, Mapping):
        return {str(name): (str(of_user), str(of_item)) for name, (of_user, of_item) in matches.items()}
    return {name: (name, name) for name in as_names("matches", matches)}


def _as_pairs(interactions: Any) -> tuple[tuple[str, str], ...]:
    pairs = tuple(interactions)
    for pair in pairs:
        if isinstance(pair, str) or len(pair) != 2:
            raise ValueError(
                f"interactions must be a list of pairs (user column, item column), got {interactions!r}"
            )
    return tuple((str(user), str(item)) for user, item in pairs)


def _feature_columns(users: FrameTable, left_out: Sequence[str], features: Any) -> tuple[str, ...]:
    if features is None:
        return tuple(name for name in users.columns if name not in left_out and not _is_id(name))
    wanted = as_names("features", features)
    users.require(wanted, "features")
    return wanted


def _is_id(name: str) -> bool:
    return name.lower() == "id" or name.lower().endswith("_id")
