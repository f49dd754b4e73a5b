"""A real PostgreSQL."""

import os
import signal
import threading
import warnings
from contextlib import contextmanager


class Postgres:
    """A real PostgreSQL in a folder of its own, which can be stopped and started again."""

    def __init__(self, folder):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about missing folders elsewhere
            import pgserver

            self._pgserver = pgserver
            self.server = pgserver.get_server(folder, cleanup_mode="stop")
        self._databases = 0

    def new_database(self):
        """Create an empty database; return its URL."""
        self._databases += 1
        name = f"test{self._databases}"
        self.server.psql(f"CREATE DATABASE {name};")
        return self.server.get_uri(name).replace("postgres:@", "postgres@")

    def stop(self, mode="fast"):
        """Stop the server, whatever is connected; at once, as in a crash, if the mode is "immediate"."""
        self._ctl("-w", "-m", mode, "stop")

    def start(self):
        """Start the server again."""
        self.server.ensure_postgres_running()

    @property
    def pid(self):
        """The id of the process that accepts connections."""
        return int((self.server.pgdata / "postmaster.pid").read_text().split()[0])

    @contextmanager
    def paused(self, seconds):
        """Accept no new connection for some seconds, as on a busy machine."""
        process = self.pid
        os.kill(process, signal.SIGSTOP)
        resuming = threading.Timer(seconds, os.kill, (process, signal.SIGCONT))
        resuming.start()
        yield
        resuming.join()

    def close(self):
        """Stop the server for good."""
        self.server.cleanup()

    def _ctl(self, *arguments):
        self._pgserver.pg_ctl(list(arguments), pgdata=self.server.pgdata, user=self.server.system_user)
