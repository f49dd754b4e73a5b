"""The process that serves: a socket, and uvicorn in one process or in several."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import uvicorn

from fairbandits.service.api import create_app
from fairbandits.service.api.app import CONFIG_VARIABLE
from fairbandits.service.config import Config, load_config
from fairbandits.service.demo import demo_config

_BACKLOG = 2048
# No line for each request; and who listens to a stream for ever does not keep a server from stopping.
_HOW: dict[str, Any] = {"log_level": "warning", "timeout_graceful_shutdown": 5}


def serve(path: Path | None, host: str | None = None, port: int | None = None, workers: int = 1) -> None:
    """Serve until told to stop.

    Parameters
    ----------
    path : path or None
        The configuration; None for that of the demo.
    host, port : optional
        Where to listen, rather than where the configuration says.
    workers : int
        How many processes serve.
    """
    config = read_config(path)
    listening = _listen(config, host, port)
    if workers == 1:
        uvicorn.Server(uvicorn.Config(create_app(config), **_HOW)).run(sockets=[listening])
        return
    if path is not None:
        os.environ[CONFIG_VARIABLE] = str(path.resolve())
    uvicorn.run(
        "fairbandits.service.api:app_from_environment",
        factory=True,
        workers=workers,
        fd=listening.fileno(),
        **_HOW,
    )


def read_config(path: Path | None) -> Config:
    """Read a configuration; without a path, give that of the demo."""
    return demo_config() if path is None else load_config(path)


def _listen(config: Config, host: str | None, port: int | None) -> socket.socket:
    address = (host or config.server.host, config.server.port if port is None else port)
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    listening = socket.create_server(address, family=family, backlog=_BACKLOG, reuse_port=False)
    shown, number = listening.getsockname()[:2]
    print(f"listening on http://{shown}:{number}", flush=True)  # noqa: T201
    return listening
