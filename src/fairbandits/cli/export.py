"""`fairbandits export`: export the log of a service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairbandits.cli.console import echo
from fairbandits.cli.serve import require_service_extra


def export(
    out: Annotated[Path, typer.Argument(help="File to write: .parquet or .csv.")],
    config: Annotated[
        Path | None, typer.Argument(help="Configuration of the service; the demo's without one.")
    ] = None,
) -> None:
    """Export the log of a service to a file that audit, evaluate and fit read."""
    require_service_extra()
    from fairbandits.service.demo import load_config_or_demo  # noqa: PLC0415 - needs an extra
    from fairbandits.service.export import export as write  # noqa: PLC0415

    n_rows = write(load_config_or_demo(config), out)
    echo(f"{out}: {n_rows:,} row(s)")
