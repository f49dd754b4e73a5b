"""Logs in text files, CSV or JSON lines: a file, several files, a folder, or a Hive-partitioned dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from fairbandits.logs import text_blocks
from fairbandits.logs.column_kinds import NULL
from fairbandits.logs.csv_parsing import CsvFormat
from fairbandits.logs.errors import Location, LogError
from fairbandits.logs.formats import DataFile
from fairbandits.logs.fragments import FileFragment, LogSource
from fairbandits.logs.partitions import PartitionValues, partition_kinds, read_partitions, with_partition_columns
from fairbandits.logs.text_blocks import END, Block, RowBlock, file_size, prefix_of_rows, read_blocks


class TextFormat(Protocol):
    """The format of a text file."""

    @property
    def na(self) -> tuple[str, ...]:
        """The texts that stand for missing values."""

    @property
    def delimiter(self) -> int:
        """The byte that separates two cells; a quote at the start of a cell hides the end of a line."""

    def read_header(self, block: Block, location: Location) -> tuple[tuple[str, ...], int]:
        """Return the columns, read from a file's first block, and the number of bytes before the first row."""

    def infer_kinds(self, sample: Block, columns: Sequence[str], location: Location) -> dict[str, str]:
        """Infer the kinds of all columns from the first rows."""

    def parse(self, block: Block, columns: Sequence[str], kinds: Mapping[str, str], location: Location) -> Any:
        """Parse the requested columns of a block."""


@dataclass(frozen=True)
class TextFragment(FileFragment):
    """The rows of a file between two byte offsets."""

    format: TextFormat
    columns: tuple[str, ...]
    start: int
    end: int
    first_in_file: int = 0
    first_row: int | None = None
    n_rows: int | None = None

    @property
    def size(self) -> int:
        """The number of bytes, as stored."""
        return self.source.path.stat().st_size if self.end == END else self.end - self.start

    def batches(self, kinds: Mapping[str, str], rows: int) -> Iterator[tuple[Location, Any]]:
        """Read columns."""
        in_file = {name: kind for name, kind in kinds.items() if name not in self.partition}
        row = self.first_in_file
        for block in self.blocks():
            table = self.format.parse(block.text, self.columns, in_file, Location(self.file, row))
            for batch in table.combine_chunks().to_batches(rows):
                yield Location(self.file, row), with_partition_columns(batch, self.partition, kinds)
                row += len(batch)

    def split(self) -> Iterator[TextFragment]:
        """Yield one fragment per block, with its rows counted; a compressed file is a single fragment."""
        source = self.absolute_source
        if self.source.compression is not None:
            yield replace(self, source=source, n_rows=sum(block.n_rows for block in self.blocks()))
            return
        row = self.first_in_file
        for start, text, n_rows in self.blocks():
            yield replace(
                self, source=source, start=start, end=start + len(text), first_in_file=row, n_rows=n_rows
            )
            row += n_rows

    def infer_kinds(self) -> dict[str, str]:
        """Infer the kinds of all columns from the first rows."""
        text = next(self.blocks()).text
        sample = text[: prefix_of_rows(text[: text_blocks.BLOCK_SIZE // 8], self.format.delimiter) or None]
        return self.format.infer_kinds(sample, self.columns, Location(self.file))

    def blocks(self) -> Iterator[RowBlock]:
        """Read the rows in blocks."""
        return read_blocks(self.source, self.format.delimiter, self.start, self.end, self.first_in_file)


def open_text(name: str, files: Sequence[DataFile], root: Path | None, text_format: TextFormat) -> LogSource:
    """Open text files: read their headers, and infer kinds from the first rows.

    Parameters
    ----------
    name : str
        The name of the log.
    files : sequence of DataFile
        The files, in order.
    root : Path, optional
        The folder below which `column=value` folders are partition columns.
    text_format : TextFormat
        The format of the files.
    """
    partitions = read_partitions([file.path for file in files], root)
    fragments = [_open_file(file, values, text_format) for file, values in zip(files, partitions, strict=True)]
    first = fragments[0]
    for fragment in fragments[1:] if isinstance(text_format, CsvFormat) else ():
        if fragment.columns != first.columns:
            raise LogError(f"{fragment.file}: all files of a log must have the same columns as {first.file}")
    filled = [fragment for fragment in fragments if fragment.start < fragment.end]
    kinds = filled[0].infer_kinds() if filled else dict.fromkeys(first.columns, NULL)
    # The partition takes precedence over a column of the same name in the file.
    columns = [*(column for column in first.columns if column not in partitions[0]), *partitions[0]]
    return LogSource(name, kinds | partition_kinds(partitions), columns, filled, {})


def _open_file(file: DataFile, partition: PartitionValues, text_format: TextFormat) -> TextFragment:
    blocks = read_blocks(file, text_format.delimiter)
    block = next(blocks)
    columns, start = text_format.read_header(block.text, Location(file.name))
    end = file_size(file)
    # There may be nothing but empty lines after the header.
    if block.n_rows <= (start > 0) and next(blocks, None) is None:
        end = start
    return TextFragment(file, text_format, columns, start, end, partition=partition)
