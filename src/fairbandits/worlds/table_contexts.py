"""Contexts of the users and items of tables, encoded once and offered in every round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairbandits.arms import ArmId
from fairbandits.contexts import (
    Catalogue,
    CategoryEncoder,
    ContextEncoder,
    FrameTable,
    ItemCatalogue,
    Offer,
    TableEncoder,
    fit_encoder,
)
from fairbandits.contexts.column_encoders import as_categorical, category_text
from fairbandits.contexts.context_fitting import as_names, fit_context_encoder
from fairbandits.contexts.table_encoder import as_dense

#: Ids are features only if no other column is, and only up to this number: a feature of a single user or item can
#: be learned only from the rounds of that user or item.
MAX_IDS = 50
# The column of arms that have no table.
_ID = "id"

Matches = Sequence[str] | Mapping[str, tuple[str, str]]


class TableContexts:
    """The contexts of users with items: a constant, the user's features, the item's, and matches.

    Parameters
    ----------
    encoder : ContextEncoder
        The encoder of both tables.
    users : FrameTable
        One row per user.
    items : ItemCatalogue
        The items, encoded.

    Attributes
    ----------
    columns : tuple of str
        The names of the columns of a context.
    arms : tuple of ids
        The ids of the items.
    """

    def __init__(self, encoder: ContextEncoder, users: FrameTable, items: ItemCatalogue) -> None:
        self.columns = encoder.features
        self.arms = items.ids
        self._users = as_dense(encoder.users.encode_table(users))
        features, matches = items.encoded()
        self._catalogue = Catalogue(features, encoder.users.width, items.ids, matches)
        ways = [_texts(users.labels(of_user)) for of_user, _ in encoder.matches.values()]
        self._matching = [dict(zip(encoder.matches, row, strict=True)) for row in zip(*ways, strict=True)]

    def offer(self, user: int) -> Offer:
        """Return the contexts of all items for the user in a row of the table."""
        return self._catalogue.offer(self._users[user], self._matching[user] if self._matching else None)


def contexts_of_tables(
    users: FrameTable,
    items: FrameTable,
    *,
    item_id: str,
    user_id: str | None = None,
    left_out: Sequence[str] = (),
    features: Sequence[str] | None = None,
    matches: Matches = (),
    categories: Sequence[str] = (),
    visitors: FrameTable | None = None,
) -> TableContexts:
    """Return the contexts of the users and items of two tables.

    Parameters
    ----------
    users, items : FrameTable
        One row per user, and one per item.
    item_id, user_id : str
        The columns with their ids; users may have none. If there are no other features, the ids are features,
        provided that there are at most `MAX_IDS`.
    left_out : sequence of str
        Further columns of users that are not features, unless `features` names them.
    features, matches, categories
        As for `fairbandits.Recommender`.
    visitors : FrameTable, optional
        The users who arrive, if these are not all users.
    """
    encoder = fit_context_encoder(
        users,
        items,
        left_out=left_out if user_id is None else (*left_out, user_id),
        item_id=item_id,
        features=features,
        matches=matches,
        interactions=(),
        categories=categories,
        user_encoder=None,
        item_encoder=None,
    )
    of_users = encoder.users if user_id is None else _or_ids(encoder.users, users.labels(user_id), user_id)
    ids, _ = items.ids(item_id, ())
    encoder = ContextEncoder(of_users, _or_ids(encoder.items, ids, item_id), encoder.matches)
    catalogue = ItemCatalogue(encoder)
    catalogue.set_table(ids, items)
    return TableContexts(encoder, users if visitors is None else visitors, catalogue)


def contexts_of_arms(
    users: FrameTable,
    arms: Sequence[ArmId],
    *,
    left_out: Sequence[str],
    features: Sequence[str] | None,
    categories: Sequence[str],
    visitors: FrameTable,
) -> TableContexts:
    """Return the contexts of the users of a table with arms of which only the ids are known.

    The parameters are those of `contexts_of_tables`; `features` must not name columns that are left out.
    """
    wanted = [name for name in users.columns if name not in left_out]
    if features is not None:
        wanted = list(as_names("features", features))
        users.require(wanted, "features")
        for name in wanted:
            if name in left_out:
                raise ValueError(
                    f"features must not contain {' or '.join(map(repr, left_out))}, got {name!r}; leave it out, "
                    "because it is unknown when a policy decides"
                )
    named = as_names("categories", categories)
    users.require(named, "categories")
    of_users = fit_encoder(users, wanted, named, has_constant=True)
    of_arms = _or_ids(TableEncoder(), arms, _ID)
    encoder = ContextEncoder(of_users, of_arms)
    catalogue = ItemCatalogue(encoder)
    catalogue.set_encoded(arms, of_arms.encode_columns(len(arms), {_ID: as_categorical(arms)}), [])
    return TableContexts(encoder, visitors, catalogue)


def _or_ids(encoder: Any, ids: Sequence[Any], column: str) -> Any:
    """Return the encoder, or an encoder of ids if it has no features and there are few ids."""
    if encoder.used or len(ids) > MAX_IDS:
        return encoder
    return TableEncoder((CategoryEncoder(column, tuple(map(category_text, ids))),), encoder.has_constant)


def _texts(labels: Sequence[Any]) -> Sequence[str | None]:
    column = as_categorical(labels)
    return np.array([*column.labels, None], object)[column.codes].tolist()  # type: ignore[no-any-return]
