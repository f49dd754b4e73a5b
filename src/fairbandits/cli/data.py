"""`fairbandits data`: verify and download the datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairbandits import worlds
from fairbandits.cli.console import echo
from fairbandits.worlds import DataError, DataMissingError
from fairbandits.worlds.datasets.published import DATASETS


def data(
    folder: Annotated[Path | None, typer.Option("--data", help="A folder that contains the data.")] = None,
    fetch: Annotated[bool, typer.Option("--fetch", help="Download missing datasets into the cache.")] = False,
) -> None:
    """Show which datasets are on this machine, verify them, and download the missing ones."""
    if folder is not None and not folder.is_dir():
        raise DataError(f"--data must be an existing folder, got {folder}")
    failures = _fetch_missing(folder) if fetch else []
    statuses = worlds.dataset_status(folder)
    for status in statuses:
        rows = f", {status.rows:,} rows, sha256 as published" if status.state == "ok" else ""
        echo(f"{status.title} ({status.name}): {status.state}{rows}\n  {status.where}")
    damaged = [status.where for status in statuses if status.state == "damaged"]
    if damaged:
        raise DataError(damaged[0])
    if failures:
        raise DataError(failures[0])
    if any(status.state == "missing" for status in statuses):
        echo("Download missing datasets with: fairbandits data --fetch.")
        echo("Until then, students and videos are stand-in data, and worlds of other datasets are not available.")


def _fetch_missing(folder: Path | None) -> list[str]:
    """Download the missing datasets that can be downloaded; return the errors of failed downloads."""
    failures = []
    for status in worlds.dataset_status(folder):
        if status.state == "missing" and DATASETS[status.name].downloads:
            try:
                echo(f"downloaded: {worlds.fetch_dataset(status.name)}")
            # If one source is unreachable, the others may still be available.
            except DataMissingError as error:
                failures.append(str(error))
    return failures
