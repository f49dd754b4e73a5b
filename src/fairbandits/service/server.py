"""The process that serves: a socket, and uvicorn in one process or in several."""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI

from fairbandits.service.auth.key_store import read_keys
from fairbandits.service.config import Config
from fairbandits.service.demo import read_config
from fairbandits.service.http.app import CONFIG_VARIABLE, DEMO_VARIABLE, create_app
from fairbandits.service.http.loopback import is_loopback
from fairbandits.service.http.protocol import Protocol
from fairbandits.service.log.opening import opened

_BACKLOG = 2048


def serve(
    path: Path | None, host: str | None = None, port: int | None = None, workers: int = 1, demo: bool = False
) -> None:
    """Serve until told to stop.

    Parameters
    ----------
    path : path or None
        The configuration; None for that of the demo.
    host, port : optional
        Where to listen, rather than where the configuration says.
    workers : int
        How many processes serve.
    demo : bool
        Whether simulated students come, which only those of the demo can.
    """
    if demo and path is not None:
        raise ValueError("--demo sends students to the demo's own catalogue; leave out the configuration")
    config = read_config(path)
    _refuse_to_start(config, host or config.server.host)
    listening = listen(config, host, port)
    if workers == 1:
        run(create_app(config, demo), config, listening)
        return
    # Both are set in any case: the workers serve what was checked here, whatever the environment said before.
    os.environ[CONFIG_VARIABLE] = "" if path is None else str(path.resolve())
    os.environ[DEMO_VARIABLE] = "1" if demo else ""
    uvicorn.run(
        "fairbandits.service.http.app:app_from_environment",
        factory=True,
        workers=workers,
        fd=listening.fileno(),
        **_options(config),
    )


def run(app: FastAPI, config: Config, listening: socket.socket) -> None:
    """Serve an application in this process."""
    with suppress(KeyboardInterrupt):  # which is how people end it
        uvicorn.Server(uvicorn.Config(app, **_options(config))).run(sockets=[listening])


def _options(config: Config) -> dict[str, Any]:
    proxies = [str(network) for network in config.server.proxies]
    return {
        "log_level": "warning",
        "access_log": False,
        # Who listens to a stream for ever does not keep a server from stopping.
        "timeout_graceful_shutdown": 5,
        "server_header": False,
        "http": Protocol,
        "ws": "none",
        "proxy_headers": bool(proxies),
        "forwarded_allow_ips": proxies,
    }


def _refuse_to_start(config: Config, host: str) -> None:
    """Refuse a store that cannot be used, before every worker does; and the network where nobody needs a key."""
    with opened(config) as store:
        keys = read_keys(store)
    if not is_loopback(host) and not any(key.parent is None and key.is_live(time.time()) for key in keys):
        raise ValueError(
            f"{host} can be reached from other machines, and there is no key yet: make one with `fairbandits keys "
            "create --scope decide,reward --name NAME` (and --config FILE if there is one), or listen on 127.0.0.1"
        )


def listen(config: Config, host: str | None = None, port: int | None = None) -> socket.socket:
    """Open the socket, and say where it is."""
    address = (host or config.server.host, config.server.port if port is None else port)
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    listening = socket.create_server(address, family=family, backlog=_BACKLOG, reuse_port=False)
    shown, number = listening.getsockname()[:2]
    print(f"listening on http://{shown}:{number}", flush=True)  # noqa: T201
    return listening
