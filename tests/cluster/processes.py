"""A Dask scheduler and its workers as processes, to be killed."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import distributed

from tests.polling import wait_until

_DASK = (sys.executable, "-m", "dask")


class DaskProcesses:
    """A scheduler without workers, in a folder for its files.

    A task is blamed for the death of its workers if more than `allowed_failures` of them died.
    """

    def __init__(self, folder, allowed_failures):
        self._allowed_failures = allowed_failures
        self._folder, self._file = folder, folder / "scheduler.json"
        where = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show"]
        self.scheduler = self._start("scheduler", *where, "--scheduler-file", str(self._file))
        self.workers = []
        # The scheduler writes the file in several steps.
        wait_until(lambda: self._file.exists() and self._file.read_text().endswith("}"))
        self.address = json.loads(self._file.read_text())["address"]

    def add_worker(self, *options):
        """Start a worker with one thread, and wait until the scheduler knows it."""
        self.workers.append(self._start("worker", self.address, "--nthreads", "1", "--no-dashboard", *options))
        with distributed.Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(len(self.workers), timeout=60)

    def wait_for_tasks(self):
        """Wait until workers have tasks."""
        with distributed.Client(self.address, set_as_default=False) as client:
            wait_until(lambda: any(client.processing().values()))

    def _start(self, *arguments):
        # Workers import functions of these tests.
        environment = {
            **os.environ,
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": str(self._allowed_failures),
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen([*_DASK, *arguments], cwd=self._folder, env=environment, **quiet)


@contextmanager
def dask_processes(folder, allowed_failures=3):
    """Yield a scheduler, and kill what was started when the block ends."""
    processes = DaskProcesses(folder, allowed_failures)
    try:
        yield processes
    finally:
        for process in (*processes.workers, processes.scheduler):
            process.send_signal(signal.SIGKILL)
            process.wait()
