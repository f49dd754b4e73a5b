"""Kills, and faults of the database: context managers of a target, PostgreSQL and the seconds that they take."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from tests.torture.target import Target

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


def from_fault(fault: Callable[..., Any]) -> Callable[..., Any]:
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
