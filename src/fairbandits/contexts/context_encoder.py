"""Users and items as contexts: the user's features, the item's, matches and interactions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fairbandits.contexts.table_encoder import TableEncoder
from fairbandits.contexts.transformer_encoder import TransformerEncoder, load_encoder

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class ContextEncoder:
    """An encoder that turns users and items into contexts.

    Parameters
    ----------
    users, items : TableEncoder or TransformerEncoder
        The encoders of both tables.
    matches : mapping of str to (user column, item column)
        For each way to match, by name, the columns that are compared: the feature is 1 where both have the same
        value.
    interactions : tuple of (user column, item column)
        Columns whose features are multiplied: every feature of one column with every feature of the other.

    Examples
    --------
    >>> from fairbandits.contexts import CategoryEncoder, NumberEncoder
    >>> users = TableEncoder((NumberEncoder("age", 20.0, 70.0),))
    >>> items = TableEncoder((CategoryEncoder("genre", ("comedy", "drama")),))
    >>> ContextEncoder(users, items, {"language": ("speaks", "language")}, (("age", "genre"),)).features
    ('age', 'arm-genre=comedy', 'arm-genre=drama', 'match-language', 'age*genre=comedy', 'age*genre=drama')
    """

    users: TableEncoder | TransformerEncoder
    items: TableEncoder | TransformerEncoder = field(default_factory=TableEncoder)
    matches: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    interactions: tuple[tuple[str, str], ...] = ()

    @cached_property
    def features(self) -> tuple[str, ...]:
        """The names of the features of a context."""
        return (
            *self.users.features,
            *(f"arm-{name}" for name in self.items.features),
            *(f"match-{name}" for name in self.matches),
            *(
                f"{self.users.features[user]}*{self.items.features[item]}"
                for of_user, of_item in self._products
                for user in of_user.tolist()
                for item in of_item.tolist()
            ),
        )

    def check(self) -> None:
        """Raise ValueError if columns of interactions have no features to multiply."""
        for (user, item), (of_user, of_item) in zip(self.interactions, self._products, strict=True):
            for column, places in ((user, of_user), (item, of_item)):
                if not places.size:
                    raise ValueError(f"interactions must name columns with features, got {column!r}")

    @property
    def has_items(self) -> bool:
        """Whether contexts depend on anything about an item other than its id."""
        return bool(self.items.width or self.matches)

    @cached_property
    def _products(self) -> list[tuple[Ints, Ints]]:
        """The numbers of the features that are multiplied, for each interaction."""
        return [(_places(self.users, user), _places(self.items, item)) for user, item in self.interactions]

    def multiply(self, users: NDArray[np.float64], items: Any) -> Any:
        """Return the interactions of users with items, row by row, as a sparse matrix.

        Parameters
        ----------
        users : array of shape (n_rows, n_user_features)
        items : sparse array of shape (n_rows, n_item_features)
        """
        blocks = [
            items[:, of_item].multiply(users[:, [user]])
            for of_user, of_item in self._products
            for user in of_user.tolist()
        ]
        return sparse.hstack(blocks, format="csr")

    def to_dict(self) -> dict[str, Any]:
        """Return the encoder as JSON values."""
        return {
            "users": self.users.to_dict(),
            "items": self.items.to_dict(),
            "matches": {name: list(pair) for name, pair in self.matches.items()},
            "interactions": [list(pair) for pair in self.interactions],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], users: Any = None, items: Any = None) -> ContextEncoder:
        """Rebuild an encoder from the values that `to_dict` returned, given its custom transformers."""
        try:
            return cls(
                load_encoder(values["users"], users, "user_encoder"),
                load_encoder(values["items"], items, "item_encoder"),
                {str(name): (str(pair[0]), str(pair[1])) for name, pair in values["matches"].items()},
                tuple((str(user), str(item)) for user, item in values["interactions"]),
            )
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise ValueError(f"encoder must have users and items, got an invalid one ({error!r})") from None


def encoder_in(metadata: Mapping[str, Any]) -> ContextEncoder | None:
    """Return the encoder in the metadata of a policy; None for a policy without one."""
    if "encoder" not in metadata:
        return None
    if "users" in metadata["encoder"]:
        return ContextEncoder.from_dict(metadata["encoder"])
    # The format of 0.1.0, which stores the encoder of arms next to that of users.
    items = metadata.get("catalogue", {"columns": [], "words": {}, "matches": []})
    matches = {str(name): (str(name), f"match:{name}") for name in items["matches"]}
    of_items = TableEncoder.from_dict(items)
    return ContextEncoder(
        TableEncoder.from_dict(metadata["encoder"]), TableEncoder(of_items.encoders, has_constant=False), matches
    )


def _places(encoder: TableEncoder | TransformerEncoder, column: str) -> Ints:
    if isinstance(encoder, TableEncoder) and column not in encoder.columns:
        raise ValueError(
            f"interactions must name columns that are features, got {column!r}; the features are "
            f"{', '.join(encoder.columns)}"
        )
    return np.array(encoder.places(column), np.int64)
