"""Output of the commands, and the folders they write to."""

from __future__ import annotations

from pathlib import Path

import typer
from rich import box
from rich.console import Console
from rich.table import Column, Table


def echo(text: str) -> None:
    """Print a line."""
    typer.echo(text)


def new_table(*titles: str) -> Table:
    """Return an empty table with the given column titles."""
    # Without a frame, tables fit into eighty columns.
    columns = (Column(title, overflow="fold") for title in titles)
    return Table(*columns, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)


def print_table(table: Table) -> None:
    """Print a table; names in it are printed literally."""
    Console(highlight=False, emoji=False, markup=False).print(table)


def make_folder(folder: Path) -> None:
    """Create the output folder; commands call this before any long computation."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"--out must be a folder, got {folder} ({error.strerror})") from None
