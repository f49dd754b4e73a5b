"""Tables in memory: data frames of any kind that narwhals reads, column by column or row by row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId, as_arms
from fairbandits.contexts.column_encoders import CATEGORY, DATE, NUMBER, DateEncoder, RawColumn, as_categorical
from fairbandits.contexts.table_encoder import TableEncoder
from fairbandits.contexts.table_statistics import STATISTICS, TableStatistics
from fairbandits.dataframes import as_frame, index_of
from fairbandits.extras import install_hint
from fairbandits.labels import column_labels, is_missing

Floats = NDArray[np.float64]


class FrameTable:
    """A data frame with named columns.

    Parameters
    ----------
    frame : data frame
        Of pandas, polars or any other library that narwhals reads.
    what : str
        What the table contains, for error messages: "users" or "items".

    Attributes
    ----------
    columns : tuple of str
        The names of the columns.
    native : data frame
        The frame itself.
    """

    def __init__(self, frame: Any, what: str) -> None:
        try:
            import narwhals as nw  # noqa: PLC0415 - arrays do not need it
        except ModuleNotFoundError:
            raise ImportError(f"data frames need narwhals; {install_hint('logs')}") from None
        try:
            known = nw.from_native(frame)
        except TypeError:
            raise ValueError(f"{what} must be a data frame, got {type(frame).__name__}") from None
        except Exception as error:  # such as duplicate columns; each version of narwhals has its own class for it
            raise ValueError(
                f"{what} must be a data frame with named columns: {str(error).splitlines()[0]}"
            ) from None
        self._frame: Any = known.collect() if isinstance(known, nw.LazyFrame) else known
        self.native = self._frame.to_native()
        self._what = what
        wrong = [column for column in self._frame.columns if not isinstance(column, str)]
        if wrong:
            raise ValueError(f"{what} must have strings as column names, got {wrong[0]!r}; rename the column")
        self.columns: tuple[str, ...] = tuple(self._frame.columns)

    def __len__(self) -> int:
        return len(self._frame)

    def require(self, columns: Iterable[str], parameter: str) -> None:
        """Raise ValueError unless the table has all the given columns."""
        for column in columns:
            if column not in self.columns:
                raise ValueError(
                    f"{parameter} must name columns of {self._what}, got {column!r}; the columns are "
                    f"{', '.join(self.columns)}"
                )

    def kind(self, column: str) -> str:
        """Return how a column is encoded, by its type."""
        import narwhals as nw  # noqa: PLC0415

        dtype = self._frame.schema[column]
        if dtype.is_numeric() or dtype == nw.Boolean:
            return NUMBER
        if dtype in (nw.String, nw.Categorical, nw.Enum):
            return CATEGORY
        if dtype in (nw.Date, nw.Datetime):
            return DATE
        # Python objects, such as text with missing values, or a row of pandas that was turned into a frame.
        types = {type(value) for value in self._frame[column].to_list() if not is_missing(value)}
        if types <= {str}:
            return CATEGORY
        if all(issubclass(kind, int | float | np.number | np.bool_) for kind in types):
            return NUMBER
        if all(issubclass(kind, date) for kind in types):
            return DATE
        raise ValueError(
            f"{self._what} must have columns of numbers, text, booleans or dates, got {column!r} with "
            f"{', '.join(sorted(kind.__name__ for kind in types))}; convert the column, or leave it out"
        )

    def read(self, column: str, kind: str) -> RawColumn:
        """Read a column: categories as codes, numbers and dates in seconds as floats, NaN for missing values."""
        if column not in self.columns:
            raise ValueError(
                f"{self._what} must have the column {column!r}, as when the encoder was fitted, got "
                f"{', '.join(self.columns)}"
            )
        if kind == CATEGORY:
            return as_categorical(self._frame[column].to_list())
        series = self._frame[column]
        if self.kind(column) != kind:
            if series.is_null().all() or all(map(is_missing, series.to_list())):
                return np.full(len(series), np.nan)
            raise ValueError(
                f"{self._what} must have {kind}s in column {column!r}, as when the encoder was fitted, got "
                f"{series.dtype}"
            )
        values = _seconds(series) if kind == DATE else _numbers(series)
        if (infinite := np.flatnonzero(np.isinf(values))).size:
            raise ValueError(
                f"{self._what} must have finite numbers in column {column!r}, got {values[infinite[0]]} in row "
                f"{infinite[0]}"
            )
        return values

    def labels(self, column: str) -> list[str | int | None]:
        """Return the values of a column as labels: text or integers, None for missing values."""
        return column_labels(self._frame[column].to_native(), f"{self._what}[{column!r}]") or []

    def ids(self, column: str | None, defaults: Sequence[str]) -> tuple[tuple[ArmId, ...], str | None]:
        """Return the ids of the rows, from a named column or the pandas index, and the name of that column."""
        named = next((name for name in defaults if name in self.columns), None)
        index = index_of(self.native) if column is None else None
        # Selected rows keep their old numbers as an index, which must not take precedence over a column of ids.
        if index is not None and (named is None or index.name is not None or index.dtype.kind not in "iu"):
            return as_arms([column_label(value, "index") for value in index.tolist()]), None
        column = column or named
        if column is None:
            raise ValueError(
                f"{self._what} must have ids: an index, or a column named {' or '.join(map(repr, defaults))}, "
                f"got {', '.join(self.columns)}; name the column: item_id=..."
            )
        self.require([column], "item_id")
        labels = self.labels(column)
        if None in labels:
            raise ValueError(f"{self._what} must have an id in every row, got none in row {labels.index(None)}")
        return as_arms(labels), column

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows as mappings."""
        found: list[dict[str, Any]] = self._frame.rows(named=True)
        return found


def _numbers(series: Any) -> Floats:
    import narwhals as nw  # noqa: PLC0415

    if series.dtype == nw.Object:
        return np.array([np.nan if is_missing(value) else float(value) for value in series.to_list()])
    return np.asarray(series.cast(nw.Float64).to_numpy(), np.float64)


def _seconds(series: Any) -> Floats:
    import narwhals as nw  # noqa: PLC0415

    if series.dtype == nw.Object:
        return np.asarray(DateEncoder(series.name).read(series.to_list()))
    if series.dtype == nw.Date:
        series = series.cast(nw.Datetime("us"))
    seconds: Floats = np.asarray(series.dt.timestamp("us").cast(nw.Float64).to_numpy(), np.float64) / 1e6
    return seconds


def column_label(value: Any, column: str) -> str | int | None:
    """Return a label as text or an integer; next to missing values, pandas turns integers into floats.

    Examples
    --------
    >>> [column_label(value, "age_band") for value in ("30-39", 3.0, True, None)]
    ['30-39', 3, 'true', None]
    """
    if is_missing(value):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str | int):
        return value
    raise ValueError(f"{column} must have text or whole numbers, got {value!r}; bin numbers and dates first")


def as_row(row: Any, what: str) -> Mapping[str, Any]:
    """Return one row as a mapping: a mapping, a row of pandas, or a data frame with one row."""
    if isinstance(row, Mapping):
        return row
    if hasattr(row, "to_dict") and not hasattr(row, "columns") and hasattr(row, "index"):
        found: dict[str, Any] = row.to_dict()
        return found
    if hasattr(row, "_asdict"):
        return dict(row._asdict())
    if as_frame(row, what) is None:
        raise ValueError(f"{what} must be a mapping, a row, or a frame with one row, got {type(row).__name__}")
    table = FrameTable(row, what)
    if len(table) != 1:
        raise ValueError(f"{what} must be one row, got {len(table)}; use choose_many")
    return table.rows()[0]


def fit_encoder(
    table: FrameTable, columns: Sequence[str], categories: Iterable[str] = (), *, has_constant: bool = False
) -> TableEncoder:
    """Fit an encoder to some columns of a table; those in `categories` are always encoded as categories.

    Numbers and dates are scaled from their range to 0..1; missing values are replaced by the mean and marked. Text
    becomes one feature per category; beyond 50 categories, the rarest share one feature. Text columns that differ
    in every row are names, and are left out.
    """
    if not len(table):
        raise ValueError("the table must have at least one row to fit an encoder, got none")
    kinds = {column: CATEGORY if column in categories else table.kind(column) for column in columns}
    statistics = TableStatistics({column: STATISTICS[kind]() for column, kind in kinds.items()})
    statistics.add({column: table.read(column, kind) for column, kind in kinds.items()})
    return statistics.encoder(has_constant=has_constant)
