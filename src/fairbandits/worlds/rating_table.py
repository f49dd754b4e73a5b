"""Ratings of items by users, with the tables that describe both."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.categorical import Categorical
from fairbandits.contexts import FrameTable
from fairbandits.contexts.column_encoders import NUMBER
from fairbandits.worlds.table_files import read_table, select_rows, table_name

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RatingTable:
    """Ratings, one per user and item.

    Attributes
    ----------
    user, item : arrays of int
        The rows of `users` and `items` that each rating belongs to.
    rating : array of float
        The ratings.
    users, items : FrameTable
        One row per user, and one per item.
    data_source : str
        One line that names the data.
    """

    user: Ints
    item: Ints
    rating: Floats
    users: FrameTable
    items: FrameTable
    data_source: str


def read_ratings(
    ratings: Any,
    users: Any,
    items: Any,
    *,
    user: str,
    item: str,
    reward: str,
    group: Sequence[str],
    n_arms: int | None,
) -> RatingTable:
    """Return the ratings of the most rated items, with a row for each of their users and items.

    The parameters are those of `fairbandits.worlds.RatingsWorld`.
    """
    table = read_table(ratings, "ratings")
    for parameter, column in (("user", user), ("item", item), ("reward", reward)):
        table.require([column], parameter)
    if table.kind(reward) != NUMBER:
        raise ValueError(f"reward must be a column of numbers, got {reward!r} with text or dates")
    labels = {column: table.labels(column) for column in (user, item)}
    rating = np.asarray(table.read(reward, NUMBER), np.float64)
    rows, n_dropped = _counted_rows(Categorical.encode(labels[user]), Categorical.encode(labels[item]), rating)
    rows = _most_rated(rows, labels[item], n_arms)
    of_user, of_item = (Categorical.encode([labels[column][row] for row in rows]) for column in (user, item))
    found_users = _rows_of(table, rows, of_user, users, user, "users", (user, item, reward))
    _check_groups(table, rows, of_user, group, found_users)
    found_items = _rows_of(table, rows, of_item, items, item, "items", (user, item, reward, *found_users.columns))
    name = table_name(ratings, "ratings")
    return RatingTable(
        of_user.codes.astype(np.int64),
        of_item.codes.astype(np.int64),
        rating[rows],
        found_users,
        found_items,
        _describe(name, of_user, of_item, rating[rows], n_dropped),
    )


def _counted_rows(user: Categorical, item: Categorical, rating: Floats) -> tuple[Ints, int]:
    """Return the last complete row of each user and item, and the number of incomplete rows."""
    (complete,) = np.nonzero((user.codes >= 0) & (item.codes >= 0) & ~np.isnan(rating))
    if not complete.size:
        raise ValueError("ratings must have a row with user, item and rating, got none")
    pairs = user.codes[complete].astype(np.int64) * len(item.labels) + item.codes[complete]
    _, from_end = np.unique(pairs[::-1], return_index=True)
    return np.sort(complete[::-1][from_end]), len(rating) - len(complete)


def _most_rated(rows: Ints, items: Sequence[Any], n_arms: int | None) -> Ints:
    """Return the rows of the items with the most ratings; among equals, of the items that appear first."""
    if n_arms is None:
        return rows
    column = Categorical.encode([items[row] for row in rows])
    counts = np.bincount(column.codes)
    if n_arms > len(counts):
        raise ValueError(f"n_arms must be at most the {len(counts)} items that are rated, got {n_arms}")
    kept = np.argsort(-counts, kind="stable")[:n_arms]
    return rows[np.isin(column.codes, kept)]


def _rows_of(
    ratings: FrameTable, rows: Ints, column: Categorical, given: Any, id_: str, what: str, others: Sequence[str]
) -> FrameTable:
    """Return the rows that describe users or items, in the order of the labels of their column."""
    if given is None:
        _, first = np.unique(column.codes, return_index=True)
        constant = [
            name
            for name in ratings.columns
            if name not in others and _changing(ratings, name, rows, column, first) is None
        ]
        return select_rows(ratings, rows[first], [id_, *constant], what)
    table = read_table(given, what)
    table.require([id_], id_)
    ids = table.labels(id_)
    place = {label: row for row, label in enumerate(ids)}
    if len(place) < len(ids):
        twice = next(label for row, label in enumerate(ids) if place[label] != row)
        raise ValueError(f"{what} must have one row for each {id_}, got {twice!r} twice")
    for label in column.labels:
        if label not in place:
            raise ValueError(f"{what} must have a row for each {id_} in ratings, got none for {label!r}")
    return select_rows(table, [place[label] for label in column.labels], list(table.columns), what)


def _changing(ratings: FrameTable, name: str, rows: Ints, column: Categorical, first: Ints) -> Any | None:
    """Return a user (or item) for whom a column has several values; None if there is none."""
    read = ratings.read(name, ratings.kind(name))
    # Missing values are NaN, which differs from itself.
    values = (read.codes if isinstance(read, Categorical) else np.where(np.isnan(read), np.inf, read))[rows]
    (changed,) = np.nonzero(values != values[first][column.codes])
    return column.labels[column.codes[changed[0]]] if changed.size else None


def _check_groups(
    ratings: FrameTable, rows: Ints, user: Categorical, group: Sequence[str], users: FrameTable
) -> None:
    """Raise ValueError for a column of groups that changes from one rating of a user to another."""
    _, first = np.unique(user.codes, return_index=True)
    for name in group:
        if name in ratings.columns and name not in users.columns:
            whose = _changing(ratings, name, rows, user, first)
            raise ValueError(f"group must have one value per user, got several in {name!r} for user {whose!r}")


def _describe(name: str, user: Categorical, item: Categorical, rating: Floats, n_dropped: int) -> str:
    digest = hashlib.sha256(user.codes.tobytes() + item.codes.tobytes() + rating.tobytes()).hexdigest()
    dropped = f", {n_dropped:,} incomplete rows dropped" if n_dropped else ""
    counts = f"{len(rating):,} ratings of {len(item.labels):,} items by {len(user.labels):,} users"
    return f"{name}: {counts}{dropped} ({digest[:12]})"
