"""Logs in dataframes of any kind that narwhals supports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fairbandits.logs.column_kinds import kind_of
from fairbandits.logs.errors import Location, LogError, short_repr
from fairbandits.logs.fragments import LogSource

NAME = "dataframe"
# The number of rows of a fragment after `split`.
_ROWS = 1 << 20


@dataclass(frozen=True, eq=False)
class FrameFragment:
    """Consecutive rows of a dataframe."""

    frame: Any
    start: int
    end: int

    @property
    def file(self) -> str:
        """The name used in error messages."""
        return NAME

    @property
    def path(self) -> None:
        """None, because the rows are in memory."""

    @property
    def partition(self) -> Mapping[str, Any]:
        """The partition columns, of which a dataframe has none."""
        return {}

    @property
    def first_row(self) -> int:
        """The number of the first row."""
        return self.start

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.end - self.start

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.n_rows

    def batches(self, kinds: Mapping[str, str], rows: int) -> Iterator[tuple[Location, Any]]:
        """Read columns."""
        for start in range(self.start, self.end, rows):
            location = Location(NAME, start)
            table = _as_arrow(self.frame[start : min(start + rows, self.end)].select(*kinds), location)
            if len(table):
                yield location, table.combine_chunks().to_batches()[0]

    def split(self) -> Iterator[FrameFragment]:
        """Yield slices of the rows."""
        for start in range(self.start, self.end, _ROWS):
            yield FrameFragment(self.frame, start, min(start + _ROWS, self.end))


def open_frame(frame: Any) -> LogSource:
    """Open a dataframe; a lazy dataframe is collected."""
    import narwhals as nw  # noqa: PLC0415 - an extra

    try:
        known = nw.from_native(frame)
    except TypeError:
        raise LogError(
            f"log must be a path, an address, a list of paths or a dataframe, got {type(frame).__name__}"
        ) from None
    if isinstance(known, nw.LazyFrame):
        known = known.collect()
    if wrong := [column for column in known.columns if not isinstance(column, str)]:
        raise LogError(f"{NAME}: column names must be strings, got {wrong[0]!r}; rename the column")
    schema = _as_arrow(known.head(1000), Location(NAME)).schema
    kinds = {column: kind_of(kind) for column, kind in zip(schema.names, schema.types, strict=True)}
    fragments = [FrameFragment(known, 0, len(known))] if len(known) else []
    return LogSource(NAME, kinds, schema.names, fragments, {})


def _as_arrow(frame: Any, location: Location) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    try:
        return frame.to_arrow().select(frame.columns)  # without the index column that pandas may add
    except (pa.ArrowException, TypeError) as error:
        for column in frame.columns:
            _check_one_type(frame[column].to_list(), column, location)
        raise LogError(f"{location.file}: cannot be read ({error})") from None


def _check_one_type(values: list[Any], column: str, location: Location) -> None:
    """Raise an error at the first value whose type differs from that of the preceding values."""
    first: type | None = None
    for number, value in enumerate(values):
        if value is None or value != value:  # noqa: PLR0124 - NaN means missing here
            continue
        first = type(value) if first is None else first
        if type(value) is not first:
            raise location.error(
                f"value must be of type {first.__name__}, like the values before it, "
                f"got {short_repr(value)} of type {type(value).__name__}",
                column,
                number,
            )
