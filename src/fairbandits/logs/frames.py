"""Logs in any dataframe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fairbandits.logs.errors import LogError, Place, shortened
from fairbandits.logs.parts import Source, kind_of

NAME = "dataframe"
# The rows of a piece.
_STEP = 1 << 20


@dataclass(frozen=True, eq=False)
class FramePart:
    """Some rows of a dataframe."""

    frame: Any
    start: int
    end: int

    @property
    def file(self) -> str:
        """What errors call it."""
        return NAME

    @property
    def first_row(self) -> int:
        """The number of its first row."""
        return self.start

    @property
    def n_rows(self) -> int:
        """How many rows it has."""
        return self.end - self.start

    @property
    def size(self) -> int:
        """How large it is beside others: its rows."""
        return self.n_rows

    def batches(self, kinds: Mapping[str, str], rows: int) -> Iterator[tuple[Place, Any]]:
        """Read some columns."""
        for start in range(self.start, self.end, rows):
            place = Place(NAME, start)
            table = _as_arrow(self.frame[start : min(start + rows, self.end)].select(*kinds), place)
            if len(table):
                yield place, table.combine_chunks().to_batches()[0]

    def pieces(self) -> Iterator[FramePart]:
        """Give stretches of it."""
        for start in range(self.start, self.end, _STEP):
            yield FramePart(self.frame, start, min(start + _STEP, self.end))


def open_frame(frame: Any) -> Source:
    """Look at a dataframe of any kind that narwhals knows."""
    import narwhals as nw  # noqa: PLC0415 - an extra

    try:
        known = nw.from_native(frame)
    except TypeError:
        raise LogError(
            f"a {type(frame).__name__} came; expected a path (.csv, .parquet, a folder of such) or a dataframe"
        ) from None
    if isinstance(known, nw.LazyFrame):
        known = known.collect()
    if wrong := [column for column in known.columns if not isinstance(column, str)]:
        raise LogError(f"{NAME}: columns have words as names; got {wrong[0]!r}. Rename them")
    schema = _as_arrow(known.head(1000), Place(NAME)).schema
    kinds = {column: kind_of(kind) for column, kind in zip(schema.names, schema.types, strict=True)}
    parts = [FramePart(known, 0, len(known))] if len(known) else []
    return Source(NAME, kinds, schema.names, parts, {})


def _as_arrow(frame: Any, place: Place) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    try:
        return frame.to_arrow().select(frame.columns)  # without an index that pandas may add
    except (pa.ArrowException, TypeError) as error:
        for column in frame.columns:
            _refuse_mixed(frame[column].to_list(), column, place)
        raise LogError(f"{place.file}: cannot be read ({error})") from None


def _refuse_mixed(values: list[Any], column: str, place: Place) -> None:
    """Refuse a column that holds values of several types, at the first that is of another."""
    first: type | None = None
    for number, value in enumerate(values):
        if value is None or value != value:  # noqa: PLR0124 - NaN, which stands for nothing here
            continue
        first = type(value) if first is None else first
        if type(value) is not first:
            raise place.error(
                f"{shortened(value)} came, a {type(value).__name__}, and {first.__name__} before; keep one type",
                column,
                number,
            )
