"""Blocks of CSV rows as Arrow tables, with errors that name the first invalid cell."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairbandits.logs.column_kinds import BOOLEAN, ID, INTEGER, NULL, NUMBER, OTHER, TEXT, TIME, kind_of
from fairbandits.logs.errors import Location, LogError, short_repr
from fairbandits.logs.text_blocks import Block, as_arrow_stream, prefix_of_rows


@dataclass(frozen=True)
class CsvFormat:
    """Cells separated by a delimiter, with a header line.

    Attributes
    ----------
    separator : str
        The delimiter.
    na : tuple of str
        Cells that stand for missing values. An empty cell is always a missing value.
    """

    separator: str = ","
    na: tuple[str, ...] = ()

    @property
    def delimiter(self) -> int:
        """The delimiter as a byte."""
        return ord(self.separator)

    def read_header(self, block: Block, location: Location) -> tuple[tuple[str, ...], int]:
        """Return the columns, and the number of bytes of the header line."""
        end = prefix_of_rows(block, self.delimiter, 1) or len(block)
        header = decode(block[:end], location).removeprefix("\ufeff")
        try:
            columns = next(csv.reader(io.StringIO(header), delimiter=self.separator), [])
        except csv.Error:
            raise location.error("lines must end with a newline, got carriage returns only") from None
        if not any(columns):
            raise location.error("file is empty; the first line must hold the column names")
        return tuple(columns), end

    def infer_kinds(self, sample: Block, columns: Sequence[str], location: Location) -> dict[str, str]:
        """Infer the kinds of all columns from the first rows."""
        import pyarrow as pa  # noqa: PLC0415 - an extra

        try:
            table = self._read(sample, columns, {}, columns)
        except pa.ArrowInvalid as error:
            raise self._diagnose(sample, columns, {}, location, error) from None
        kinds = {
            column: kind_of(kind) for column, kind in zip(table.column_names, table.schema.types, strict=True)
        }
        # Types that only Arrow's inference knows, such as times of day, are treated as text.
        return {column: TEXT if kind == OTHER else kind for column, kind in kinds.items()}

    def parse(self, block: Block, columns: Sequence[str], kinds: Mapping[str, str], location: Location) -> Any:
        """Parse the requested columns of a block; text is returned dictionary-encoded."""
        import pyarrow as pa  # noqa: PLC0415

        text = pa.dictionary(pa.int32(), pa.string())
        arrow_types = {
            TEXT: text,
            INTEGER: pa.int64(),
            NUMBER: pa.float64(),
            BOOLEAN: pa.bool_(),
            TIME: pa.string(),  # parsed by `as_times`, which accepts more formats
            NULL: text,
            ID: pa.string(),
        }
        try:
            # Arrow reads all columns if none is requested, which is the case if partitions provide all of them.
            wanted = [*kinds] or columns[:1]
            table = self._read(block, columns, {name: arrow_types[kind] for name, kind in kinds.items()}, wanted)
        except pa.ArrowInvalid as error:
            raise self._diagnose(block, columns, kinds, location, error) from None
        return table.select(list(kinds))

    def _read(self, block: Block, columns: Sequence[str], types: Mapping[str, Any], wanted: Sequence[str]) -> Any:
        from pyarrow import csv as arrow_csv  # noqa: PLC0415

        return arrow_csv.read_csv(
            as_arrow_stream(block),
            arrow_csv.ReadOptions(column_names=list(columns), block_size=len(block) + 1),
            arrow_csv.ParseOptions(delimiter=self.separator, newlines_in_values=True),
            # Arrow's own list of missing values is not used: NA may stand for Namibia, and NaN is an error.
            arrow_csv.ConvertOptions(
                column_types=types,
                include_columns=list(wanted),
                null_values=["", *self.na],
                strings_can_be_null=True,
            ),
        )

    def _diagnose(
        self, block: Block, columns: Sequence[str], kinds: Mapping[str, str], location: Location, error: Exception
    ) -> LogError:
        """Return the error for the first invalid cell of a block that Arrow could not parse."""
        rows = csv.reader(io.StringIO(decode(block, location), newline=""), delimiter=self.separator)
        positions = {name: columns.index(name) for name in kinds}
        for number, row in enumerate(row for row in rows if row):
            if len(row) != len(columns):
                return location.error(f"row must have {len(columns)} cells, got {len(row)}", None, number)
            for name, position in positions.items():
                cell = row[position]
                if cell not in self.na and (rule := _broken_rule(cell, kinds[name])):
                    expected, remedy = rule
                    return location.error(
                        f"value must be {expected}, got {short_repr(cell)}{remedy}", name, number
                    )
        return LogError(f"{location.file}, from row {location.row + 1:,} on: cannot be read ({error})")


def decode(block: Block, location: Location) -> str:
    """Decode a block as UTF-8."""
    try:
        return bytes(block).decode()
    except UnicodeDecodeError as error:
        row = error.object.count(b"\n", 0, error.start)
        invalid = error.object[error.start : error.end]
        raise location.error(f"file must be UTF-8, got {invalid!r}", None, row) from None


def _broken_rule(cell: str, kind: str) -> tuple[str, str] | None:
    """Return the rule that a cell violates and the remedy, or None if the cell is valid."""
    if not cell:
        return None
    # Unlike Arrow, Python also accepts 1_000 and the digits of all scripts as numbers.
    is_plain = cell.isascii() and "_" not in cell
    if kind == NUMBER and not (is_plain and _converts(float, cell)):
        return "a number", "; leave it empty if it is unknown"
    if kind == BOOLEAN and cell.lower() not in ("true", "false", "0", "1"):
        return "true or false, like the values before it", ""
    return None


def _converts(convert: Callable[[str], Any], cell: str) -> bool:
    try:
        convert(cell)
    except ValueError:
        return False
    return True
