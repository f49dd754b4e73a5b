"""Opening of sources: paths, patterns, addresses, the standard input and dataframes."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from fairbandits.logs.arrow_files import open_arrow
from fairbandits.logs.csv_parsing import CsvFormat
from fairbandits.logs.databases import spool_duckdb, spool_sql
from fairbandits.logs.dependencies import require_arrow
from fairbandits.logs.errors import LogError
from fairbandits.logs.formats import (
    ARROW,
    CSV,
    JSON_LINES,
    PARQUET,
    SUFFIXES,
    TSV,
    DataFile,
    check_suffix,
    data_file,
)
from fairbandits.logs.fragments import LogSource
from fairbandits.logs.frames import open_frame
from fairbandits.logs.json_parsing import JsonFormat
from fairbandits.logs.missing_values import TokenFragment
from fairbandits.logs.parquet_files import open_parquet
from fairbandits.logs.refusals import refuse_object_store, refuse_table_formats, scheme_of
from fairbandits.logs.spooling import spool_standard_input
from fairbandits.logs.text_files import open_text

STANDARD_INPUT_PATH = "-"
_DUCKDB = ".duckdb"
_GLOB_MARKS = "*?["
# Dataset writers leave markers and metadata whose names start with a dot or an underscore.
_MARKERS = "._"


def open_source(
    source: Any, *, query: str | None = None, format: str | None = None, na: Sequence[str] = ()
) -> LogSource:
    """Open files, a database or a dataframe as a table whose columns have no roles yet.

    See `Log.open` for the parameters.
    """
    require_arrow()
    na = (na,) if isinstance(na, str) else tuple(na)
    if format is not None:
        check_suffix(format)
    if isinstance(source, list | tuple) and source and all(isinstance(each, str | os.PathLike) for each in source):
        items = [os.fspath(each) for each in source]
    elif isinstance(source, str | os.PathLike):
        items = [os.fspath(source)]
    else:
        return _with_tokens(open_frame(source), na)
    is_database = len(items) == 1 and (scheme_of(items[0]) is not None or items[0].lower().endswith(_DUCKDB))
    if query is not None and not is_database:
        raise LogError(f"{items[0]}: query must be given only for a database")
    for item in items:
        refuse_object_store(item)
        if len(items) > 1 and (scheme_of(item) or item == STANDARD_INPUT_PATH):
            raise LogError("several sources must all be files, got a database or standard input among them")
    if items == [STANDARD_INPUT_PATH]:
        spool, file = spool_standard_input(format or "csv")
        with spool:
            return replace(_open_files(file.name, [file], None, na), spool=spool)
    if is_database:
        return _open_database(items[0], query, na)
    name = items[0] if len(items) == 1 else f"{items[0]} and {len(items) - 1} more"
    files, root = _find_files(items, format)
    return _open_files(name, files, root, na)


def _open_database(address: str, query: str | None, na: tuple[str, ...]) -> LogSource:
    if scheme_of(address) is None:
        path = Path(address)
        if not path.is_file():
            raise _missing(path)
        name = address
        spool, files = spool_duckdb(path, query)
    else:
        name, spool, files = spool_sql(address, query)
    with spool:
        return replace(_open_files(name, files, None, na), spool=spool)


def _open_files(name: str, files: Sequence[DataFile], root: Path | None, na: tuple[str, ...]) -> LogSource:
    openers: dict[str, Callable[..., LogSource]] = {
        CSV: partial(open_text, text_format=CsvFormat(na=na)),
        TSV: partial(open_text, text_format=CsvFormat("\t", na)),
        JSON_LINES: partial(open_text, text_format=JsonFormat(na)),
        PARQUET: open_parquet,
        ARROW: open_arrow,
    }
    formats = sorted({file.format for file in files})
    if len(formats) > 1:
        raise LogError(f"{name}: contains {' and '.join(formats)} files; keep all files of a log in one format")
    found = openers[formats[0]](name, files, root)
    return found if formats[0] in (CSV, TSV, JSON_LINES) else _with_tokens(found, na)


def _with_tokens(source: LogSource, na: tuple[str, ...]) -> LogSource:
    if not na:
        return source
    return replace(source, fragments=[TokenFragment(fragment, na) for fragment in source.fragments])


def _find_files(items: Sequence[str], suffix: str | None) -> tuple[list[DataFile], Path | None]:
    """Return the files that paths and patterns denote, in order, and the folder of their partitions, if any."""
    paths = [path for item in items for path in _expand(item)]
    # If any file of a folder belongs to a table, all of its files belong to the same table.
    for path in {path if path.is_dir() else path.parent: path for path in reversed(paths)}.values():
        refuse_table_formats(path)
    if len(paths) == 1 and paths[0].is_dir():
        return _files_of_folder(paths[0], suffix), paths[0]
    if folders := [path for path in paths if path.is_dir()]:
        raise LogError(
            f"{folders[0]}: several paths must all be files, got a folder; use a pattern: '{folders[0]}/*'"
        )
    known: dict[Path, Path] = {}
    for path in paths:
        if known.setdefault(path.resolve(), path) is not path:
            raise LogError(f"{path}: file is given more than once, so its rows would be counted more than once")
    files = [data_file(path, suffix) for path in paths]
    for path, file in zip(paths, files, strict=True):
        if file is None:
            raise LogError(
                f"{path}: a log must be a {SUFFIXES} file, got {path.suffix!r}; or set format=... (--format)"
            )
    return [file for file in files if file is not None], None


def _files_of_folder(folder: Path, suffix: str | None) -> list[DataFile]:
    files = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and not any(name[0] in _MARKERS for name in path.relative_to(folder).parts)
    )
    found = [file for path in files if (file := data_file(path, suffix)) is not None]
    if not found:
        raise LogError(f"{folder}: contains no {SUFFIXES} file")
    return found


def _expand(item: str) -> list[Path]:
    """Return the path, or the paths that match the pattern, in order."""
    path = Path(item)
    if path.exists():
        return [path]
    if not any(mark in item for mark in _GLOB_MARKS):
        raise _missing(path)
    matches = (Path(match) for match in glob.glob(item, recursive=True))
    found = sorted(match for match in matches if match.is_file() and match.name[0] not in _MARKERS)
    if not found:
        raise LogError(f"{item}: no file matches this pattern")
    return found


def _missing(path: Path) -> LogError:
    return LogError(f"{path}: there is no such file or folder")
