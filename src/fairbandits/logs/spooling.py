"""Rows of streams and databases, copied to a temporary folder, so that they can be read more than once.

The copy also ensures that several passes over a database see the same rows.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from fairbandits.logs.column_kinds import BOOLEAN, INTEGER, NULL, NUMBER, TEXT, TIME, kind_of
from fairbandits.logs.errors import LogError
from fairbandits.logs.formats import DataFile, data_file

STANDARD_INPUT = "standard input"


class Spool:
    """A temporary folder, deleted with this object or when the process ends. Copies of the object own nothing."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="fairbandits-"))  # accessible to this user only
        self._finalizer = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()

    def delete(self) -> None:
        """Delete the folder now."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        """Delete the folder if the copy failed."""
        if kind is not None:
            self.delete()


def spool_standard_input(suffix: str) -> tuple[Spool, DataFile]:
    """Copy the standard input to a file whose format is given by its suffix."""
    if sys.stdin is None:
        raise LogError(f"{STANDARD_INPUT}: is closed")
    with Spool() as spool:
        path = spool.folder / f"stdin.{suffix}"
        with path.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        file = data_file(path, name=STANDARD_INPUT)
        assert file is not None  # noqa: S101 - the suffix has been checked
        return spool, file


def spool_columns(name: str, blocks: Iterable[dict[str, list[Any]]]) -> tuple[Spool, list[DataFile]]:
    """Copy blocks of rows, given as columns of Python values, to Parquet files.

    The column types are those of the values. A block with different types starts a new file, and the columns are
    then read like those of any other log that consists of several files.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

    with Spool() as spool:
        paths: list[Path] = []
        writer: Any = None
        schema: Any = None
        try:
            for block in blocks:
                table = _as_table(block, schema)
                if writer is None or table.schema != schema:
                    if writer is not None:
                        writer.close()
                    paths.append(spool.folder / f"{len(paths):06}.parquet")
                    writer, schema = pq.ParquetWriter(paths[-1], table.schema), table.schema
                writer.write_table(table)
        finally:
            if writer is not None:
                writer.close()
        files = [data_file(path, name=name) for path in paths]
        return spool, [file for file in files if file is not None]


def _as_table(block: dict[str, list[Any]], schema: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    columns = {name: _as_array(values) for name, values in block.items()}
    if schema is not None:  # a column without any values has the type of the earlier blocks
        columns = {
            name: column.cast(schema.field(name).type) if pa.types.is_null(column.type) else column
            for name, column in columns.items()
        }
    return pa.table(columns)


def _as_array(values: list[Any]) -> Any:
    """Return the values of a column with one Arrow type per kind."""
    import pyarrow as pa  # noqa: PLC0415

    types = {NUMBER: pa.float64(), INTEGER: pa.int64(), TEXT: pa.string(), BOOLEAN: pa.bool_()}
    try:
        array = pa.array(values)
        kind = kind_of(array.type)
    except (pa.ArrowException, OverflowError, TypeError):
        array, kind = None, ""
    if kind == NULL:
        return array
    if kind == TIME:
        return array.cast(pa.timestamp("us", getattr(array.type, "tz", None)), safe=False)
    if kind in types:
        return array.cast(types[kind], safe=False)
    # The column has a type that Arrow lacks, or several types: UUIDs, JSON, integers beyond 64 bits.
    return pa.array([None if value is None else str(value) for value in values], pa.string())


def check_has_rows(name: str, files: list[DataFile]) -> None:
    """Raise if a query returned no rows."""
    if not files:
        raise LogError(f"{name}: the query returned no rows; a log has one row per decision")
