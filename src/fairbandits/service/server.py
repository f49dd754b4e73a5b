"""The server process: a socket, and uvicorn in one process or several."""

from __future__ import annotations

import logging
import os
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI

from fairbandits.policies import GreedyPicker
from fairbandits.service.auth.key_store import read_keys
from fairbandits.service.auth.user_secret import read_user_secret
from fairbandits.service.config import Config, ServerConfig
from fairbandits.service.demo import prepare_config_or_demo
from fairbandits.service.http.app import (
    CONFIG_VARIABLE,
    DEMO_VARIABLE,
    METRICS_VARIABLE,
    SERVER_VARIABLE,
    app_from_environment,
    create_app,
)
from fairbandits.service.http.loopback import is_loopback
from fairbandits.service.http.protocol import LimitedProtocol
from fairbandits.service.log.errors import NoLogError
from fairbandits.service.log.store import open_store
from fairbandits.service.log_lines import configure_log_lines
from fairbandits.service.workers import CANNOT_START, STOP_SECONDS, WorkerProcesses

_log = logging.getLogger(__name__)

_BACKLOG = 2048
# The number of seconds for which a stopping server waits for open responses.
_GRACE_SECONDS = 5


def serve(
    path: Path | None, changed: Mapping[str, Any] | None = None, workers: int = 1, demo: bool = False
) -> None:
    """Serve until the process is told to stop.

    Parameters
    ----------
    path : path or None
        The configuration; None for that of the demo.
    changed : mapping, optional
        Settings of the server (`ServerConfig`) to use instead of the configured ones.
    workers : int
        The number of processes.
    demo : bool
        Whether to simulate students, which is possible only with the configuration of the demo.
    """
    if demo and path is not None:
        raise ValueError(
            "--demo must be used without a configuration: its students visit the demo's own catalogue"
        )
    config = prepare_config_or_demo(path)
    config = config.with_server(ServerConfig(**config.server.model_dump() | dict(changed or {})))
    configure_log_lines(config.server.log_format)
    _check_start(config)
    _warn_of_certainty(config)
    listening = listen(config)
    if workers == 1:
        app = create_app(config, demo)
        app.state.engine.open()
        run(app, config, listening)
        return
    # All variables are always set, so that the workers serve the configuration that was checked here, whatever the
    # environment contained before.
    os.environ[CONFIG_VARIABLE] = "" if path is None else str(path.resolve())
    os.environ[DEMO_VARIABLE] = "1" if demo else ""
    os.environ[SERVER_VARIABLE] = config.server.model_dump_json()
    with tempfile.TemporaryDirectory(prefix="fairbandits-") as metrics_folder:
        os.environ[METRICS_VARIABLE] = metrics_folder
        WorkerProcesses(workers, partial(_serve_worker, _options(config), listening)).run()


def run(app: FastAPI, config: Config, listening: socket.socket) -> None:
    """Serve an application in this process."""
    with suppress(KeyboardInterrupt):  # the usual way to stop it
        _PromptServer(uvicorn.Config(app, **_options(config))).run(sockets=[listening])


def _serve_worker(options: dict[str, Any], listening: socket.socket, on_start: Callable[[], None]) -> None:
    """Serve the configuration that the environment names, in a worker process."""
    with suppress(KeyboardInterrupt):
        try:
            app = app_from_environment()
            app.state.engine.open()
        except (ValueError, OSError) as error:
            _log.error("error: %s", " ".join(str(error).split()))
            raise SystemExit(CANNOT_START) from None
        on_start()
        _PromptServer(uvicorn.Config(app, **options)).run(sockets=[listening])


class _PromptServer(uvicorn.Server):
    """A server that ends in time when it is told to stop, even if the database or a client keeps it waiting."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop."""
        if not self.should_exit:
            # Everything that was acknowledged is on disk, so nothing is lost on which a client could rely.
            last_resort = threading.Timer(STOP_SECONDS, _exit_at_once)
            last_resort.daemon = True
            last_resort.start()
        super().handle_exit(sig, frame)


def _exit_at_once() -> None:
    _log.error(
        "the server did not stop within %g s and exits now; everything that was acknowledged is in the log",
        STOP_SECONDS,
    )
    os._exit(1)


def _options(config: Config) -> dict[str, Any]:
    proxies = [str(network) for network in config.server.proxies]
    return {
        "log_level": "warning",
        "log_config": None,  # uvicorn's log lines are formatted and limited like all others
        "access_log": False,
        # An open stream must not keep the server from stopping.
        "timeout_graceful_shutdown": _GRACE_SECONDS,
        "server_header": False,
        "http": LimitedProtocol,
        "ws": "none",
        "proxy_headers": bool(proxies),
        "forwarded_allow_ips": proxies,
    }


def _check_start(config: Config) -> None:
    """Raise ValueError if the secret or the store is unusable, or if the network could use it without a key."""
    if config.users.secret_file is not None:
        read_user_secret(config.users.secret_file)
    host = config.server.host
    if is_loopback(host) or config.server.socket is not None or config.server.insecure:
        _has_key(config, must_exist=False)
    elif not _has_key(config):
        raise ValueError(
            f"host must be a loopback address while there are no keys, got {host}; create a key with "
            "`fairbandits keys create --scope decide,reward --name NAME` (and --config FILE, if there is one), or "
            "use --insecure if nobody else can reach the address"
        )


def _has_key(config: Config, *, must_exist: bool = True) -> bool:
    """Return whether the store has an active key; a store that must exist is not created."""
    try:
        with open_store(config, must_exist=must_exist) as store:
            return any(key.parent is None and key.is_active(time.time()) for key in read_keys(store))
    except NoLogError:
        return False


def _warn_of_certainty(config: Config) -> None:
    """Log a warning if the log could not be used to evaluate other policies."""
    policy = config.make_recommender().policy
    if isinstance(policy.picker, GreedyPicker) and not policy.min_probability:
        _log.warning(
            "%s always picks the arm with the highest score, so all propensities in its log are 1, and no "
            "other policy can be evaluated on it; to change that, set min_probability, as in "
            "%s(min_probability=0.001)",
            *[type(policy).__name__] * 2,
        )


def listen(config: Config) -> socket.socket:
    """Open the socket, and print its address."""
    server = config.server
    if server.socket is not None:
        return _listen_locally(server.socket)
    address = (server.host, server.port)
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    listening = socket.create_server(address, family=family, backlog=_BACKLOG, reuse_port=False)
    # Accepted sockets inherit this option. Without it, a response can wait 40 ms for the acknowledgement of the
    # previous one.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    bound_host, bound_port = listening.getsockname()[:2]
    print(f"listening on http://{bound_host}:{bound_port}", flush=True)  # noqa: T201
    return listening


def _listen_locally(path: Path) -> socket.socket:
    """Open a local socket to which only this user of the machine can connect, and print its path."""
    listening = socket.socket(socket.AF_UNIX)
    try:
        _remove_abandoned_socket(path)
        mask = os.umask(0o177)
        try:
            listening.bind(str(path))
        finally:
            os.umask(mask)
    except OSError as error:
        raise ValueError(f"server.socket must be a path for a new socket, got {path} ({error.strerror})") from None
    listening.listen(_BACKLOG)
    print(f"listening on unix:{path.resolve()}", flush=True)  # noqa: T201
    return listening


def _remove_abandoned_socket(path: Path) -> None:
    """Remove a socket that a server has left behind, but not one on which a server is listening."""
    if not path.exists() or not stat.S_ISSOCK(path.stat().st_mode):
        return
    with socket.socket(socket.AF_UNIX) as talk:
        try:
            talk.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
