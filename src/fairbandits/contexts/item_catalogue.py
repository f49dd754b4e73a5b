"""The items that can be recommended: they can be added, changed, retired and offered to users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fairbandits.arms import ArmId
from fairbandits.categorical import Categorical
from fairbandits.contexts.catalogue import Catalogue
from fairbandits.contexts.column_encoders import as_categorical, category_text
from fairbandits.contexts.context_encoder import ContextEncoder
from fairbandits.contexts.offer import Offer
from fairbandits.contexts.table_encoder import as_dense, value_in
from fairbandits.contexts.tables import FrameTable
from fairbandits.labels import is_missing
from fairbandits.models.rows import as_rows, refuse_unusable

Floats = NDArray[np.float64]
Users = Sequence[Mapping[str, Any]] | FrameTable


class ItemCatalogue:
    """Items by id, encoded, and the contexts in which they are offered to users.

    Parameters
    ----------
    encoder : ContextEncoder
        The encoder of users and items.

    Examples
    --------
    >>> from fairbandits.contexts import CategoryEncoder, NumberEncoder, TableEncoder
    >>> items = TableEncoder((CategoryEncoder("genre", ("comedy", "drama")),))
    >>> catalogue = ItemCatalogue(ContextEncoder(TableEncoder((NumberEncoder("age", 20.0, 70.0),)), items))
    >>> catalogue.set("hamlet", {"genre": "drama"})
    >>> catalogue.set("twelfth night", {"genre": "comedy"})
    >>> catalogue.offer([{"age": 45}]).toarray()
    array([[0.5, 0. , 1. ],
           [0.5, 1. , 0. ]])
    """

    def __init__(self, encoder: ContextEncoder) -> None:
        self.encoder = encoder
        # Per item: the columns and values of its features, and the values with which users are compared.
        self._features: dict[ArmId, tuple[NDArray[np.int32], Floats]] = {}
        self._matched: dict[ArmId, tuple[str | None, ...]] = {}
        self._encoded: tuple[Catalogue, Any] | None = None

    def __len__(self) -> int:
        return len(self._features)

    def __contains__(self, item: object) -> bool:
        return item in self._features

    def __iter__(self) -> Iterator[ArmId]:
        return iter(self._features)

    @property
    def ids(self) -> tuple[ArmId, ...]:
        """The ids of the items, in the order in which they were added."""
        return tuple(self._features)

    def set(self, item: ArmId, values: Mapping[str, Any]) -> None:
        """Add an item, or change it, given the values of its columns."""
        x = self.encoder.items.encode_row(values)
        (columns,) = np.nonzero(x)
        matched = tuple(_text(values.get(of_item)) for _, of_item in self.encoder.matches.values())
        self._set(item, columns.astype(np.int32), x[columns], matched)

    def set_table(self, ids: Sequence[ArmId], table: FrameTable) -> None:
        """Add or change the items of a table, in its order."""
        columns = [of_item for _, of_item in self.encoder.matches.values()]
        table.require(columns, "matches")
        self.set_encoded(ids, self.encoder.items.encode_table(table), [table.labels(each) for each in columns])

    def set_encoded(self, ids: Sequence[ArmId], features: Any, matched: Sequence[Sequence[Any]]) -> None:
        """Add or change items whose features are encoded; `matched` has the values of each way to match."""
        features = sparse.csr_array(features)
        refuse_unusable(int((~np.isfinite(features.data)).sum()), "encoded items")
        features.eliminate_zeros()
        ways = list(zip(*(map(_text, values) for values in matched), strict=True)) or [()] * len(ids)
        for row, item in enumerate(ids):
            span = slice(features.indptr[row], features.indptr[row + 1])
            self._set(item, features.indices[span].astype(np.int32), features.data[span].copy(), ways[row])

    def copy_item(self, item: ArmId, other: ItemCatalogue) -> None:
        """Copy an item from another catalogue with the same encoder, whether it is new or changed."""
        self._set(item, *other._features[item], other._matched[item])

    def _set(self, item: ArmId, columns: Any, values: Floats, matched: tuple[str | None, ...]) -> None:
        self._features[item] = columns, values
        self._matched[item] = matched
        self._encoded = None

    def retire(self, item: ArmId) -> None:
        """Remove an item."""
        if item not in self._features:
            raise ValueError(f"item must be one of the {len(self)} items of the catalogue, got {item!r}")
        del self._features[item], self._matched[item]
        self._encoded = None

    def offer(
        self, users: Users, eligible: Sequence[ArmId] | None = None, groups: Sequence[Mapping[str, Any]] = ()
    ) -> Offer:
        """Offer items to users.

        Parameters
        ----------
        users : sequence of mappings, or FrameTable
            The users.
        eligible : sequence of ids, optional
            The items on offer; all by default.
        groups : sequence of mappings, optional
            Further values of users, such as their groups. Matches use them in preference to the values in `users`.
        """
        X, matching = self._read(users, groups)
        catalogue, features = self._encode()
        if len(users) == 1:  # much faster, and the common case
            alone = {name: values[0] for name, values in matching.items()}
            offer = catalogue.offer(as_dense(X)[0], alone, eligible)
        else:
            offer = catalogue.offer_many(X, matching, eligible)
        if not self.encoder.interactions:
            return offer
        n_users, n_items = offer.rows.n_users, offer.rows.n_arms
        items = sparse.vstack([features[catalogue.places(offer.arms)]] * n_users, format="csr")
        products = self.encoder.multiply(np.repeat(as_dense(X), n_items, axis=0), items)
        contexts = sparse.hstack([sparse.csr_array(offer.toarray()), products], format="csr")
        return Offer(offer.arms, as_rows(contexts, None, n_users))

    def contexts(self, users: Users, items: Sequence[ArmId]) -> Any:
        """Return the context of one item for each of many users, as needed for learning from a log."""
        X, matching = self._read(users)
        catalogue, features = self._encode()
        code = {item: number for number, item in enumerate(dict.fromkeys(items))}
        shown = Categorical(np.array([code[item] for item in items], np.int32), list(code))
        coded = {name: as_categorical(values) for name, values in matching.items()}
        contexts = catalogue.contexts(X, shown, coded)
        if not self.encoder.interactions:
            return contexts
        products = self.encoder.multiply(as_dense(X), features[catalogue.places(items)])
        return sparse.hstack([contexts, products], format="csr")

    def _read(
        self, users: Users, groups: Sequence[Mapping[str, Any]] = ()
    ) -> tuple[Any, dict[str, list[str | None]]]:
        """Return the features of users, and the values with which items are compared."""
        ways = {name: of_user for name, (of_user, _) in self.encoder.matches.items()}
        if isinstance(users, FrameTable):
            users.require(ways.values(), "matches")
            X = self.encoder.users.encode_table(users)
            return X, {name: [_text(value) for value in users.labels(column)] for name, column in ways.items()}
        X = self.encoder.users.encode_rows(users)
        return X, {
            name: [
                _text(group[column] if column in group else value_in(user, column))
                for user, group in zip(users, groups or repeat({}, len(users)), strict=True)
            ]
            for name, column in ways.items()
        }

    def _encode(self) -> tuple[Catalogue, Any]:
        # Encode lazily, because many items may change between two users.
        if self._encoded is None:
            if not self._features:
                raise ValueError("there are no items to recommend; add some")
            columns, values = zip(*self._features.values(), strict=True)
            starts = np.cumsum([0, *map(len, columns)])
            shape = (len(self), self.encoder.items.width)
            features = sparse.csr_array((np.concatenate(values), np.concatenate(columns), starts), shape=shape)
            catalogue = Catalogue(features, self.encoder.users.width, self.ids, self._matches())
            self._encoded = catalogue, features
        return self._encoded

    def encoded(self) -> tuple[Any, dict[str, Sequence[str | None]]]:
        """Return the sparse features of the items and, for each way to match, the value of every item."""
        return self._encode()[1], self._matches()

    def _matches(self) -> dict[str, Sequence[str | None]]:
        ways = zip(*self._matched.values(), strict=True)
        return dict(zip(self.encoder.matches, ways, strict=True)) if self.encoder.matches else {}

    def to_json(self) -> dict[str, Any]:
        """Return the ids and the values with which users are compared, as JSON values."""
        return {"ids": list(self._features), "matched": [list(each) for each in self._matched.values()]}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the features of the items as arrays."""
        columns, values = zip(*self._features.values(), strict=True) if self._features else ((), ())
        return {
            "starts": np.cumsum([0, *map(len, columns)]).astype(np.int64),
            "columns": np.concatenate([np.empty(0, np.int32), *columns]),
            "values": np.concatenate([np.empty(0), *values]),
        }

    def restore(self, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Replace the items with those that `to_json` and `arrays` returned."""
        starts, columns, values = (arrays[name] for name in ("starts", "columns", "values"))
        if len(starts) != len(plain["ids"]) + 1 or not starts[-1] == len(columns) == len(values):
            raise ValueError("the items do not fit their features")
        self._features = {
            item: (columns[lo:hi].copy(), values[lo:hi].copy())
            for item, lo, hi in zip(plain["ids"], starts[:-1].tolist(), starts[1:].tolist(), strict=True)
        }
        self._matched = {item: tuple(each) for item, each in zip(plain["ids"], plain["matched"], strict=True)}
        self._encoded = None


def _text(value: Any) -> str | None:
    if type(value) is str:
        return value
    return None if is_missing(value) else category_text(value)
