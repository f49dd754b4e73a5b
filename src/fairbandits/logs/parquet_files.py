"""Logs in Parquet: a file, a folder of files, or a Hive-partitioned dataset."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fairbandits.logs.column_kinds import NULL, TEXT, kind_of
from fairbandits.logs.errors import Location, LogError, damaged
from fairbandits.logs.formats import DataFile
from fairbandits.logs.fragments import LogSource
from fairbandits.logs.partitions import PartitionValues, partition_kinds, read_partitions, with_partition_columns

#: The metadata key under which a file declares the roles of its columns.
ROLES_KEY = b"fairbandits.roles"
# Pages are read through a buffer, so that even a large row group takes little memory.
_BUFFER_SIZE = 1 << 20


@dataclass(frozen=True)
class ParquetFragment:
    """Consecutive row groups of a file."""

    source: DataFile
    row_groups: tuple[int, ...]
    first_row: int
    first_in_file: int
    n_rows: int
    partition: PartitionValues = field(default_factory=dict)

    @property
    def file(self) -> str:
        """The name used in error messages."""
        return self.source.name

    @property
    def path(self) -> str:
        """The file that holds the rows."""
        return str(self.source.path)

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.n_rows

    def batches(self, kinds: Mapping[str, str], rows: int) -> Iterator[tuple[Location, Any]]:
        """Read columns; text comes dictionary-encoded."""
        import pyarrow as pa  # noqa: PLC0415 - an extra
        import pyarrow.parquet as pq  # noqa: PLC0415

        columns = [name for name in kinds if name not in self.partition]
        text = [name for name in columns if kinds[name] == TEXT]
        row = self.first_in_file
        try:
            footer = pq.read_metadata(self.path)
            present = footer.schema.to_arrow_schema().names
            if missing := [column for column in columns if column not in present]:
                raise LogError(
                    f"{self.file}: column {missing[0]!r} is missing, but other files of the log have it"
                )
            options = {"metadata": footer, "read_dictionary": text, "pre_buffer": False}
            with pq.ParquetFile(self.path, buffer_size=_BUFFER_SIZE, **options) as file:
                for batch in file.iter_batches(rows, row_groups=list(self.row_groups), columns=columns):
                    yield Location(self.file, row), with_partition_columns(batch, self.partition, kinds)
                    row += len(batch)
        except (pa.ArrowException, OSError) as error:
            raise _damaged(self.file, error, row) from None
        if row != self.first_in_file + self.n_rows:
            raise LogError(f"{self.file}, row {row + 1:,}: rows end here, but the footer declares {self.n_rows:,}")

    def split(self) -> Iterator[ParquetFragment]:
        """Yield one fragment per row group."""
        import pyarrow.parquet as pq  # noqa: PLC0415

        metadata = pq.read_metadata(self.path)
        source = replace(self.source, path=Path(self.source.absolute_path))
        start = 0
        for group in self.row_groups:
            n_rows = metadata.row_group(group).num_rows
            yield ParquetFragment(
                source, (group,), self.first_row + start, self.first_in_file + start, n_rows, self.partition
            )
            start += n_rows


def open_parquet(name: str, files: Sequence[DataFile], root: Path | None = None) -> LogSource:
    """Open Parquet files: read their footers.

    Parameters
    ----------
    name : str
        The name of the log.
    files : sequence of DataFile
        The files, in order.
    root : Path, optional
        The folder below which `column=value` folders are partition columns.
    """
    partitions = read_partitions([file.path for file in files], root)
    fragments: list[ParquetFragment] = []
    kinds: dict[str, str] = {}
    schemas, first_row = [], 0
    for file, values in zip(files, partitions, strict=True):
        metadata, schema = _read_footer(file)
        schemas.append(schema)
        for column, arrow_type in zip(schema.names, schema.types, strict=True):
            if kinds.get(column, NULL) == NULL:  # a file without any value leaves the kind open
                kinds[column] = kind_of(arrow_type)
        row_groups = tuple(range(metadata.num_row_groups))
        if metadata.num_rows:
            fragments.append(ParquetFragment(file, row_groups, first_row, 0, metadata.num_rows, values))
        first_row += metadata.num_rows
    # Some writers store the partition columns in the files too; the partition takes precedence.
    columns = [*(column for column in schemas[0].names if column not in partitions[0]), *partitions[0]]
    kinds |= partition_kinds(partitions)
    return LogSource(name, kinds, columns, fragments, declared_roles(schemas[0].metadata or {}, columns))


def declared_roles(metadata: Mapping[bytes, bytes], columns: Sequence[str]) -> dict[str, Any]:
    """Return the roles that a file declares, without those of columns removed since."""
    try:
        declared = dict(json.loads(metadata.get(ROLES_KEY, b"{}")))
    except (ValueError, TypeError):
        return {}
    present = {
        role: [column for column in given if column in columns] if isinstance(given, list) else given
        for role, given in declared.items()
    }
    return {role: given for role, given in present.items() if isinstance(given, list) or given in columns}


def _read_footer(file: DataFile) -> tuple[Any, Any]:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        with pq.ParquetFile(file.path) as opened:
            return opened.metadata, opened.schema_arrow
    except (pa.ArrowException, OSError) as error:
        raise _damaged(file.name, error) from None


def _damaged(file: str, error: Exception, row: int | None = None) -> LogError:
    return damaged(file, "a Parquet file", error, row)
