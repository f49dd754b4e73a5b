"""Encoders of single columns: numbers and dates scaled to 0..1, categories one-hot, missing values marked.

Each column of a table fills at most two entries of a context: its value, and an indicator of a missing value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairbandits.categorical import Categorical
from fairbandits.labels import is_missing

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: The kinds of columns, and of encoders.
NUMBER, CATEGORY, DATE = "number", "category", "date"
#: A column as it was read: labels as codes, numbers and dates (in seconds) as floats, NaN if missing.
RawColumn = Categorical | Floats
#: The index of each value's feature within its column, -1 if there is none, and the entry of that feature.
Entries = tuple[Ints, Floats]


@dataclass(frozen=True)
class NumberEncoder:
    """A column of numbers, scaled so that `low` becomes 0 and `high` becomes 1.

    Values outside the range are clipped, so that a typing error cannot dominate a regression.

    Parameters
    ----------
    name : str
        The name of the column.
    low, high : float or None
        The range; None for numbers that are used as they are.
    fill : float or None
        The value that replaces a missing one; None if no value may be missing.
    marks_missing : bool
        Whether a second feature is 1 where the value is missing.

    Examples
    --------
    >>> encoder = NumberEncoder("age", low=20.0, high=70.0, fill=45.0, marks_missing=True)
    >>> encoder.features
    ('age', 'age is missing')
    >>> [encoder.encode_value(value) for value in (20, 45, 99, None)]
    [[(0, 0.0)], [(0, 0.5)], [(0, 1.0)], [(0, 0.5), (1, 1.0)]]
    """

    kind: ClassVar[str] = NUMBER

    name: str
    low: float | None = None
    high: float | None = None
    fill: float | None = None
    marks_missing: bool = False

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features."""
        return (self.name, f"{self.name} is missing") if self.marks_missing else (self.name,)

    def encode(self, column: RawColumn) -> list[Entries]:
        """Encode a column of numbers, NaN where they are missing."""
        values = np.asarray(column, np.float64)
        missing = np.isnan(values)
        if missing.any():
            if self.fill is None:
                raise MissingValueError(self.name, int(np.flatnonzero(missing)[0]))
            values = np.where(missing, self.fill, values)
        entries = [(np.zeros(len(values), np.int64), self._scaled(values))]
        if self.marks_missing:
            entries.append((np.where(missing, 1, -1), np.ones(len(values))))
        return entries

    def read(self, values: Sequence[Any]) -> RawColumn:
        """Return values as a column of numbers."""
        column = np.array(
            [
                value if type(value) is float else math.nan if is_missing(value) else self.parse(value)
                for value in values
            ]
        )
        for infinite in column[np.isinf(column)].tolist():
            self.parse(infinite)  # raises ValueError
        return column

    def encode_value(self, value: Any) -> list[tuple[int, float]]:
        """Encode a single value."""
        if not is_missing(value):
            return [(0, self._scaled_value(self.parse(value)))]
        if self.fill is None:
            raise MissingValueError(self.name)
        filled = (0, self._scaled_value(self.fill))
        return [filled, (1, 1.0)] if self.marks_missing else [filled]

    def parse(self, value: Any) -> float:
        """Return a value that is not missing as a number."""
        if type(value) is float and math.isfinite(value):
            return value
        try:
            number = float(value) if not isinstance(value, str) else math.nan
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise ValueError(f"{self.name} must be a number, got {value!r}")
        return number

    def _scaled(self, values: Floats) -> Floats:
        if self.low is None or self.high is None:
            return values
        # Clip first, because scaling a value far outside a tiny range would overflow.
        return (np.clip(values, self.low, self.high) - self.low) / ((self.high - self.low) or 1.0)

    def _scaled_value(self, value: float) -> float:
        """Return what `_scaled` returns for a single value, without the cost of an array in every round."""
        if self.low is None or self.high is None:
            return value
        return (min(max(value, self.low), self.high) - self.low) / ((self.high - self.low) or 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Return the encoder as JSON values."""
        return {"kind": self.kind, **asdict(self)}


@dataclass(frozen=True)
class DateEncoder(NumberEncoder):
    """A column of dates or times, scaled like numbers by the seconds since 1970 in UTC.

    Examples
    --------
    >>> year = DateEncoder("since", low=1704067200.0, high=1735689600.0)  # 2024
    >>> year.encode_value("2024-07-02")
    [(0, 0.5)]
    """

    kind: ClassVar[str] = DATE

    def read(self, values: Sequence[Any]) -> RawColumn:
        """Return values as a column of seconds since 1970."""
        return np.array([math.nan if is_missing(value) else self.parse(value) for value in values])

    def parse(self, value: Any) -> float:
        """Return a date, a time, or either in ISO format, in seconds since 1970.

        Numbers are rejected, because they may be seconds or milliseconds.
        """
        if isinstance(value, np.datetime64):
            value = value.astype("datetime64[us]").item()
        try:
            if isinstance(value, str):
                value = datetime.fromisoformat(value)
            if isinstance(value, date) and not isinstance(value, datetime):
                value = datetime(value.year, value.month, value.day)
            if isinstance(value, datetime):
                return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
        except ValueError:
            pass
        raise ValueError(f"{self.name} must be a date such as 2024-05-01, got {value!r}")


@dataclass(frozen=True)
class CategoryEncoder:
    """A column of categories, with one feature for each. An unknown category is 0 in all of them.

    Parameters
    ----------
    name : str
        The name of the column.
    categories : tuple of str
        The categories.
    fill : str or None
        The category that stands for a missing value; without one, missing values are 0 in all features.
    groups_others : bool
        Whether a further feature stands for all other categories.
    marks_missing : bool
        Whether a further feature is 1 where the value is missing.

    Examples
    --------
    >>> encoder = CategoryEncoder("city", ("Paris", "Rome"), groups_others=True)
    >>> encoder.features
    ('city=Paris', 'city=Rome', 'city is another')
    >>> [encoder.encode_value(value) for value in ("Rome", "Oslo", None)]
    [[(1, 1.0)], [(2, 1.0)], []]
    """

    kind: ClassVar[str] = CATEGORY

    name: str
    categories: tuple[str, ...]
    fill: str | None = None
    groups_others: bool = False
    marks_missing: bool = False

    @cached_property
    def features(self) -> tuple[str, ...]:
        """The names of the features."""
        others = [f"{self.name} is another"] if self.groups_others else []
        missing = [f"{self.name} is missing"] if self.marks_missing else []
        return (*(f"{self.name}={category}" for category in self.categories), *others, *missing)

    def encode(self, column: RawColumn) -> list[Entries]:
        """Encode a column of labels; each distinct label is looked up once."""
        if not isinstance(column, Categorical):
            raise ValueError(f"{self.name} must be a column of categories, got numbers")
        of_label = [self._index(category_text(label)) for label in column.labels]
        indices = np.array([*of_label, self._missing], np.int64)[column.codes]
        return [(indices, np.ones(len(indices)))]

    def read(self, values: Sequence[Any]) -> RawColumn:
        """Return values as a column of labels."""
        return as_categorical(values)

    def encode_value(self, value: Any) -> list[tuple[int, float]]:
        """Encode a single value."""
        index = self._missing if is_missing(value) else self._index(category_text(value))
        return [] if index < 0 else [(index, 1.0)]

    def _index(self, category: str) -> int:
        return self._places.get(category, len(self.categories) if self.groups_others else -1)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {category: index for index, category in enumerate(self.categories)}

    @cached_property
    def _missing(self) -> int:
        if self.fill is not None:
            return self._places[self.fill]
        return len(self.features) - 1 if self.marks_missing else -1

    def to_dict(self) -> dict[str, Any]:
        """Return the encoder as JSON values."""
        return {"kind": self.kind, **asdict(self), "categories": list(self.categories)}


ColumnEncoder = NumberEncoder | CategoryEncoder

_KINDS: dict[str, type[ColumnEncoder]] = {cls.kind: cls for cls in (NumberEncoder, DateEncoder, CategoryEncoder)}


class MissingValueError(ValueError):
    """Raised for a missing value in a column that must not have any.

    Attributes
    ----------
    name : str
        The name of the column.
    row : int or None
        The index of the row with the missing value.
    """

    def __init__(self, name: str, row: int | None = None) -> None:
        self.name, self.row = name, row
        super().__init__(f"{name} must not be missing, because the encoder has no value to fill in")


def category_text(value: Any) -> str:
    """Return a category as text: 3, 3.0 and "3" are the same, and so are True and "true".

    Examples
    --------
    >>> [category_text(value) for value in ("Rome", 3, 3.0, 2.5, True)]
    ['Rome', '3', '3', '2.5', 'true']
    """
    if isinstance(value, str):
        return str(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


def as_categorical(values: Sequence[Any]) -> Categorical:
    """Return values as codes of their texts, in order of appearance; -1 for missing ones."""
    code: dict[str, int] = {}
    codes = [
        code.setdefault(value, len(code))
        if type(value) is str
        else -1
        if is_missing(value)
        else code.setdefault(category_text(value), len(code))
        for value in values
    ]
    return Categorical(np.array(codes, np.int32), list(code))


def column_encoder_from_dict(values: Mapping[str, Any]) -> ColumnEncoder:
    """Rebuild an encoder from the values that `to_dict` returned."""
    given = dict(values)
    kind = _KINDS[given.pop("kind")]
    if kind is CategoryEncoder:
        given["categories"] = tuple(given["categories"])
    return kind(**given)
