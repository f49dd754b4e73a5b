"""Worker processes: started, replaced when they die or freeze, and ended with their parent."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from typing import Any

_log = logging.getLogger(__name__)

#: Seconds after which a process that was told to stop ends in any case.
STOP_SECONDS = 8.5
# Seconds between two signs of life of a worker, and without one until it is replaced.
_BEAT_SECONDS = 1.0
_FROZEN_SECONDS = 15.0
# Seconds between two looks at the workers.
_PAUSE_SECONDS = 0.5
#: The exit status of a worker that cannot start, and so no other one can.
CANNOT_START = 2

# A forked child would share the connections and the threads' locks of its parent.
_spawn = multiprocessing.get_context("spawn")


class WorkerProcesses:
    """Processes that all do the same, and the parent that watches them.

    Parameters
    ----------
    n : int
        The number of processes.
    target : callable
        What a process does, until it receives SIGTERM. It must be possible to pickle it.
    """

    def __init__(self, n: int, target: Callable[[], None]) -> None:
        self._target = target
        self._workers = [_Worker(target) for _ in range(n)]
        self._stopping = False

    def run(self) -> None:
        """Run the processes until this one receives SIGTERM or SIGINT."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        status = 0
        while not (self._stopping or status):
            wait([worker.process.sentinel for worker in self._workers], _PAUSE_SECONDS)
            status = self._replace()
        until = time.monotonic() + STOP_SECONDS
        for worker in self._workers:
            worker.process.terminate()
        for worker in self._workers:
            worker.end(max(0.0, until - time.monotonic()))
        if status:
            raise SystemExit(status)

    def _stop(self, *_: Any) -> None:
        self._stopping = True

    def _replace(self) -> int:
        """Replace workers that have ended or froze; return a status if a new one would not start either."""
        for index, worker in enumerate(self._workers):
            if worker.is_alive():
                continue
            worker.end(0.0)
            if self._stopping:
                return 0
            if worker.process.exitcode == CANNOT_START:
                return CANNOT_START
            _log.error(
                "worker %d ended (status %s); another one starts", worker.process.pid, worker.process.exitcode
            )
            self._workers[index] = _Worker(self._target)
        return 0


class _Worker:
    """A process, and the pipe through which it and its parent notice each other's end."""

    def __init__(self, target: Callable[[], None]) -> None:
        self._pipe, theirs = _spawn.Pipe()
        self.process = _spawn.Process(target=_work, args=(target, theirs))
        self.process.start()
        theirs.close()
        self._beat_at = time.monotonic()

    def is_alive(self) -> bool:
        """Return whether the process runs and has given a sign of life lately."""
        while self.process.is_alive() and self._pipe.poll():
            try:
                self._pipe.recv_bytes()
            except EOFError:
                return False
            self._beat_at = time.monotonic()
        return self.process.is_alive() and time.monotonic() - self._beat_at < _FROZEN_SECONDS

    def end(self, seconds: float) -> None:
        """Wait for the end of the process; kill it after some seconds."""
        self.process.join(seconds)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self._pipe.close()


def _work(target: Callable[[], None], pipe: Connection) -> None:
    threading.Thread(target=_watch_parent, args=(pipe,), daemon=True).start()
    target()


def _watch_parent(pipe: Connection) -> None:
    """Send signs of life until the parent is gone, then stop this process: it must not keep the port."""
    try:
        while True:
            pipe.send_bytes(b".")
            if pipe.poll(_BEAT_SECONDS):
                pipe.recv_bytes()
    except (EOFError, OSError):
        os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(STOP_SECONDS)
    os._exit(1)
