"""Logs in CSV, read in blocks of whole rows: a file, a folder of files, one with folders named column=value."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from fairbandits.jit import kernel
from fairbandits.logs.errors import LogError, Place, shortened
from fairbandits.logs.folders import Folders, folder_kinds, read_folders, with_folders
from fairbandits.logs.parts import NOTHING, NUMBER, OTHER, TEXT, TIME, TRUTH, WHOLE, Source, kind_of

Bytes = NDArray[np.uint8]
Block = memoryview

# So much is read at a time.
BLOCK = 4 << 20
# A row that is longer than this is no row, but a quote that nobody closed.
_LONGEST_ROW = 64 << 20
_QUOTE, _COMMA, _NEWLINE, _RETURN = (ord(letter) for letter in '",\n\r')
_ALL = 1 << 62


@dataclass(frozen=True)
class CsvPart:
    """Some rows of a file, from one byte to another."""

    file: str
    columns: tuple[str, ...]
    start: int
    end: int
    first_in_file: int = 0
    first_row: int | None = None
    n_rows: int | None = None
    folders: Folders = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How large it is beside others: its bytes."""
        return self.end - self.start

    def batches(self, kinds: Mapping[str, str], rows: int) -> Iterator[tuple[Place, Any]]:
        """Read some columns; words as numbers with a dictionary."""
        own = {name: kind for name, kind in kinds.items() if name not in self.folders}
        row = self.first_in_file
        for _, block, _ in _blocks(self):
            table = _parse(block, self.columns, own, Place(self.file, row))
            for batch in table.combine_chunks().to_batches(rows):
                yield Place(self.file, row), with_folders(batch, self.folders, kinds)
                row += len(batch)

    def pieces(self) -> Iterator[CsvPart]:
        """Give its blocks one by one, their rows counted."""
        row = self.first_in_file
        for start, block, n_rows in _blocks(self):
            file = str(Path(self.file).absolute())  # for processes that stand elsewhere
            yield replace(self, file=file, start=start, end=start + len(block), first_in_file=row, n_rows=n_rows)
            row += n_rows


def open_csv(name: str, files: Sequence[Path], root: Path | None = None) -> Source:
    """Look at the files: their columns, what the first rows hold, and what the names of folders say.

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
    parts = [_look(file, values) for file, values in zip(files, folders, strict=True)]
    for part in parts[1:]:
        if part.columns != parts[0].columns:
            raise LogError(f"{part.file}: its columns are not those of {parts[0].file}; keep a log in one form")
    filled = [part for part in parts if part.size]
    kinds = _guess_kinds(filled[0]) if filled else dict.fromkeys(parts[0].columns, NOTHING)
    # Where a file has the column of a folder too, what the folder says counts.
    columns = [*(column for column in parts[0].columns if column not in folders[0]), *folders[0]]
    return Source(name, kinds | folder_kinds(folders), columns, filled, {})


def _look(file: Path, folders: Folders) -> CsvPart:
    """Read the line with the names of the columns."""
    try:
        with file.open("rb") as opened:
            size = opened.seek(0, io.SEEK_END)
            opened.seek(0)
            block, n_lines = _next_block(opened, size, str(file), 0)
    except OSError as error:
        raise LogError(f"{file}: cannot be read ({error.strerror})") from None
    end = _scan(_as_bytes(block), 1)[0] or len(block)
    line = _decoded(block[:end], Place(str(file))).removeprefix("\ufeff")
    try:
        columns = next(csv.reader(io.StringIO(line)), [])
    except csv.Error:
        raise LogError(f"{file}: its lines end in a way of their own; write it with newlines") from None
    if not any(columns):
        raise LogError(f"{file}: it is empty; expected a line with the names of the columns, then the rows")
    # Behind the names of the columns there may be empty lines alone.
    is_empty = n_lines <= 1 and len(block) == size
    return CsvPart(str(file), tuple(columns), size if is_empty else end, size, folders=folders)


def _blocks(part: CsvPart) -> Iterator[tuple[int, Block, int]]:
    """Read whole rows, a block at a time: where it starts, its bytes, and how many rows it has."""
    row, start = part.first_in_file, part.start
    try:
        with Path(part.file).open("rb") as file:
            while start < part.end:
                file.seek(start)
                block, n_rows = _next_block(file, part.end - start, part.file, row)
                yield start, block, n_rows
                start, row = start + len(block), row + n_rows
    except OSError as error:
        raise LogError(f"{part.file}: cannot be read ({error.strerror})") from None


def _next_block(file: BinaryIO, left: int, name: str, row: int) -> tuple[Block, int]:
    """Read a block and cut it behind its last whole row, which at the end of the file needs no end of line."""
    read = b""
    while True:
        read += file.read(min(BLOCK, left - len(read)))
        end, n_rows = _scan(_as_bytes(read), _ALL)
        if len(read) >= left or not read:
            return memoryview(read), n_rows + (end < len(read) and bool(read[end:].strip()))
        if end:
            return memoryview(read)[:end], n_rows
        if len(read) > _LONGEST_ROW:
            raise LogError(f"{name}, row {row + 1:,}: it does not end; is a quote opened and never closed?")


def _as_bytes(block: bytes | Block) -> Bytes:
    return np.frombuffer(block, np.uint8)


@kernel()
def _scan(block: Bytes, most: int) -> tuple[int, int]:
    """Go through the rows of a block, so many at most: where the last whole one ends, and how many there are.

    Empty lines are no rows. A quote counts at the beginning of a cell alone; two of them in quotes are one.
    """
    end, n_rows, i = 0, 0, 0
    is_quoted, is_new = False, True
    while i < block.size and n_rows < most:
        letter = block[i]
        if is_quoted:
            if letter == _QUOTE:
                if i + 1 < block.size and block[i + 1] == _QUOTE:
                    i += 1
                else:
                    is_quoted = False
        elif letter == _NEWLINE:
            n_rows += i > end and not (i == end + 1 and block[end] == _RETURN)
            end = i + 1
            is_new = True
        else:
            is_quoted = is_new and letter == _QUOTE
            is_new = letter == _COMMA
        i += 1
    return end, n_rows


def _guess_kinds(part: CsvPart) -> dict[str, str]:
    """Say what the columns hold, by the first rows."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    _, block, _ = next(_blocks(part))
    sample = block[: _scan(_as_bytes(block[: BLOCK // 8]), _ALL)[0] or None]
    try:
        table = _read(sample, part.columns, {}, part.columns)
    except pa.ArrowInvalid as error:
        raise _diagnosed(sample, part.columns, {}, Place(part.file), error) from None
    kinds = {column: kind_of(kind) for column, kind in zip(table.column_names, table.schema.types, strict=True)}
    # Whatever is no number and no time is words.
    return {column: TEXT if kind == OTHER else kind for column, kind in kinds.items()}


def _parse(block: Block, columns: Sequence[str], kinds: Mapping[str, str], place: Place) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    # Times are read by as_times, which knows more ways to write them.
    words = pa.dictionary(pa.int32(), pa.string())
    known = {
        TEXT: words,
        WHOLE: pa.int64(),
        NUMBER: pa.float64(),
        TRUTH: pa.bool_(),
        TIME: pa.string(),
        NOTHING: words,
    }
    try:
        # Arrow reads all columns where none is wanted: folders may name all that are.
        table = _read(block, columns, {name: known[kind] for name, kind in kinds.items()}, [*kinds] or columns[:1])
    except pa.ArrowInvalid as error:
        raise _diagnosed(block, columns, kinds, place, error) from None
    return table.select(list(kinds))


def _read(block: Block, columns: Sequence[str], types: Mapping[str, Any], wanted: Sequence[str]) -> Any:
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import csv as arrow_csv  # noqa: PLC0415

    return arrow_csv.read_csv(
        pa.BufferReader(block),
        arrow_csv.ReadOptions(column_names=list(columns), block_size=len(block) + 1),
        arrow_csv.ParseOptions(newlines_in_values=True),
        # An empty cell is one that is not known. Nothing else is: NA may be Namibia, and a NaN is a mistake.
        arrow_csv.ConvertOptions(
            column_types=types, include_columns=list(wanted), null_values=[""], strings_can_be_null=True
        ),
    )


def _diagnosed(
    block: Block, columns: Sequence[str], kinds: Mapping[str, str], place: Place, error: Exception
) -> LogError:
    """Find the first cell that does not fit, and say what is wrong with it."""
    rows = csv.reader(io.StringIO(_decoded(block, place), newline=""))
    places = {name: columns.index(name) for name in kinds}
    for number, row in enumerate(row for row in rows if row):
        if len(row) != len(columns):
            return place.error(f"it has {len(row)} cell(s); expected {len(columns)}, one a column", None, number)
        for name, at in places.items():
            problem = _problem(row[at], kinds[name])
            if problem:
                return place.error(f"{shortened(row[at])} came; expected {problem}", name, number)
    return LogError(f"{place.file}, from row {place.row + 1:,} on: cannot be read ({error})")


def _problem(cell: str, kind: str) -> str:
    if not cell:
        return ""
    # Python reads 1_000 and digits of all scripts as numbers, Arrow does not.
    is_plain = cell.isascii() and "_" not in cell
    if kind == NUMBER and not (is_plain and _reads(float, cell)):
        return "a number; leave it empty where it is not known"
    if kind == WHOLE and not (is_plain and _reads(int, cell)):
        return "a whole number, as before in this column; keep one type, or write the log as Parquet"
    if kind == WHOLE and not -(2**63) <= int(cell) < 2**63:
        return "a whole number of at most 64 bits; write the log as Parquet, and larger ones as words"
    if kind == TRUTH and cell.lower() not in ("true", "false", "0", "1"):
        return "true or false, as before in this column"
    return ""


def _reads(read: Callable[[str], Any], cell: str) -> bool:
    try:
        read(cell)
    except ValueError:
        return False
    return True


def _decoded(block: Block, place: Place) -> str:
    try:
        return bytes(block).decode()
    except UnicodeDecodeError as error:
        row = error.object.count(b"\n", 0, error.start)
        wrong = error.object[error.start : error.end]
        raise place.error(f"{wrong!r} is not UTF-8; write the file in that encoding", None, row) from None
