"""Text files, compressed or not, as blocks of bytes that end with a complete row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fairbandits.logs.byte_kernels import Bytes, scan_rows
from fairbandits.logs.errors import LogError
from fairbandits.logs.formats import DataFile

Block = memoryview

#: The number of bytes read at a time.
BLOCK_SIZE = 4 << 20
#: The end of a file whose size is not known.
END = 1 << 62
# A longer row than this is assumed to be caused by an unclosed quote.
_MAX_ROW_SIZE = 64 << 20
_ALL_ROWS = 1 << 62


class RowBlock(NamedTuple):
    """Complete rows of a file: their offset (in the uncompressed text), their bytes and their number."""

    start: int
    text: Block
    n_rows: int


def read_blocks(
    file: DataFile, delimiter: int, start: int = 0, end: int = END, first_row: int = 0
) -> Iterator[RowBlock]:
    """Yield the rows between two byte offsets; an empty file is one empty block."""
    row, rest = first_row, b""
    try:
        with _open(file, start) as opened:
            left = end - start
            while True:
                read = opened.read(min(BLOCK_SIZE, left))
                left -= len(read)
                text = rest + read if rest else read
                cut, n_rows = scan_rows(as_bytes(text), delimiter, _ALL_ROWS)
                rest = text[cut:]
                if not read or not left:  # the last row of a file needs no newline
                    if text or start == 0:
                        yield RowBlock(start, memoryview(text), n_rows + bool(rest.strip()))
                    return
                if cut:
                    yield RowBlock(start, memoryview(text)[:cut], n_rows)
                    start, row = start + cut, row + n_rows
                elif len(text) > _MAX_ROW_SIZE:
                    raise LogError(
                        f"{file.name}, row {row + 1:,}: row is not terminated; check for an unclosed quote"
                    )
    except OSError as error:
        raise LogError(f"{file.name}: cannot be read ({error.strerror or error})") from None


def prefix_of_rows(block: Block, delimiter: int, n_rows: int = _ALL_ROWS) -> int:
    """Return the number of bytes in the first complete rows of a block, of which at most `n_rows` are counted."""
    return int(scan_rows(as_bytes(block), delimiter, n_rows)[0])


def as_bytes(block: bytes | Block) -> Bytes:
    """Return a block as an array."""
    return np.frombuffer(block, np.uint8)


def as_arrow_stream(block: Block) -> Any:
    """Return a stream of a copy of a block in Arrow's own memory.

    Arrow's threads may release a stream after its reader has returned. Python's memory can be released only with
    the GIL, and a thread that requests the GIL while the interpreter is shutting down aborts the process.
    """
    import pyarrow as pa  # noqa: PLC0415 - an extra

    buffer = pa.allocate_buffer(len(block))
    np.frombuffer(buffer, np.uint8)[:] = as_bytes(block)
    return pa.BufferReader(buffer)


def file_size(file: DataFile) -> int:
    """Return the offset at which the text of a file ends; `END` if it is unknown before decompression."""
    return END if file.compression else Path(file.path).stat().st_size


def _open(file: DataFile, start: int) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - an extra

    if file.compression is None:
        opened = file.path.open("rb")
        opened.seek(start)
        return opened
    stream = pa.input_stream(str(file.path), compression=file.compression)
    stream.read(start)  # this is at most the header, since compressed files are not split
    return stream
