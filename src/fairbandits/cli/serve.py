"""`fairbandits serve`: the recommender as a service."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from fairbandits.cli.console import echo

_EXTRA = ("pydantic", "fastapi", "uvicorn", "sqlalchemy", "alembic", "prometheus_client")


def serve(
    config: Annotated[Path | None, typer.Argument(help="The configuration; left out, that of the demo.")] = None,
    host: Annotated[str | None, typer.Option(help="Listen here rather than where the configuration says.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Listen on this port; 0 for any that is free.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="How many processes serve, all from one log.")] = 1,
    demo: Annotated[
        bool, typer.Option("--demo", help="Send simulated students, so that the page is alive at once.")
    ] = False,
    example: Annotated[bool, typer.Option("--example", help="Print a configuration with comments.")] = False,
) -> None:
    """Serve recommendations over HTTP, and a page that shows who is left behind."""
    need_service()
    from fairbandits.service import config as configs  # noqa: PLC0415 - needs an extra
    from fairbandits.service import server  # noqa: PLC0415

    if example:
        echo(configs.example())
        return
    server.serve(config, host, port, workers, demo)


def need_service() -> None:
    """Say what to install where the extra is not there."""
    missing = [name for name in _EXTRA if find_spec(name) is None]
    if missing:
        raise ImportError(f"the service needs {', '.join(missing)}: pip install 'fairbandits[service]'")
