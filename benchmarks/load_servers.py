"""The servers of the load test: the service, two empty endpoints, and one with a canned response.

python benchmarks/load_servers.py empty     # prints its address
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, cast

import uvicorn
import uvloop
from fastapi import FastAPI, Request, Response

from fairbandits.service import server
from fairbandits.service.auth.key_store import save_key
from fairbandits.service.auth.keys import make_key
from fairbandits.service.config import Config
from fairbandits.service.demo import demo_config
from fairbandits.service.http.app import create_app
from fairbandits.service.log.store import open_store
from fairbandits.service.workers import WorkerProcesses

_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
_TICKS = os.sysconf("SC_CLK_TCK")


class Process:
    """A server in a process of its own.

    Parameters
    ----------
    command : list of str
        The command, whose first line of output ends with its address.
    folder : path
        The folder to run it in.
    """

    def __init__(self, command: list[str], folder: Path) -> None:
        environment = os.environ | {"PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, *command], cwd=folder, stdout=subprocess.PIPE, text=True, env=environment
        )
        assert self._process.stdout is not None  # noqa: S101
        line = self._process.stdout.readline()
        if not line.startswith("listening on "):
            raise RuntimeError(f"{command}: did not start")
        self.host, _, port = line.split()[-1].removeprefix("http://").rpartition(":")
        self.port = int(port)

    @property
    def cpu(self) -> float:
        """The processor seconds that the server and its workers have used."""
        return processor_seconds(self._process.pid)

    def stop(self) -> None:
        """Stop the server."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(20)
        finally:
            self._process.kill()
            self._process.communicate()


def processor_seconds(root: int) -> float:
    """Return the processor seconds that a process and all that it started, and that still run, have used."""
    parents, used = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has just ended
            fields = path.read_text().rpartition(")")[2].split()
            process = int(path.parent.name)
            parents[process], used[process] = int(fields[1]), (int(fields[11]) + int(fields[12])) / _TICKS
    family = {root}
    while more := {process for process, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(used.get(process, 0.0) for process in family)


def ours(
    folder: Path,
    arms: int,
    url: str,
    workers: int = 1,
    scopes: Sequence[str] = ("decide", "reward"),
    **store_settings: Any,
) -> tuple[Process, str]:
    """Start the service with the users of the demo and this many arms, in a new store; return a key as well."""
    key, token = make_key("load", scopes, time.time())
    settings = {"url": url, **store_settings}
    with open_store(service_config(arms, settings)) as store:
        save_key(store, key)
    given = json.dumps({"arms": arms, "store": settings, "workers": workers})
    return Process([__file__, "ours", given], folder), token


def empty(folder: Path) -> Process:
    """Start an application of the same stack with an empty endpoint."""
    return Process([__file__, "empty"], folder)


def plain(folder: Path) -> Process:
    """Start the application with the empty endpoint in uvicorn as it comes, without the service's protocol."""
    return Process([__file__, "plain"], folder)


def canned(folder: Path) -> Process:
    """Start a server that responds without reading, which shows how much the client can send."""
    return Process([__file__, "canned"], folder)


def service_config(arms: int, store: dict[str, Any]) -> Config:
    """Return the configuration of a service with the users of the demo and this many arms."""
    few = demo_config().arms
    many = [few[n % len(few)] | {"arm": f"{few[n % len(few)]['arm']}-{n}"} for n in range(arms)]
    limits = {"rate": 1e9, "burst": 1e9}
    return demo_config(arms=many, limits=limits, store=store, server={"port": 0})


def _serve_ours(arms: int, store: dict[str, Any], workers: int) -> None:
    listening = server.listen(service_config(arms, store))
    if workers == 1:
        _work(arms, store, listening, lambda: None)
    else:
        WorkerProcesses(workers, partial(_work, arms, store, listening)).run()


def _work(arms: int, store: dict[str, Any], listening: socket.socket, on_start: Callable[[], None]) -> None:
    config = service_config(arms, store)
    on_start()
    server.run(create_app(config), config, listening)


def _serve_empty() -> None:
    config = demo_config(server={"port": 0})
    server.run(_empty_app(), config, server.listen(config))


def _serve_plain() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    print(f"listening on http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    config = uvicorn.Config(_empty_app(), access_log=False, log_level="warning")
    uvicorn.Server(config).run(sockets=[listening])


def _empty_app() -> FastAPI:
    app = FastAPI()

    @app.post("/empty")
    async def empty(request: Request) -> Response:
        return Response(b"{}", media_type="application/json")

    return app


class _Canned(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._transport.write(_ANSWER)


async def _serve_canned() -> None:
    server = await asyncio.get_running_loop().create_server(_Canned, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    print(f"listening on http://{host}:{port}", flush=True)
    await server.serve_forever()


def main(kind: str, *rest: str) -> None:
    """Run one of the servers."""
    if kind == "ours":
        given: dict[str, Any] = json.loads(rest[0])
        _serve_ours(**given)
    elif kind == "empty":
        _serve_empty()
    elif kind == "plain":
        _serve_plain()
    else:
        uvloop.run(_serve_canned())


if __name__ == "__main__":
    main(*sys.argv[1:])
