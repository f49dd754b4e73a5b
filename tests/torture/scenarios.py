"""The scenarios: each attacks a server for a while, and says what must hold meanwhile."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

import psycopg

from tests.service.log.test_hung_database import locked_tables, no_server, stopped_backends, stopped_server
from tests.torture.target import Target

#: Seconds of a stall of `/health` that are too many.
STALL = 1.0
_KINDS = ("SQLite", "PostgreSQL")


@dataclass(frozen=True)
class Scenario:
    """An attack.

    Attributes
    ----------
    name : str
        Its name in the table.
    attack : callable
        A context manager of the target, PostgreSQL and the number of seconds that the attack takes.
    kinds : tuple of str
        The databases that it is for.
    workers : tuple of int
        The numbers of workers that it is for.
    stops_writing : bool
        Whether the log cannot be written meanwhile, so that readiness must be false.
    kills : bool
        Whether servers are killed, so that clients and watchers lose their connections.
    """

    name: str
    attack: Callable[..., Any]
    kinds: tuple[str, ...] = _KINDS
    workers: tuple[int, ...] = (1, 2)
    stops_writing: bool = False
    kills: bool = False


# -- kills ---------------------------------------------------------------------------------------------


@contextmanager
def server_killed(target: Target, _: Any, seconds: float) -> Iterator[None]:
    """The server is killed at random moments, and started again."""
    when = random.Random(18)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        target.wait_for_more(when.randrange(5, 150))
        target.server.kill()
        for client in target.clients:
            client.join()
        target.start()
    yield


@contextmanager
def worker_killed(target: Target, _: Any, seconds: float) -> Iterator[None]:
    """One worker is killed; the others go on, and another one takes its place."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pids = target.pids()
        workers = [pid for pid in pids[1:] if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        os.kill(workers[0], signal.SIGKILL)
        time.sleep(0.5)
        target.server.wait()
        _again(target)
        target.wait_for_more()
    yield


def _again(target: Target) -> None:
    """Start the clients again whose connections have broken."""
    for client in target.clients:
        if not client.is_alive():
            client.follow(target.server.url)


# -- the database --------------------------------------------------------------------------------------


def _from_fault(fault: Callable[..., Any]) -> Callable[..., Any]:
    """Return the attack that a fault of `test_hung_database.py` is."""

    @contextmanager
    def attack(target: Target, postgres: Any, _: float) -> Iterator[None]:
        with fault(target.url, postgres):
            yield

    return attack


@contextmanager
def database_killed(_: Target, postgres: Any, __: float) -> Iterator[None]:
    """PostgreSQL ends at once, as in a crash, and recovers when it starts again."""
    postgres.stop(mode="immediate")
    try:
        yield
    finally:
        postgres.start()


@contextmanager
def database_restarted(target: Target, postgres: Any, seconds: float) -> Iterator[None]:
    """PostgreSQL is restarted while clients write."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        postgres.stop()
        postgres.start()
        target.wait_for_more()
    yield


@contextmanager
def database_read_only(target: Target, _: Any, __: float) -> Iterator[None]:
    """Transactions may not write any more."""
    with psycopg.connect(target.url, autocommit=True) as connection:
        [database] = connection.execute("SELECT current_database()").fetchone()
        setting = f'ALTER DATABASE "{database}" SET default_transaction_read_only'
        others = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        connection.execute(f"{setting} = on")
        connection.execute(others)
        try:
            yield
        finally:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(f"{setting} = off")
            connection.execute(others)


@contextmanager
def file_locked(target: Target, *_: Any) -> Iterator[None]:
    """Another process holds the lock of the SQLite file."""
    with sqlite3.connect(_path(target), isolation_level=None) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")
    connection.close()


@contextmanager
def disk_full(target: Target, *_: Any) -> Iterator[None]:
    """No file of the server may grow, as on a full disk."""
    before = {pid: resource.prlimit(pid, resource.RLIMIT_FSIZE) for pid in target.pids()}
    for pid, (_soft, hard) in before.items():
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (100, hard))
    try:
        yield
    finally:
        for pid, limits in before.items():
            resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)


@contextmanager
def file_replaced(target: Target, *_: Any) -> Iterator[None]:
    """A copy takes the place of the SQLite file; later, the file comes back."""
    path = _path(target)
    aside, copy = path.with_name("aside.db"), path.with_name("copy.db")
    shutil.copy(path, copy)
    os.link(path, aside)
    os.replace(copy, path)
    try:
        yield
    finally:
        os.replace(aside, path)


@contextmanager
def file_removed(target: Target, *_: Any) -> Iterator[None]:
    """The SQLite file is moved away; later, it comes back."""
    path = _path(target)
    aside = path.with_name("aside.db")
    path.rename(aside)
    try:
        yield
    finally:
        aside.rename(path)


def _path(target: Target) -> Path:
    return Path(target.url.removeprefix("sqlite:///"))


# -- floods --------------------------------------------------------------------------------------------


@contextmanager
def half_requests(target: Target, _: Any, seconds: float) -> Iterator[None]:
    """Connections that send half a request, and more of them as they are closed."""
    host, _, port = target.server.url.removeprefix("http://").rpartition(":")
    until = time.monotonic() + seconds
    with ExitStack() as stack:
        for _number in range(300):
            with suppress(OSError):
                connection = stack.enter_context(socket.create_connection((host, int(port)), timeout=5))
                connection.sendall(b"POST /v1/decisions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le")
        while time.monotonic() < until:
            target.wait_for_more(5)
        yield


def _flood(*requests: tuple[str, bytes | None, dict[str, str]]) -> Callable[..., Any]:
    """Return the attack of eight clients that send requests one after the other."""

    @contextmanager
    def attack(target: Target, _: Any, seconds: float) -> Iterator[None]:
        until = time.monotonic() + seconds

        def send() -> None:
            number = 0
            while time.monotonic() < until:
                path, body, headers = requests[number % len(requests)]
                with suppress(OSError, HTTPException):  # refused, or cut off
                    target.ask(path, body, **headers)
                number += 1

        threads = [threading.Thread(target=send) for _ in range(8)]
        for thread in threads:
            thread.start()
        before = target.acknowledged
        for thread in threads:
            thread.join()
        assert target.acknowledged > before, "decisions go on during a flood"
        yield

    return attack


_WRONG_KEY = {"Authorization": "Bearer fb_0123456789abcdef_0123456789abcdef0123456789abcdef"}
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}
wrong_keys = _flood(("/v1/arms", None, _WRONG_KEY))
logins = _flood(("/login", b"key=fb_wrong_key", _FORM))
readers = _flood(("/v1/fairness", None, {}), ("/metrics", None, {}))


@contextmanager
def large_costs(target: Target, *_: Any) -> Iterator[None]:
    """Ten requests whose cost is that of many: a full batch of users, each of whom wants all arms as a slate."""
    user = {"features": target.students.request(0)["features"], "k": 100}
    body = json.dumps({"decisions": [user] * 200}).encode()

    def send() -> None:
        with suppress(OSError, HTTPException):
            target.ask("/v1/decisions/batch", body, 120.0, **{"Content-Type": "application/json"})

    threads = [threading.Thread(target=send) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    yield


_SQLITE, _POSTGRES = _KINDS[:1], _KINDS[1:]
SCENARIOS = (
    Scenario("server killed", server_killed, kills=True),
    Scenario("worker killed", worker_killed, workers=(2,), kills=True),
    Scenario("database hung: locked", _from_fault(locked_tables), _POSTGRES, stops_writing=True),
    Scenario("database hung: stopped", _from_fault(stopped_server), _POSTGRES, stops_writing=True),
    Scenario("connections hung", _from_fault(stopped_backends), _POSTGRES),
    Scenario("database gone", _from_fault(no_server), _POSTGRES, stops_writing=True),
    Scenario("database killed", database_killed, _POSTGRES, stops_writing=True),
    Scenario("database restarted", database_restarted, _POSTGRES),
    Scenario("database read-only", database_read_only, _POSTGRES, stops_writing=True),
    Scenario("file locked", file_locked, _SQLITE, stops_writing=True),
    Scenario("disk full", disk_full, _SQLITE, stops_writing=True),
    Scenario("file replaced", file_replaced, _SQLITE, stops_writing=True),
    Scenario("file removed", file_removed, _SQLITE, stops_writing=True),
    Scenario("half-sent requests", half_requests),
    Scenario("wrong keys", wrong_keys),
    Scenario("logins", logins),
    Scenario("readers of findings", readers),
    Scenario("large costs", large_costs),
)
