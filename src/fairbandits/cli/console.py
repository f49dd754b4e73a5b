"""The output of the commands, and the folders to which they write."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich import box
from rich.console import Console
from rich.table import Column, Table

# The width of tables in files and pipes, where there is no terminal.
_FILE_WIDTH = 120


def echo(text: str) -> None:
    """Print a line."""
    typer.echo(text)


@contextmanager
def tolerate_closed_pipe() -> Iterator[None]:
    """Discard the output once its reader has closed the pipe, as in `| head -1`.

    The command continues, so that it writes its files and returns its usual exit status.
    """
    stdout = sys.stdout
    sys.stdout = _PipeStream(stdout)  # it implements everything that printing needs
    try:
        yield
    finally:
        sys.stdout.flush()  # Python would otherwise flush at exit, when errors can no longer be handled
        sys.stdout = stdout


class _PipeStream:
    """A stream whose reader may close it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            self._stream.write(text)
        except BrokenPipeError:
            self._discard()
        return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._discard()

    def _discard(self) -> None:
        """Redirect the stream, including its buffer, to the null device."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)


def new_table(*titles: str) -> Table:
    """Return an empty table with the given column titles."""
    # Tables have no frame, so that they fit into eighty columns.
    columns = (Column(title, overflow="fold") for title in titles)
    return Table(*columns, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)


def print_table(table: Table) -> None:
    """Print a table; names in the table are printed literally."""
    console = Console(highlight=False, emoji=False, markup=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _FILE_WIDTH
    console.print(table)


def make_folder(folder: Path) -> None:
    """Create the output folder; commands call this before any long computation."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"--out must be a folder, got {folder} ({error.strerror})") from None
