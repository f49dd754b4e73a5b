"""Logs in Parquet: a file, a folder of files, a dataset partitioned by folders named column=value."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairbandits.logs.errors import LogError, Place
from fairbandits.logs.folders import Folders, folder_kinds, read_folders, with_folders
from fairbandits.logs.parts import NOTHING, TEXT, Source, kind_of

# Under this key a file may say itself which column plays which role.
ROLES_KEY = b"fairbandits.roles"
# Pages are read through a buffer, so that a row group of any size takes little memory.
_BUFFER = 1 << 20


@dataclass(frozen=True)
class ParquetPart:
    """Some row groups of a file, which follow each other."""

    file: str
    groups: tuple[int, ...]
    first_row: int
    first_in_file: int
    n_rows: int
    folders: Folders = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How large it is beside others: its rows."""
        return self.n_rows

    def batches(self, kinds: Mapping[str, str], rows: int) -> Iterator[tuple[Place, Any]]:
        """Read some columns; words as numbers with a dictionary."""
        import pyarrow as pa  # noqa: PLC0415 - an extra
        import pyarrow.parquet as pq  # noqa: PLC0415

        columns = [name for name in kinds if name not in self.folders]
        words = [name for name in columns if kinds[name] == TEXT]
        row = self.first_in_file
        try:
            footer = pq.read_metadata(self.file)
            there = footer.schema.to_arrow_schema().names
            if missing := [column for column in columns if column not in there]:
                raise LogError(f"{self.file}: column {missing[0]!r} is not in this file, but in others of the log")
            how = {"metadata": footer, "read_dictionary": words, "buffer_size": _BUFFER, "pre_buffer": False}
            with pq.ParquetFile(self.file, **how) as file:
                for batch in file.iter_batches(rows, row_groups=list(self.groups), columns=columns):
                    yield Place(self.file, row), with_folders(batch, self.folders, kinds)
                    row += len(batch)
        except (pa.ArrowException, OSError) as error:
            raise _damaged(self.file, error, row) from None
        if row != self.first_in_file + self.n_rows:
            raise LogError(f"{self.file}, row {row + 1:,}: its rows end here; {self.n_rows:,} were announced")

    def pieces(self) -> Iterator[ParquetPart]:
        """Give its row groups one by one."""
        import pyarrow.parquet as pq  # noqa: PLC0415

        metadata = pq.read_metadata(self.file)
        start = 0
        for group in self.groups:
            n_rows = metadata.row_group(group).num_rows
            file = str(Path(self.file).absolute())  # for processes that stand elsewhere
            yield ParquetPart(
                file, (group,), self.first_row + start, self.first_in_file + start, n_rows, self.folders
            )
            start += n_rows


def open_parquet(name: str, files: Sequence[Path], root: Path | None = None) -> Source:
    """Look at the files: their columns, how many rows they have, and what the names of folders say.

    Parameters
    ----------
    name : str
        What to call the log.
    files : sequence of Path
        In their order.
    root : Path, optional
        The folder below which names of folders count.
    """
    folders = read_folders(files, root)
    parts: list[ParquetPart] = []
    kinds: dict[str, str] = {}
    schemas, first_row = [], 0
    for file, values in zip(files, folders, strict=True):
        metadata, schema = _read_footer(file)
        schemas.append(schema)
        for column, kind in zip(schema.names, schema.types, strict=True):
            if kinds.get(column, NOTHING) == NOTHING:  # a file in which all is missing says no type
                kinds[column] = kind_of(kind)
        part = ParquetPart(
            str(file), tuple(range(metadata.num_row_groups)), first_row, 0, metadata.num_rows, values
        )
        if part.n_rows:
            parts.append(part)
        first_row += part.n_rows
    # Some write the column of a folder into its files too; what the folder says counts.
    columns = [*(name for name in schemas[0].names if name not in folders[0]), *folders[0]]
    kinds |= folder_kinds(folders)
    return Source(name, kinds, columns, parts, _said_roles(schemas[0].metadata or {}, columns))


def _said_roles(metadata: Mapping[bytes, bytes], columns: Sequence[str]) -> dict[str, Any]:
    """Read which roles a file says its columns play; not those of columns that somebody has taken out."""
    try:
        said = dict(json.loads(metadata.get(ROLES_KEY, b"{}")))
    except (ValueError, TypeError):
        return {}
    kept = {
        role: [c for c in given if c in columns] if isinstance(given, list) else given
        for role, given in said.items()
    }
    return {role: given for role, given in kept.items() if isinstance(given, list) or given in columns}


def _read_footer(file: Path) -> tuple[Any, Any]:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        with pq.ParquetFile(file) as opened:
            return opened.metadata, opened.schema_arrow
    except (pa.ArrowException, OSError) as error:
        raise _damaged(str(file), error) from None


def _damaged(file: str, error: Exception, row: int | None = None) -> LogError:
    if isinstance(error, FileNotFoundError):
        return LogError(f"{file}: there is no such file")
    where = file if row is None else f"{file}, from row {row + 1:,} on"
    return LogError(
        f"{where}: not a Parquet file, or cut short or damaged ({' '.join(str(error).split())}); write it again"
    )
