"""Real servers: processes of `fairbandits serve` on loopback, on SQLite and PostgreSQL."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from fairbandits.service.demo import DemoStudents, demo_config

# A machine may be busy, and what is compiled not be compiled yet.
_PATIENCE = 120.0


class Server:
    """A process that serves, from a folder of its own.

    Parameters
    ----------
    folder : path
        Where its configuration, and with SQLite its log, lies.
    arguments : sequence of str
        What `fairbandits serve` is told.
    """

    def __init__(self, folder, *arguments):
        self.folder = Path(folder)
        self.arguments = arguments
        self.process = None
        self.url = None

    def start(self):
        """Start it, and wait until it is ready."""
        command = [sys.executable, "-m", "fairbandits", "serve", *self.arguments, "--port", "0"]
        self.log = (self.folder / "server.log").open("a")
        self.process = subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.PIPE, stderr=self.log, text=True, env=_environment()
        )
        line = self.process.stdout.readline()  # empty where it has ended
        assert line.startswith("listening on "), line + self.said()
        self.url = line.split()[-1]
        return self

    def wait(self):
        """Wait until it is ready."""
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            try:
                if httpx.get(f"{self.url}/ready", timeout=_PATIENCE).status_code == 200:
                    return self
            except httpx.TransportError:
                assert self.process.poll() is None, self.said()
            time.sleep(0.02)
        raise AssertionError(f"not ready after {_PATIENCE} s: {self.said()}")

    def client(self, **options):
        """Give a client of it."""
        return httpx.Client(base_url=self.url, timeout=_PATIENCE, **options)

    def kill(self):
        """End it at once, as a power cut does."""
        self.process.send_signal(signal.SIGKILL)
        self._reap()

    def stop(self):
        """Ask it to end, where it has not ended yet."""
        if self.process is not None and not self.log.closed:
            self.process.send_signal(signal.SIGTERM)
            self._reap()

    def said(self):
        """Give what it wrote to its log."""
        return (self.folder / "server.log").read_text()

    def _reap(self):
        try:
            self.process.wait(_PATIENCE)
        finally:
            if self.process.poll() is None:
                self.process.kill()
            self.process.stdout.close()
            self.log.close()


def _environment():
    # One thread a server: several of them run beside the tests.
    return os.environ | {"PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1"}


def write_config(folder, **changed):
    """Write the demo's configuration, changed, into a folder; give its path."""
    path = Path(folder) / "config.toml"
    plain = demo_config(**changed).model_dump(mode="json", exclude_none=True)
    path.write_text("\n".join(_toml(plain)))
    return path


def _toml(plain):
    """Write a configuration as TOML: tables inline, of which JSON is nearly one."""
    for name, value in plain.items():
        yield f"{json.dumps(name)} = {_inline(value)}"


def _inline(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_inline(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_inline(each) for each in value) + "]"
    return json.dumps(value)


class Postgres:
    """A real PostgreSQL, in a folder of its own, that can be stopped and started again."""

    def __init__(self, folder):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about folders that it finds elsewhere then
            import pgserver

            self._pgserver = pgserver
            self.server = pgserver.get_server(folder, cleanup_mode="stop")
        self._databases = 0

    def new_database(self):
        """Make an empty database; give its URL."""
        self._databases += 1
        name = f"test{self._databases}"
        self.server.psql(f"CREATE DATABASE {name};")
        return self.server.get_uri(name).replace("postgres:@", "postgres@")

    def stop(self):
        """Stop it, whatever is connected."""
        self._ctl("-w", "-m", "fast", "stop")

    def start(self):
        """Start it again, where it was."""
        self.server.ensure_postgres_running()

    @contextmanager
    def asleep(self, seconds):
        """Let it answer no new connection for some seconds, as on a busy machine."""
        process = int((self.server.pgdata / "postmaster.pid").read_text().split()[0])
        os.kill(process, signal.SIGSTOP)
        waking = threading.Timer(seconds, os.kill, (process, signal.SIGCONT))
        waking.start()
        yield
        waking.join()

    def close(self):
        """Stop it for good."""
        self.server.cleanup()

    def _ctl(self, *arguments):
        self._pgserver.pg_ctl(list(arguments), pgdata=self.server.pgdata, user=self.server.system_user)


@pytest.fixture(scope="session")
def postgres():
    """One PostgreSQL for all tests."""
    # Not in pytest's folder: where root runs the tests, PostgreSQL runs as somebody else, who may not look there.
    with tempfile.TemporaryDirectory(prefix="fairbandits-postgres-") as folder:
        Path(folder).chmod(0o755)
        server = Postgres(Path(folder) / "data")
        yield server
        server.close()


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request, tmp_path):
    """The URL of an empty store, of either kind."""
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
        server = Server(own, str(write_config(own, **changed)), *arguments)
        started.append(server)
        return server.start().wait()

    try:
        yield start
    finally:
        for server in started:
            server.stop()


@pytest.fixture
def serving(tmp_path):
    """Start servers, each in a folder of its own; all are ended afterwards."""
    with _serving(tmp_path) as start:
        yield start


@pytest.fixture(scope="module")
def serving_module(tmp_path_factory):
    """Start servers for all tests of a file."""
    with _serving(tmp_path_factory.mktemp("servers")) as start:
        yield start


@pytest.fixture
def client(server):
    """Somebody who asks the server of a file, for those that have one."""
    with server.client() as client:
        yield client
