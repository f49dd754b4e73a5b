"""What is known of users, as numbers: the encoder of a log, which travels with what was learned from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fairbandits.categorical import Categorical
from fairbandits.policies import Policy

Floats = NDArray[np.float64]
Features = csr_array[Any] | Floats


@dataclass(frozen=True)
class ContextEncoder:
    """How a user's columns become features: numbers as they are, words one-hot, in the order of the columns.

    A word that was never seen, and one that is missing, is a zero in all of its column's features. Without any
    column there is one feature, a constant 1.

    Parameters
    ----------
    columns : sequence of str
        The columns, in order.
    words : mapping of str to sequence of str
        For each column that holds words, those it can hold.

    Examples
    --------
    >>> encoder = ContextEncoder(("age", "city"), {"city": ("Paris", "Rome")})
    >>> encoder.features
    ('age', 'city=Paris', 'city=Rome')
    >>> encoder.encode([{"age": 31, "city": "Rome"}, {"age": 40, "city": None}]).toarray()
    array([[31.,  0.,  1.],
           [40.,  0.,  0.]])
    """

    columns: tuple[str, ...] = ()
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features."""
        if not self.columns:
            return ("constant",)
        return tuple(
            name
            for column in self.columns
            for name in ([f"{column}={word}" for word in self.words[column]] if column in self.words else [column])
        )

    @property
    def width(self) -> int:
        """How many features there are."""
        return sum(self._widths()) or 1

    def _widths(self) -> list[int]:
        return [len(self.words[column]) if column in self.words else 1 for column in self.columns]

    def assemble(self, n_rows: int, columns: Mapping[str, Categorical | Floats]) -> Features:
        """Put features together from columns that have been read: words as codes, numbers as they are."""
        if not self.columns:
            return np.ones((n_rows, 1))
        if not self.words:
            return np.column_stack([np.asarray(columns[name]) for name in self.columns])
        starts = np.cumsum([0, *self._widths()]).tolist()
        places = np.empty((n_rows, len(self.columns)), np.int64)
        values = np.ones((n_rows, len(self.columns)))
        for k, name in enumerate(self.columns):
            column = columns[name]
            if isinstance(column, Categorical):
                places[:, k] = column.recoded({word: i for i, word in enumerate(self.words[name], starts[k])})
            else:
                places[:, k], values[:, k] = starts[k], column
        filled = places >= 0
        ends = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
        return csr_array((values[filled], places[filled], ends), shape=(n_rows, self.width))

    def encode(self, users: Sequence[Mapping[str, Any]]) -> Features:
        """Encode users, each a mapping of column to value, as those of the log were: for serving later."""
        columns: dict[str, Categorical | Floats] = {}
        for name in self.columns:
            given = [user.get(name) for user in users]
            if name in self.words:
                columns[name] = Categorical.from_values(given, self.words[name])
            else:
                columns[name] = self._numbers(name, given)
        return self.assemble(len(users), columns)

    @staticmethod
    def _numbers(name: str, given: list[Any]) -> Floats:
        try:
            numbers = np.array([float(value) for value in given])
        except (TypeError, ValueError):
            bad = next(value for value in given if not isinstance(value, int | float | np.number))
            raise ValueError(f"{name} is a number here; got {bad!r}") from None
        return numbers

    def __or__(self, other: ContextEncoder) -> ContextEncoder:
        """Give the encoder that knows the words of both: what two parts of a log need."""
        if other.columns != self.columns or other.words.keys() != self.words.keys():
            raise ValueError(f"encoders of different columns: {list(self.columns)} and {list(other.columns)}")
        both = {name: tuple(sorted({*self.words[name], *other.words[name]})) for name in self.words}
        return ContextEncoder(self.columns, both)

    @classmethod
    def of(cls, policy: Policy) -> Self | None:
        """Give the encoder that a policy was fitted with; None where it was not fitted to a log."""
        return cls.from_dict(policy.metadata["encoder"]) if "encoder" in policy.metadata else None

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values that JSON can hold."""
        return {"columns": list(self.columns), "words": {name: list(words) for name, words in self.words.items()}}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Make it of what `to_dict` gave."""
        try:
            words = {str(name): tuple(map(str, known)) for name, known in plain["words"].items()}
            return cls(tuple(map(str, plain["columns"])), words)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"these are not the values of an encoder ({error!r})") from None
