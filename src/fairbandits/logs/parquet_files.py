"""Logs in Parquet: a file, a folder of files, or a Hive-partitioned dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairbandits.logs.column_kinds import TEXT
from fairbandits.logs.errors import Location, LogError, damaged
from fairbandits.logs.formats import DataFile
from fairbandits.logs.fragments import FileFragment, LogSource
from fairbandits.logs.partitions import PartitionValues, with_partition_columns
from fairbandits.logs.typed_files import open_typed

_FORMAT = "a Parquet file"
# Pages are read through a buffer, so that even a large row group takes up little memory.
_BUFFER_SIZE = 1 << 20


@dataclass(frozen=True)
class ParquetFragment(FileFragment):
    """Consecutive row groups of a file."""

    row_groups: tuple[int, ...]
    first_row: int
    first_in_file: int
    n_rows: int

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.n_rows

    def batches(self, kinds: Mapping[str, str], rows: int) -> Iterator[tuple[Location, Any]]:
        """Read columns; text is returned dictionary-encoded."""
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
            raise damaged(self.file, _FORMAT, error, row) from None
        if row != self.first_in_file + self.n_rows:
            raise LogError(f"{self.file}, row {row + 1:,}: rows end here, but the footer declares {self.n_rows:,}")

    def split(self) -> Iterator[ParquetFragment]:
        """Yield one fragment per row group."""
        import pyarrow.parquet as pq  # noqa: PLC0415

        metadata = pq.read_metadata(self.path)
        start = 0
        for group in self.row_groups:
            n_rows = metadata.row_group(group).num_rows
            first_row, first_in_file = self.first_row + start, self.first_in_file + start
            yield ParquetFragment(
                self.absolute_source, (group,), first_row, first_in_file, n_rows, partition=self.partition
            )
            start += n_rows


def open_parquet(name: str, files: Sequence[DataFile], root: Path | None = None) -> LogSource:
    """Open Parquet files; see `open_typed` for the parameters."""
    return open_typed(name, files, root, _open_file)


def _open_file(file: DataFile, first_row: int, partition: PartitionValues) -> tuple[Any, ParquetFragment]:
    """Read the footer of a file; return its schema and a fragment of all its rows."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        with pq.ParquetFile(file.path) as opened:
            metadata, schema = opened.metadata, opened.schema_arrow
    except (pa.ArrowException, OSError) as error:
        raise damaged(file.name, _FORMAT, error) from None
    row_groups = tuple(range(metadata.num_row_groups))
    return schema, ParquetFragment(file, row_groups, first_row, 0, metadata.num_rows, partition=partition)
