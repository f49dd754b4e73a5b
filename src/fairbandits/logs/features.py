"""Columns of a log as features of users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.contexts import CategoryEncoder, DateEncoder, NumberEncoder, TableEncoder
from fairbandits.contexts.column_encoders import CATEGORY, DATE, ColumnEncoder, MissingValueError, RawColumn
from fairbandits.contexts.column_encoders import NUMBER as NUMBERS
from fairbandits.contexts.table_encoder import Features
from fairbandits.contexts.table_statistics import STATISTICS, CategoryStatistics, ColumnStatistics, TableStatistics
from fairbandits.logs.column_kinds import BOOLEAN, NULL, NUMBER, OTHER, TEXT, TIME
from fairbandits.logs.errors import Location
from fairbandits.logs.fragments import BATCH_ROWS, LogFragment
from fairbandits.logs.labels import LabelEncoder
from fairbandits.logs.validation import as_floats, as_times

Floats = NDArray[np.float64]

# The encoding of the columns of a log, by kind; columns of all other kinds are encoded as numbers.
_ENCODED_AS = {TEXT: CATEGORY, NULL: CATEGORY, TIME: DATE}
# The kind that columns are read as, for each encoding; for numbers, `number_kind` determines it.
_READ_AS = {CATEGORY: TEXT, DATE: TIME}


class ColumnReader:
    """Reads columns of features from batches, and keeps the codes of categories consistent between batches.

    Parameters
    ----------
    encoded_as : mapping of str to str
        The columns to read, and the encoding of each.
    kinds : mapping
        The kinds of all columns.

    Attributes
    ----------
    kinds : dict
        The columns to request from a fragment, and the kind that each is read as.
    """

    def __init__(self, encoded_as: Mapping[str, str], kinds: Mapping[str, str]) -> None:
        self._encoded_as = encoded_as
        self.kinds = {
            column: _READ_AS.get(kind) or number_kind(kinds[column]) for column, kind in encoded_as.items()
        }
        self._labels = {
            column: LabelEncoder(column, is_text=True) for column, kind in encoded_as.items() if kind == CATEGORY
        }

    def read(self, columns: Mapping[str, Any], location: Location) -> dict[str, RawColumn]:
        """Return the columns of a batch: categories as codes, numbers and dates (in seconds) as floats."""
        found: dict[str, RawColumn] = {}
        for name, kind in self._encoded_as.items():
            if kind == CATEGORY:
                found[name] = self._labels[name].encode(columns[name], location)
            elif kind == DATE:
                found[name] = _seconds(as_times(columns[name], name, location, is_date=True))
            else:
                found[name] = as_floats(columns[name], name, location)
        return found


class FeatureReader:
    """Encodes the users of batches.

    Parameters
    ----------
    encoder : TableEncoder
        The encoder.
    kinds : mapping
        The kinds of all columns.

    Attributes
    ----------
    kinds : dict
        The columns to request from a fragment, and the kind that each is read as.
    """

    def __init__(self, encoder: TableEncoder, kinds: Mapping[str, str]) -> None:
        self._encoder = encoder
        self._reader = ColumnReader({each.name: each.kind for each, _ in encoder.used}, kinds)
        self.kinds = self._reader.kinds

    def read(self, columns: Mapping[str, Any], location: Location, n_rows: int) -> Features:
        """Return the features of the rows of a batch."""
        try:
            return self._encoder.encode_columns(n_rows, self._reader.read(columns, location))
        except MissingValueError as error:
            raise location.error("numeric feature must not be empty; fill it in", error.name, error.row) from None


def survey_features(
    fragments: Sequence[LogFragment], columns: Sequence[str], kinds: Mapping[str, str]
) -> TableStatistics:
    """Read some columns of all fragments, and return the statistics that an encoder needs."""
    for column in columns:
        if kinds[column] == OTHER:
            location = Location(fragments[0].file)
            raise location.error(f"feature must be numbers, text or dates, got {kinds[column]}", column)
    encoded_as = {column: _ENCODED_AS.get(kinds[column], NUMBERS) for column in columns}
    statistics = TableStatistics({column: STATISTICS[kind]() for column, kind in encoded_as.items()})
    reader = ColumnReader(encoded_as, kinds)
    for fragment in fragments if columns else ():
        for location, batch in fragment.batches(reader.kinds, BATCH_ROWS):
            found = dict(zip(batch.schema.names, batch.columns, strict=True))
            statistics.add(reader.read(found, location))
    return statistics


def plain_encoder(statistics: TableStatistics) -> TableEncoder:
    """Return the encoder for models from other libraries: unscaled numbers, dates in seconds, all categories.

    A constant is included only if there are no columns.
    """
    found = [_plain_column(name, column) for name, column in statistics.columns.items()]
    return TableEncoder(tuple(found), has_constant=not found)


def _plain_column(name: str, statistics: ColumnStatistics) -> ColumnEncoder:
    if isinstance(statistics, CategoryStatistics):
        return CategoryEncoder(name, tuple(sorted(statistics.counts)))
    return DateEncoder(name) if statistics.is_date else NumberEncoder(name)


def _seconds(times: NDArray[Any]) -> Floats:
    if times.dtype.kind != "M":
        return np.asarray(times, np.float64)
    seconds: Floats = times.astype("datetime64[us]").astype(np.float64) / 1e6
    seconds[np.isnat(times)] = np.nan
    return seconds


def number_kind(kind: str) -> str:
    """Return the kind that a column of numbers is read as."""
    # Booleans count as numbers, but are written differently in CSV.
    return kind if kind == BOOLEAN else NUMBER
