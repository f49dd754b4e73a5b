"""`fairbandits sample`: write a synthetic log to experiment with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairbandits.cli.console import echo
from fairbandits.logs.sample import ROLES, sample_arms, sample_log
from fairbandits.logs.writing import write_log


def sample(
    out: Annotated[Path, typer.Argument(help="The .parquet or .csv file to write.", show_default=False)],
    rows: Annotated[int, typer.Option(help="The number of decisions.")] = 20_000,
    seed: Annotated[int, typer.Option(help="The random seed.")] = 0,
    catalogue: Annotated[
        Path | None, typer.Option(help="A .parquet or .csv file to write the features of the arms to.")
    ] = None,
) -> None:
    """Write a synthetic log in which one group receives less reward, for known reasons."""
    written = write_log(out, sample_log(rows, seed), ROLES)
    echo(f"written: {out}, {written:,} decisions, {out.stat().st_size:,} bytes")
    if catalogue is not None:
        write_log(catalogue, sample_arms())
        echo(f"written: {catalogue}, the features of the arms")
