"""`fairbandits serve`: run the service."""

from __future__ import annotations

from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from fairbandits.cli.console import echo
from fairbandits.extras import install_hint


class LogFormat(StrEnum):
    """The format of log lines."""

    TEXT = "text"
    JSON = "json"


_EXTRA = ("pydantic", "fastapi", "uvicorn", "sqlalchemy", "alembic", "prometheus_client")


def serve(
    config: Annotated[
        Path | None,
        typer.Argument(help="Configuration, or a file written by `fit` (default: the demo)."),
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on, instead of the configured one.")] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, help="Port to listen on, instead of the configured one; 0 for any free one."
        ),
    ] = None,
    uds: Annotated[
        Path | None, typer.Option(help="Unix socket to listen on, instead of an address and a port.")
    ] = None,
    insecure: Annotated[
        bool,
        typer.Option(
            "--insecure", help="While there are no keys, allow all requests from anywhere, even through proxies."
        ),
    ] = False,
    log_format: Annotated[LogFormat | None, typer.Option(help="Format of log lines.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Number of worker processes; all use the same log.")] = 1,
    demo: Annotated[bool, typer.Option("--demo", help="Serve the demo with simulated students.")] = False,
    example: Annotated[bool, typer.Option("--example", help="Print a commented example configuration.")] = False,
) -> None:
    """Serve recommendations over HTTP, with a page that compares the rewards of groups."""
    require_service_extra()
    from fairbandits.service import server  # noqa: PLC0415 - needs an extra
    from fairbandits.service.config import example_config  # noqa: PLC0415

    if example:
        echo(example_config())
        return
    given = {"host": host, "port": port, "socket": uds, "insecure": insecure or None, "log_format": log_format}
    server.serve(config, {name: value for name, value in given.items() if value is not None}, workers, demo)


def require_service_extra() -> None:
    """Raise ImportError if a package that the service needs is not installed."""
    missing = [name for name in _EXTRA if find_spec(name) is None]
    if missing:
        raise ImportError(f"the service needs {', '.join(missing)}; {install_hint('service')}")
