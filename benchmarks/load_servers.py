"""The servers that are measured: ours, an empty endpoint of the same stack, one that shows what the client can do.

python benchmarks/load_servers.py empty     # prints where it listens
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, cast

import uvloop
from fastapi import FastAPI, Request, Response

from fairbandits.service import server
from fairbandits.service.auth.key_store import save_key
from fairbandits.service.auth.keys import make_key
from fairbandits.service.config import Config
from fairbandits.service.demo import demo_config
from fairbandits.service.http.app import create_app
from fairbandits.service.log.store import open_store

_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
_TICKS = os.sysconf("SC_CLK_TCK")


class Process:
    """A server in a process of its own.

    Parameters
    ----------
    command : list of str
        What to run; its first line says where it listens.
    folder : path
        Where to run it.
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
        """The seconds of processor time that it has taken."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def stop(self) -> None:
        """End it."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(20)
        finally:
            self._process.kill()
            self._process.communicate()


def ours(folder: Path, arms: int, url: str) -> tuple[Process, str]:
    """Start our service with the demo's users and as many arms, in a store of its own; give a key as well."""
    key, token = make_key("load", ["decide", "reward"], time.time())
    with open_store(_config(arms, url)) as store:
        save_key(store, key)
    return Process([__file__, "ours", json.dumps({"arms": arms, "url": url})], folder), token


def empty(folder: Path) -> Process:
    """Start an application of the same stack with an endpoint that does nothing."""
    return Process([__file__, "empty"], folder)


def canned(folder: Path) -> Process:
    """Start what answers without reading: it shows how much the client can send."""
    return Process([__file__, "canned"], folder)


def _config(arms: int, url: str) -> Config:
    few = demo_config().arms
    many = [few[n % len(few)] | {"arm": f"{few[n % len(few)]['arm']}-{n}"} for n in range(arms)]
    limits = {"rate": 1e9, "burst": 1e9}
    return demo_config(arms=many, limits=limits, store={"url": url}, server={"port": 0})


def _serve_ours(arms: int, url: str) -> None:
    config = _config(arms, url)
    server.run(create_app(config), config, server.listen(config))


def _serve_empty() -> None:
    app = FastAPI()

    @app.post("/empty")
    async def empty(request: Request) -> Response:
        return Response(b"{}", media_type="application/json")

    config = demo_config(server={"port": 0})
    server.run(app, config, server.listen(config))


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
    """Serve."""
    if kind == "ours":
        plain: dict[str, Any] = json.loads(rest[0])
        _serve_ours(**plain)
    elif kind == "empty":
        _serve_empty()
    else:
        uvloop.run(_serve_canned())


if __name__ == "__main__":
    main(*sys.argv[1:])
