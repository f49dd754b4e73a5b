"""What the commands share: how they print, and where they write."""

from __future__ import annotations

from pathlib import Path

import typer
from rich import box
from rich.console import Console
from rich.table import Column, Table


def say(text: str) -> None:
    """Print a line."""
    typer.echo(text)


def table(*heads: str) -> Table:
    """Make a table for the terminal."""
    # Without a frame it fits into eighty columns.
    return Table(
        *(Column(head, overflow="fold") for head in heads), box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False
    )


def console() -> Console:
    """Where tables are printed."""
    return Console(highlight=False, emoji=False, markup=False)


def make_folder(folder: Path) -> None:
    """Make the folder to write to: better now than when all is done."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"--out {folder}: no folder can be made there ({error.strerror}); name another") from None
