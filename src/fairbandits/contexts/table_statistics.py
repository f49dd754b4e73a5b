"""The statistics of a table that an encoder needs, such as ranges and categories; those of parts can be merged."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from fairbandits.categorical import Categorical
from fairbandits.contexts.column_encoders import (
    CATEGORY,
    DATE,
    NUMBER,
    CategoryEncoder,
    ColumnEncoder,
    DateEncoder,
    NumberEncoder,
    RawColumn,
    category_text,
)
from fairbandits.contexts.table_encoder import TableEncoder

# Beyond this many categories, the rarest share one feature, because a feature needs enough rows to learn from.
MAX_CATEGORIES = 50
# From this many rows on, text that differs in every row is a name rather than a category.
_MANY_ROWS = 10


@dataclass
class NumberStatistics:
    """The range, the sum and the missing values of a column of numbers, or of dates in seconds."""

    is_date: bool = False
    low: float = math.inf
    high: float = -math.inf
    total: float = 0.0
    count: int = 0
    missing: int = 0

    def add(self, column: RawColumn) -> None:
        """Add the values of some rows."""
        values = np.asarray(column, np.float64)
        known = values[~np.isnan(values)]
        self.missing += len(values) - len(known)
        if len(known):
            self.low, self.high = min(self.low, float(known.min())), max(self.high, float(known.max()))
            self.total += float(known.sum())
            self.count += len(known)

    def merge(self, other: NumberStatistics) -> NumberStatistics:
        """Return the statistics of both parts."""
        return NumberStatistics(
            self.is_date,
            min(self.low, other.low),
            max(self.high, other.high),
            self.total + other.total,
            self.count + other.count,
            self.missing + other.missing,
        )

    def encoder(self, name: str) -> ColumnEncoder:
        """Return an encoder that scales the range to 0..1 and replaces missing values by the mean."""
        if not self.count:
            return CategoryEncoder(name, ())
        # Rounded, so that the mean does not depend on how a table was split.
        mean = float(f"{self.total / self.count:.9g}")
        kind = DateEncoder if self.is_date else NumberEncoder
        return kind(name, self.low, self.high, mean, self.missing > 0)


@dataclass
class CategoryStatistics:
    """The number of occurrences of each category of a column."""

    counts: Counter[str] = field(default_factory=Counter)
    missing: int = 0

    def add(self, column: RawColumn) -> None:
        """Add the values of some rows."""
        if not isinstance(column, Categorical):
            raise TypeError("a column of categories must be Categorical")
        counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.labels)).tolist()
        for label, count in zip(column.labels, counts, strict=True):
            if count:
                self.counts[category_text(label)] += count
        self.missing += int((column.codes < 0).sum())

    def merge(self, other: CategoryStatistics) -> CategoryStatistics:
        """Return the statistics of both parts."""
        return CategoryStatistics(self.counts + other.counts, self.missing + other.missing)

    def encoder(self, name: str) -> ColumnEncoder:
        """Return an encoder of the most frequent categories; of none for names, which differ in every row."""
        n_rows, n_distinct = self.counts.total(), len(self.counts)
        if not n_distinct or (n_distinct == n_rows >= _MANY_ROWS):
            return CategoryEncoder(name, ())
        kept = list(self.counts)
        if n_distinct > MAX_CATEGORIES:
            # By frequency, then by name, so that the order of the rows makes no difference.
            kept = sorted(self.counts, key=lambda each: (-self.counts[each], each))[:MAX_CATEGORIES]
            kept = [category for category in kept if self.counts[category] > 1]
        return CategoryEncoder(name, tuple(sorted(kept)), None, len(kept) < n_distinct, self.missing > 0)


ColumnStatistics = NumberStatistics | CategoryStatistics

#: How to collect the statistics of a column, by its kind.
STATISTICS: dict[str, Callable[[], ColumnStatistics]] = {
    NUMBER: NumberStatistics,
    DATE: partial(NumberStatistics, is_date=True),
    CATEGORY: CategoryStatistics,
}


@dataclass
class TableStatistics:
    """The statistics of the columns of a table.

    Examples
    --------
    >>> statistics = TableStatistics({"age": NumberStatistics(), "city": CategoryStatistics()})
    >>> statistics.add({"age": np.array([20.0, 70.0]), "city": Categorical(np.array([0, 0]), ["Rome"])})
    >>> statistics.encoder().features
    ('constant', 'age', 'city=Rome')
    """

    columns: dict[str, ColumnStatistics]

    def add(self, columns: Mapping[str, RawColumn]) -> None:
        """Add some rows."""
        for name, statistics in self.columns.items():
            statistics.add(columns[name])

    def __or__(self, other: TableStatistics) -> TableStatistics:
        """Return the statistics of both parts of a table."""
        if self.columns.keys() != other.columns.keys():
            raise ValueError(
                f"tables must have the same columns, got {list(self.columns)} and {list(other.columns)}"
            )
        merged = {name: each.merge(other.columns[name]) for name, each in self.columns.items()}  # type: ignore[arg-type]
        return TableStatistics(merged)

    def encoder(self, *, has_constant: bool = True) -> TableEncoder:
        """Return an encoder fitted to the table; columns without values and columns of names have no features."""
        found = [statistics.encoder(name) for name, statistics in self.columns.items()]
        return TableEncoder(tuple(found), has_constant)
