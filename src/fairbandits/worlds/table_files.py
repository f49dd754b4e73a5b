"""Tables from which worlds are built: data frames, or files in CSV or Parquet."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from fairbandits.contexts import FrameTable
from fairbandits.extras import install_hint

_DELIMITERS = (",", "\t", ";", "|")
_COMPRESSED = ".gz"


def read_table(source: Any, what: str) -> FrameTable:
    """Return a table: a data frame as it is, or the content of a file.

    Parameters
    ----------
    source : data frame or path
        A frame of any library that narwhals reads, or the path of a CSV or Parquet file. Fields of a CSV file
        may be separated by commas, tabs, semicolons or bars.
    what : str
        The name of the parameter, for errors.
    """
    if not isinstance(source, str | os.PathLike):
        table = FrameTable(source, what)
    else:
        table = FrameTable(_read_file(Path(source), what), what)
    if not len(table):
        raise ValueError(f"{what} must have at least one row, got none")
    return table


def table_name(source: Any, what: str) -> str:
    """Return the name of a table: that of its file, without the folder, or else `what`."""
    return Path(source).name if isinstance(source, str | os.PathLike) else what


def select_rows(table: FrameTable, rows: Any, columns: list[str], what: str) -> FrameTable:
    """Return some rows and columns of a table, in the order given."""
    frame = nw.from_native(table.native, eager_only=True)
    return FrameTable(frame[np.asarray(rows).tolist(), columns].to_native(), what)


def _read_file(path: Path, what: str) -> Any:
    if not path.is_file():
        raise ValueError(f"{what} must be a data frame or the path of a CSV or Parquet file, got {str(path)!r}")
    try:
        import pyarrow  # noqa: PLC0415 - an extra
        import pyarrow.csv  # noqa: PLC0415
        import pyarrow.parquet  # noqa: PLC0415
    except ModuleNotFoundError:
        raise ImportError(f"reading files needs pyarrow; {install_hint('logs')}") from None
    try:
        if path.suffix in (".parquet", ".pq"):
            table = pyarrow.parquet.read_table(path)
            # pandas stores the numbers of selected rows, which describe neither users nor items.
            return table.drop_columns([name for name in table.column_names if name.startswith("__index_level_")])
        options = pyarrow.csv.ParseOptions(delimiter=_delimiter(path))
        return pyarrow.csv.read_csv(path, parse_options=options)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{what} must be a table in CSV or Parquet, got {path.name}: {error}") from None


def _delimiter(path: Path) -> str:
    """Return the delimiter that is most frequent in the first line."""
    with gzip.open(path) if path.suffix == _COMPRESSED else path.open("rb") as file:
        header = file.readline().decode(errors="replace")
    return max(_DELIMITERS, key=header.count)
