"""Real servers: processes of `fairbandits serve`, with SQLite and PostgreSQL."""

import json
import os
import signal
import sqlite3
import ssl
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from fairbandits.service.auth.user_secret import create_user_secret
from fairbandits.service.demo import DemoStudents, demo_config
from tests.commands import Command
from tests.helpers import without_notice
from tests.polling import DEADLINE, wait_until

# The servers do not use TLS. By default every client reads all certificates, which takes longer than most tests.
_NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class Server:
    """A server process in a folder of its own.

    Parameters
    ----------
    folder : path
        The folder of its configuration and, with SQLite, its log.
    arguments : sequence of str
        The arguments of `fairbandits serve`.
    """

    def __init__(self, folder, *arguments):
        self.folder = Path(folder)
        self.arguments = arguments
        self.process = None
        self.url = None

    def start(self):
        """Start the server, and wait until it listens."""
        self.log = (self.folder / "server.log").open("a")
        read, write = map(os.fdopen, os.pipe(), "rw")
        with write:
            self.process = Command(["serve", *self.arguments, "--port", "0"], self.folder, write, self.log)
        self.stdout = read
        line = read.readline()  # empty if it has ended
        assert line.startswith("listening on "), line + self.said()
        self.url = line.split()[-1]
        return self

    def wait(self):
        """Wait until the server is ready."""
        wait_until(self._is_ready, self.said)
        return self

    def _is_ready(self):
        try:
            with self.client() as client:
                return client.get("/ready").status_code == 200
        except httpx.TransportError:
            assert self.process.poll() is None, self.said()
            return False

    def client(self, **options):
        """A client of the server."""
        return httpx.Client(base_url=self.url, timeout=DEADLINE, verify=_NO_CERTIFICATES, **options)

    def last_entry(self):
        """The last entry of the log in SQLite; metrics may be a second old when the machine is busy."""
        with closing(sqlite3.connect(self.folder / "fairbandits.db")) as database:
            return database.execute("SELECT max(seq) FROM events").fetchone()[0] or 0

    def kill(self):
        """Kill the server, as a power cut does."""
        self.process.send_signal(signal.SIGKILL)
        self._reap()

    def stop(self):
        """Ask the server to stop, unless it has ended."""
        if self.process is not None and not self.log.closed:
            self.process.send_signal(signal.SIGTERM)
            self._reap()

    def said(self):
        """What the server has written to its log, but for the warning about deterministic policies."""
        lines = without_notice((self.folder / "server.log").read_text()).splitlines(keepends=True)
        return "".join(line for line in lines if "no other policy can be evaluated" not in line)

    def _reap(self):
        try:
            self.process.wait(DEADLINE)
        finally:
            if self.process.poll() is None:
                self.process.kill()
            self.stdout.close()
            self.log.close()


def write_config(folder, **changed):
    """Write the configuration of the demo, with changes, to a folder; return its path."""
    plain = demo_config(**changed).model_dump(mode="json", exclude_none=True)
    return write_toml(Path(folder) / "config.toml", plain)


def write_toml(path, plain):
    """Write plain values as TOML; return the path."""
    path.write_text("\n".join(_toml(plain)))
    return path


def new_secret(folder):
    """Create a secret in a folder, unless it has one; return the setting `users`."""
    path = Path(folder) / "users.secret"
    create_user_secret(path)
    return {"secret_file": path}


def _toml(plain):
    """Write a configuration as TOML with inline tables, which are nearly JSON."""
    for name, value in plain.items():
        yield f"{json.dumps(name)} = {_inline(value)}"


def _inline(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_inline(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_inline(each) for each in value) + "]"
    return json.dumps(value)


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request, tmp_path):
    """The URL of an empty store of either kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/log.db"
    return request.getfixturevalue("postgres").new_database()


@pytest.fixture(scope="session")
def students():
    """The students of the demo."""
    return DemoStudents()


@contextmanager
def _serving(folder):
    started = []

    def start(*arguments, **changed):
        own = Path(folder) / f"server{len(started)}"
        own.mkdir()
        # Servers of one log must have the same secret.
        server = Server(own, str(write_config(own, **{"users": new_secret(folder)} | changed)), *arguments)
        started.append(server)
        return server.start().wait()

    try:
        yield start
    finally:
        for server in started:
            server.stop()


@pytest.fixture
def serving(tmp_path):
    """Start servers, each in a folder of its own, all with one secret; all are stopped afterwards."""
    with _serving(tmp_path) as start:
        yield start


@pytest.fixture(scope="module")
def serving_module(tmp_path_factory):
    """Start servers that all tests of a file share."""
    with _serving(tmp_path_factory.mktemp("servers")) as start:
        yield start


@pytest.fixture
def client(server):
    """A client of the server that a file shares."""
    with server.client() as client:
        yield client
