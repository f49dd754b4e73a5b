"""Logs in Arrow IPC files, also called Feather."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fairbandits.logs.column_kinds import NULL, kind_of
from fairbandits.logs.errors import Location, LogError, damaged
from fairbandits.logs.formats import DataFile
from fairbandits.logs.fragments import LogSource
from fairbandits.logs.parquet_files import declared_roles
from fairbandits.logs.partitions import PartitionValues, partition_kinds, read_partitions, with_partition_columns


@dataclass(frozen=True)
class ArrowFragment:
    """Consecutive record batches of a file, each given by its number of rows."""

    source: DataFile
    first_batch: int
    rows: tuple[int, ...]
    first_row: int
    first_in_file: int
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
    def n_rows(self) -> int:
        """The number of rows."""
        return sum(self.rows)

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.n_rows

    def batches(self, kinds: Mapping[str, str], rows: int) -> Iterator[tuple[Location, Any]]:
        """Read columns."""
        columns = [name for name in kinds if name not in self.partition]
        row = self.first_in_file
        with _reader(self.source, columns) as reader:
            for number in range(self.first_batch, self.first_batch + len(self.rows)):
                stored = _batch(reader, number, self.file, row)
                for start in range(0, len(stored), rows):
                    batch = stored[start : start + rows].select(columns)
                    yield Location(self.file, row), with_partition_columns(batch, self.partition, kinds)
                    row += len(batch)

    def split(self) -> Iterator[ArrowFragment]:
        """Yield one fragment per record batch."""
        source = replace(self.source, path=Path(self.source.absolute_path))
        before = 0
        for number, n_rows in enumerate(self.rows, self.first_batch):
            first_row, first_in_file = self.first_row + before, self.first_in_file + before
            yield ArrowFragment(source, number, (n_rows,), first_row, first_in_file, self.partition)
            before += n_rows


def open_arrow(name: str, files: Sequence[DataFile], root: Path | None = None) -> LogSource:
    """Open Arrow IPC files; see `open_parquet` for the parameters."""
    partitions = read_partitions([file.path for file in files], root)
    fragments: list[ArrowFragment] = []
    kinds: dict[str, str] = {}
    schemas, first_row = [], 0
    for file, values in zip(files, partitions, strict=True):
        with _reader(file) as reader:
            schema = reader.schema
        schemas.append(schema)
        for column, arrow_type in zip(schema.names, schema.types, strict=True):
            if kinds.get(column, NULL) == NULL:
                kinds[column] = kind_of(arrow_type)
        rows = _count_rows(file, schema.names[:1])
        if sum(rows):
            fragments.append(ArrowFragment(file, 0, rows, first_row, 0, values))
        first_row += sum(rows)
    columns = [*(column for column in schemas[0].names if column not in partitions[0]), *partitions[0]]
    kinds |= partition_kinds(partitions)
    return LogSource(name, kinds, columns, fragments, declared_roles(schemas[0].metadata or {}, columns))


def _count_rows(file: DataFile, columns: Sequence[str]) -> tuple[int, ...]:
    """Return the number of rows of each record batch; the footer does not have it."""
    with _reader(file, columns) as reader:
        return tuple(len(_batch(reader, number, file.name, 0)) for number in range(reader.num_record_batches))


@contextmanager
def _reader(file: DataFile, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """Open a file, to read some columns or all of them."""
    import pyarrow as pa  # noqa: PLC0415 - an extra
    from pyarrow import ipc  # noqa: PLC0415

    try:
        with pa.memory_map(str(file.path)) as opened:
            reader = ipc.open_file(opened)
            if columns is not None:
                if missing := [column for column in columns if column not in reader.schema.names]:
                    raise LogError(
                        f"{file.name}: column {missing[0]!r} is missing, but other files of the log have it"
                    )
                # Without any column Arrow would read them all.
                wanted = [reader.schema.names.index(column) for column in columns] or [0]
                reader = ipc.open_file(opened, options=ipc.IpcReadOptions(included_fields=wanted))
            yield reader
    except (pa.ArrowException, OSError) as error:
        raise damaged(file.name, "an Arrow IPC (Feather) file", error) from None


def _batch(reader: Any, number: int, file: str, row: int) -> Any:
    """Return a record batch, validated, since Arrow trusts the offsets that a file contains."""
    import pyarrow as pa  # noqa: PLC0415

    try:
        batch = reader.get_batch(number)
        batch.validate()
    except (pa.ArrowException, OSError) as error:
        raise damaged(file, "an Arrow IPC (Feather) file", error, row) from None
    return batch
