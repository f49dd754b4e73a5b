"""Encoding of tables of users or items as numbers, with one encoder for each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fairbandits.contexts.column_encoders import (
    CategoryEncoder,
    ColumnEncoder,
    NumberEncoder,
    RawColumn,
    column_encoder_from_dict,
)

if TYPE_CHECKING:
    from fairbandits.contexts.tables import FrameTable

# From this number of rows on, encoding column by column is faster.
_MANY_ROWS = 8
# The most columns that an error lists.
_SHOWN = 8

Floats = NDArray[np.float64]
Features: TypeAlias = "csr_array[Any] | Floats"  # a string: csr_array cannot be subscripted before SciPy 1.16


@dataclass(frozen=True)
class TableEncoder:
    """An encoder of the rows of a table, column by column; `fairbandits.contexts.fit_encoder` fits one.

    Parameters
    ----------
    encoders : tuple of NumberEncoder, DateEncoder and CategoryEncoder
        The encoder of each column, in order.
    has_constant : bool
        Whether the first feature is a constant 1, the intercept of regressions.

    Examples
    --------
    >>> encoder = TableEncoder((NumberEncoder("age", 20.0, 70.0), CategoryEncoder("city", ("Paris", "Rome"))))
    >>> encoder.features
    ('age', 'city=Paris', 'city=Rome')
    >>> encoder.encode_row({"age": 45, "city": "Rome"})
    array([0.5, 0. , 1. ])
    """

    encoders: tuple[ColumnEncoder, ...] = ()
    has_constant: bool = False

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(encoder.name for encoder in self.encoders)

    @cached_property
    def features(self) -> tuple[str, ...]:
        """The names of the features."""
        constant = ("constant",) if self.has_constant else ()
        return (*constant, *(name for encoder in self.encoders for name in encoder.features))

    @property
    def width(self) -> int:
        """The number of features."""
        return self._starts[-1]

    @cached_property
    def used(self) -> tuple[tuple[ColumnEncoder, int], ...]:
        """The encoders that have features, each with the number of its first feature."""
        pairs = zip(self.encoders, self._starts, strict=False)
        return tuple((encoder, start) for encoder, start in pairs if encoder.features)

    @cached_property
    def _has_categories(self) -> bool:
        return any(isinstance(encoder, CategoryEncoder) for encoder, _ in self.used)

    @cached_property
    def _starts(self) -> list[int]:
        return [*accumulate((len(each.features) for each in self.encoders), initial=int(self.has_constant))]

    def unscaled(self) -> TableEncoder:
        """Return the encoder with the same categories that leaves numbers and dates (in seconds) as they are."""
        plain = [
            CategoryEncoder(each.name, each.categories)
            if isinstance(each, CategoryEncoder)
            else type(each)(each.name)
            for each in self.encoders
        ]
        return TableEncoder(tuple(plain), has_constant=not plain)

    def encode_columns(self, n_rows: int, columns: Mapping[str, RawColumn]) -> Features:
        """Encode columns that have been read: categories as codes, numbers and dates as floats."""
        indices, values = [], []
        if self.has_constant:
            indices.append(np.zeros(n_rows, np.int64))
            values.append(np.ones(n_rows))
        for encoder, start in self.used:
            for places, entries in encoder.encode(columns[encoder.name]):
                indices.append(np.where(places < 0, -1, places + start))
                values.append(entries)
        if not indices:
            return np.zeros((n_rows, 0))
        at, entry = np.column_stack(indices), np.column_stack(values)
        is_known = at >= 0
        if not self._has_categories:
            return np.where(is_known, entry, 0.0)
        indptr = np.concatenate([[0], np.cumsum(is_known.sum(axis=1))])
        return csr_array((entry[is_known], at[is_known], indptr), shape=(n_rows, self.width))

    def encode_table(self, table: FrameTable) -> Features:
        """Encode a data frame that has all columns of the encoder; other columns are ignored."""
        columns = {each.name: table.read(each.name, each.kind) for each, _ in self.used}
        return self.encode_columns(len(table), columns)

    def places(self, column: str) -> range:
        """Return the numbers of the features of a column."""
        at = self.columns.index(column)
        return range(self._starts[at], self._starts[at + 1])

    def encode_rows(self, rows: Sequence[Mapping[str, Any]]) -> Floats:
        """Encode rows given as mappings of column to value."""
        X = np.zeros((len(rows), self.width))
        if len(rows) < _MANY_ROWS:
            for x, row in zip(X, rows, strict=True):
                self._encode_into(x, row)
            return X
        X[:, : int(self.has_constant)] = 1.0
        for encoder, start in self.used:
            values = [value_in(row, encoder.name) for row in rows]
            for places, entries in encoder.encode(encoder.read(values)):
                (known,) = np.nonzero(places >= 0)
                X[known, start + places[known]] = entries[known]
        return X

    def encode_row(self, row: Mapping[str, Any]) -> Floats:
        """Encode one row, given as a mapping of column to value."""
        x = np.zeros(self.width)
        self._encode_into(x, row)
        return x

    def _encode_into(self, x: Floats, row: Mapping[str, Any]) -> None:
        if self.has_constant:
            x[0] = 1.0
        for encoder, start in self.used:
            for place, entry in encoder.encode_value(value_in(row, encoder.name)):
                x[start + place] = entry

    def to_dict(self) -> dict[str, Any]:
        """Return the encoder as JSON values."""
        return {"columns": [encoder.to_dict() for encoder in self.encoders], "constant": self.has_constant}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild an encoder from the values that `to_dict` returned."""
        try:
            if "words" in values:
                return cls._from_first_form(values)
            return cls(tuple(map(column_encoder_from_dict, values["columns"])), bool(values["constant"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"encoder must have columns, got an invalid one ({error!r})") from None

    @classmethod
    def _from_first_form(cls, values: Mapping[str, Any]) -> Self:
        """Return the encoder of a 0.1.0 file: unscaled numbers, and a constant only without columns."""
        words = values["words"]
        encoders = [
            CategoryEncoder(name, tuple(map(str, words[name]))) if name in words else NumberEncoder(name)
            for name in map(str, values["columns"])
        ]
        return cls(tuple(encoders), has_constant=not encoders)


def value_in(row: Mapping[str, Any], column: str) -> Any:
    """Return the value of a column in a row; raise ValueError if the row does not have it."""
    try:
        return row[column]
    except KeyError:
        others = ", ".join(repr(name) for name in list(row)[:_SHOWN]) or "none"
        more = f" and {len(row) - _SHOWN} more" if len(row) > _SHOWN else ""
        raise ValueError(
            f"row must have a value for {column!r}, got only {others}{more}; give None if it is unknown"
        ) from None


def as_dense(features: Any) -> Floats:
    """Return features as an array."""
    dense: Floats = features.toarray() if hasattr(features, "toarray") else features
    return dense
