"""`fairbandits export`: the log of a service, for audits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairbandits.cli.console import echo
from fairbandits.cli.serve import need_service


def export(
    out: Annotated[Path, typer.Argument(help="The file to write: .parquet or .csv.")],
    config: Annotated[Path | None, typer.Argument(help="The configuration; left out, that of the demo.")] = None,
) -> None:
    """Write the log of a service to a file that audit, judge and fit read."""
    need_service()
    from fairbandits.service.demo import read_config  # noqa: PLC0415 - needs an extra
    from fairbandits.service.export import export as write  # noqa: PLC0415

    n_rows = write(read_config(config), out)
    echo(f"{out}: {n_rows:,} row(s)")
