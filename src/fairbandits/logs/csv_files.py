"""Logs in CSV: a file, a folder of files, or a Hive-partitioned dataset."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fairbandits.logs import csv_blocks
from fairbandits.logs.column_kinds import NULL
from fairbandits.logs.csv_blocks import Block, first_block, prefix_of_rows, read_blocks
from fairbandits.logs.csv_parsing import decode, infer_kinds, parse_block
from fairbandits.logs.errors import Location, LogError
from fairbandits.logs.fragments import LogSource
from fairbandits.logs.partitions import PartitionValues, partition_kinds, read_partitions, with_partition_columns


@dataclass(frozen=True)
class CsvFragment:
    """The rows of a file between two byte offsets."""

    file: str
    columns: tuple[str, ...]
    start: int
    end: int
    first_in_file: int = 0
    first_row: int | None = None
    n_rows: int | None = None
    partition: PartitionValues = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The number of bytes."""
        return self.end - self.start

    def batches(self, kinds: Mapping[str, str], rows: int) -> Iterator[tuple[Location, Any]]:
        """Read columns; text comes dictionary-encoded."""
        in_file = {name: kind for name, kind in kinds.items() if name not in self.partition}
        row = self.first_in_file
        for _, block, _ in self._blocks():
            table = parse_block(block, self.columns, in_file, Location(self.file, row))
            for batch in table.combine_chunks().to_batches(rows):
                yield Location(self.file, row), with_partition_columns(batch, self.partition, kinds)
                row += len(batch)

    def split(self) -> Iterator[CsvFragment]:
        """Yield one fragment per block, with its rows counted."""
        row = self.first_in_file
        file = str(Path(self.file).absolute())  # for processes with another working directory
        for start, block, n_rows in self._blocks():
            yield replace(self, file=file, start=start, end=start + len(block), first_in_file=row, n_rows=n_rows)
            row += n_rows

    def infer_kinds(self) -> dict[str, str]:
        """Infer the kinds of all columns from the first rows."""
        _, block, _ = next(self._blocks())
        sample = block[: prefix_of_rows(block[: csv_blocks.BLOCK_SIZE // 8]) or None]
        return infer_kinds(sample, self.columns, Location(self.file))

    def _blocks(self) -> Iterator[tuple[int, Block, int]]:
        return read_blocks(self.file, self.start, self.end, self.first_in_file)


def open_csv(name: str, files: Sequence[Path], root: Path | None = None) -> LogSource:
    """Open CSV files: read their headers, and infer kinds from the first rows.

    Parameters
    ----------
    name : str
        The name of the log.
    files : sequence of Path
        The files, in order.
    root : Path, optional
        The folder below which `column=value` folders are partition columns.
    """
    partitions = read_partitions(files, root)
    fragments = [_open_file(file, values) for file, values in zip(files, partitions, strict=True)]
    for fragment in fragments[1:]:
        if fragment.columns != fragments[0].columns:
            raise LogError(f"{fragment.file}: all files of a log must have the columns of {fragments[0].file}")
    filled = [fragment for fragment in fragments if fragment.size]
    kinds = filled[0].infer_kinds() if filled else dict.fromkeys(fragments[0].columns, NULL)
    # The partition takes precedence over a column of the same name in the file.
    columns = [*(column for column in fragments[0].columns if column not in partitions[0]), *partitions[0]]
    return LogSource(name, kinds | partition_kinds(partitions), columns, filled, {})


def _open_file(file: Path, partition: PartitionValues) -> CsvFragment:
    block, n_lines, size = first_block(file)
    end = prefix_of_rows(block, 1) or len(block)
    header = decode(block[:end], Location(str(file))).removeprefix("\ufeff")
    try:
        columns = next(csv.reader(io.StringIO(header)), [])
    except csv.Error:
        raise LogError(f"{file}: lines must end with a newline, got carriage returns only") from None
    if not any(columns):
        raise LogError(f"{file}: file is empty; the first line must hold the column names")
    # The header may be followed by nothing but empty lines.
    is_empty = n_lines <= 1 and len(block) == size
    return CsvFragment(str(file), tuple(columns), size if is_empty else end, size, partition=partition)
