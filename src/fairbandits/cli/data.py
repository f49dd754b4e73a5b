"""`fairbandits data`: which datasets are here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairbandits import worlds
from fairbandits.cli.console import say
from fairbandits.worlds import DataError


def data(
    folder: Annotated[Path | None, typer.Option("--data", help="A folder that holds the data.")] = None,
    fetch: Annotated[bool, typer.Option("--fetch", help="Download what is missing into the cache.")] = False,
) -> None:
    """Say which datasets are on this machine, verify them, and fetch those that are not."""
    if folder is not None and not folder.is_dir():
        raise DataError(f"{folder}: the folder is not there")
    if fetch:
        for record in worlds.status(folder):
            if record.state == "missing":
                say(f"fetched: {worlds.fetch(record.name)}")
    records = worlds.status(folder)
    for record in records:
        rows = f", {record.rows:,} rows, sha256 as published" if record.state == "ok" else ""
        say(f"{record.title} ({record.name}): {record.state}{rows}\n  {record.where}")
    damaged = [record.where for record in records if record.state == "damaged"]
    if damaged:
        raise DataError(damaged[0])
    if any(record.state == "missing" for record in records):
        say("What is missing: fairbandits data --fetch. Until then, a stand-in serves.")
