"""CSV files as blocks of bytes that end with a whole row."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from fairbandits.jit import kernel
from fairbandits.logs.errors import LogError

Bytes = NDArray[np.uint8]
Block = memoryview

#: The number of bytes read at a time.
BLOCK_SIZE = 4 << 20
# A longer row is taken for an unclosed quote.
_MAX_ROW_SIZE = 64 << 20
_QUOTE, _COMMA, _NEWLINE, _RETURN = (ord(letter) for letter in '",\n\r')
_ALL_ROWS = 1 << 62


def first_block(file: Path) -> tuple[Block, int, int]:
    """Read the first block, header included: return it, its number of lines, and the size of the file."""
    try:
        with file.open("rb") as opened:
            size = opened.seek(0, io.SEEK_END)
            opened.seek(0)
            block, n_lines = _next_block(opened, size, str(file), 0)
    except OSError as error:
        raise _unreadable(str(file), error) from None
    return block, n_lines, size


def read_blocks(file: str, start: int, end: int, first_row: int) -> Iterator[tuple[int, Block, int]]:
    """Yield the rows between two byte offsets in blocks: the offset, the bytes and the number of rows of each."""
    row = first_row
    try:
        with Path(file).open("rb") as opened:
            while start < end:
                opened.seek(start)
                block, n_rows = _next_block(opened, end - start, file, row)
                yield start, block, n_rows
                start, row = start + len(block), row + n_rows
    except OSError as error:
        raise _unreadable(file, error) from None


def prefix_of_rows(block: Block, n_rows: int = _ALL_ROWS) -> int:
    """Return the number of bytes that the first whole rows of a block take, at most `n_rows` of them."""
    return int(_scan(_as_bytes(block), n_rows)[0])


def _next_block(file: BinaryIO, left: int, name: str, row: int) -> tuple[Block, int]:
    """Read a block and cut it after its last whole row; the last row of a file needs no newline."""
    read = b""
    while True:
        read += file.read(min(BLOCK_SIZE, left - len(read)))
        end, n_rows = _scan(_as_bytes(read), _ALL_ROWS)
        if len(read) >= left or not read:
            return memoryview(read), n_rows + (end < len(read) and bool(read[end:].strip()))
        if end:
            return memoryview(read)[:end], n_rows
        if len(read) > _MAX_ROW_SIZE:
            raise LogError(f"{name}, row {row + 1:,}: row has no end; check for an unclosed quote")


def _unreadable(file: str, error: OSError) -> LogError:
    return LogError(f"{file}: cannot be read ({error.strerror})")


def _as_bytes(block: bytes | Block) -> Bytes:
    return np.frombuffer(block, np.uint8)


@kernel()
def _scan(block: Bytes, max_rows: int) -> tuple[int, int]:
    """Scan at most `max_rows` rows: return where the last whole row ends, and how many there are.

    Empty lines are not rows. A quote opens a quoted cell only at the start of a cell; two quotes within quotes are
    an escaped one.
    """
    end, n_rows, i = 0, 0, 0
    in_quotes, at_cell_start = False, True
    while i < block.size and n_rows < max_rows:
        letter = block[i]
        if in_quotes:
            if letter == _QUOTE:
                if i + 1 < block.size and block[i + 1] == _QUOTE:
                    i += 1
                else:
                    in_quotes = False
        elif letter == _NEWLINE:
            n_rows += i > end and not (i == end + 1 and block[end] == _RETURN)
            end = i + 1
            at_cell_start = True
        else:
            in_quotes = at_cell_start and letter == _QUOTE
            at_cell_start = letter == _COMMA
        i += 1
    return end, n_rows
