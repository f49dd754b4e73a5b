"""Logs in Arrow IPC files, also called Feather."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairbandits.logs.errors import Location, LogError, damaged
from fairbandits.logs.formats import DataFile
from fairbandits.logs.fragments import FileFragment, LogSource
from fairbandits.logs.partitions import PartitionValues, with_partition_columns
from fairbandits.logs.typed_files import open_typed

_FORMAT = "an Arrow IPC (Feather) file"


@dataclass(frozen=True)
class ArrowFragment(FileFragment):
    """Consecutive record batches of a file, each given by its number of rows."""

    first_batch: int
    rows: tuple[int, ...]
    first_row: int
    first_in_file: int

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
        before = 0
        for number, n_rows in enumerate(self.rows, self.first_batch):
            first_row, first_in_file = self.first_row + before, self.first_in_file + before
            yield ArrowFragment(
                self.absolute_source, number, (n_rows,), first_row, first_in_file, partition=self.partition
            )
            before += n_rows


def open_arrow(name: str, files: Sequence[DataFile], root: Path | None = None) -> LogSource:
    """Open Arrow IPC files; see `open_typed` for the parameters."""
    return open_typed(name, files, root, _open_file)


def _open_file(file: DataFile, first_row: int, partition: PartitionValues) -> tuple[Any, ArrowFragment]:
    """Return the schema and the rows of a file, counted by record batch, since the footer contains no counts."""
    with _reader(file) as reader:
        schema = reader.schema
    with _reader(file, schema.names[:1]) as reader:
        rows = tuple(len(_batch(reader, number, file.name, 0)) for number in range(reader.num_record_batches))
    return schema, ArrowFragment(file, 0, rows, first_row, 0, partition=partition)


@contextmanager
def _reader(file: DataFile, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """Open a file for reading some or all of its columns."""
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
                # If no column is requested, Arrow would read all of them.
                wanted = [reader.schema.names.index(column) for column in columns] or [0]
                reader = ipc.open_file(opened, options=ipc.IpcReadOptions(included_fields=wanted))
            yield reader
    except (pa.ArrowException, OSError) as error:
        raise damaged(file.name, _FORMAT, error) from None


def _batch(reader: Any, number: int, file: str, row: int) -> Any:
    """Return a record batch after validating it, since Arrow trusts the offsets in a file."""
    import pyarrow as pa  # noqa: PLC0415

    try:
        batch = reader.get_batch(number)
        batch.validate()
    except (pa.ArrowException, OSError) as error:
        raise damaged(file, _FORMAT, error, row) from None
    return batch
