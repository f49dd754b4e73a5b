"""`fairbandits serve`: the recommender as a service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairbandits.cli.say import say

#: What is missing, and how to get it.
NEEDS = "the service needs {name}: pip install 'fairbandits[service]'"


def serve(
    config: Annotated[Path | None, typer.Argument(help="The configuration; left out, that of the demo.")] = None,
    host: Annotated[str | None, typer.Option(help="Listen here rather than where the configuration says.")] = None,
    port: Annotated[int | None, typer.Option(help="Listen on this port; 0 for any that is free.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="How many processes serve, all from one log.")] = 1,
    example: Annotated[
        bool, typer.Option("--example", help="Print a configuration with comments, and end.")
    ] = False,
) -> None:
    """Serve recommendations over HTTP, and a page that shows who is left behind."""
    try:
        from fairbandits.service import config as configs  # noqa: PLC0415 - needs an extra
        from fairbandits.service import server  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ImportError(NEEDS.format(name=error.name)) from None
    if example:
        say(configs.example())
        return
    server.serve(config, host, port, workers)
