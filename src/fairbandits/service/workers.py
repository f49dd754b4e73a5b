"""Worker processes, which are started, replaced when they die or freeze, and ended with their parent."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

_log = logging.getLogger(__name__)

#: The number of seconds after which a process that was told to stop ends in any case.
STOP_SECONDS = 8.5
# The number of seconds between two heartbeats of a worker, and the number without a heartbeat after which a worker
# is replaced.
_BEAT_SECONDS = 1.0
_FROZEN_SECONDS = 15.0
# The number of seconds between two checks of the workers.
_PAUSE_SECONDS = 0.5
#: The exit status of a worker that cannot start.
CANNOT_START = 2
# The number of seconds before another worker is started in its place.
_RETRY_SECONDS = 2.0
# The messages that a worker sends to its parent.
_ALIVE, _STARTED = b"alive", b"started"

# Processes are spawned, because a forked child would share its parent's connections and thread locks.
_spawn = multiprocessing.get_context("spawn")

#: The work of a process: a function that is called with another function, which it must call once it has started.
Target = Callable[[Callable[[], None]], None]


class WorkerProcesses:
    """Processes that all do the same work, and the parent that watches them.

    Parameters
    ----------
    n : int
        The number of processes.
    target : callable
        The function that a process runs until it receives SIGTERM. It is called with another function, which it
        must call once it has started. It must be picklable.
    """

    def __init__(self, n: int, target: Target) -> None:
        self._target = target
        self._workers = [_Worker(target) for _ in range(n)]
        self._has_started = False
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
        """Replace workers that have ended or frozen; return an exit status if no worker has ever started.

        If any worker has started, the others continue to serve. The obstacle that prevents a new worker from
        starting may be temporary, such as a hanging database or the lock of a frozen worker.
        """
        alive = [worker.is_alive() for worker in self._workers]
        # This is known only after all workers have been checked: a later one may have started before an earlier
        # one gave up.
        self._has_started |= any(worker.has_started for worker in self._workers)
        for index, worker in enumerate(self._workers):
            if alive[index]:
                continue
            worker.end(0.0)
            if self._stopping:
                return 0
            cannot_start = worker.process.exitcode == CANNOT_START
            if cannot_start and not self._has_started:
                return CANNOT_START
            _log.error(
                "worker %d exited (status %s); starting another one", worker.process.pid, worker.process.exitcode
            )
            self._workers[index] = _Worker(self._target, _RETRY_SECONDS if cannot_start else 0.0)
        return 0


class _Worker:
    """A process, and the pipe through which the process and its parent notice when the other ends."""

    def __init__(self, target: Target, delay: float = 0.0) -> None:
        self._pipe, theirs = _spawn.Pipe()
        self.process = _spawn.Process(target=_work, args=(target, theirs, delay))
        self.process.start()
        theirs.close()
        self.has_started = False
        self._beat_at = time.monotonic()

    def is_alive(self) -> bool:
        """Return whether the process is running and has recently sent a heartbeat."""
        try:
            while self._pipe.poll():
                self.has_started |= self._pipe.recv_bytes() == _STARTED
                self._beat_at = time.monotonic()
        except (EOFError, OSError):
            return False
        return self.process.is_alive() and time.monotonic() - self._beat_at < _FROZEN_SECONDS

    def end(self, seconds: float) -> None:
        """Wait for the process to end; kill it after the given number of seconds."""
        self.process.join(seconds)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self._pipe.close()


def _work(target: Target, pipe: Connection, delay: float) -> None:
    lock = threading.Lock()

    def send(message: bytes) -> None:
        with lock:
            pipe.send_bytes(message)

    def tell_started() -> None:
        with suppress(OSError):  # the other thread notices that the parent is gone
            send(_STARTED)

    threading.Thread(target=_watch_parent, args=(pipe, send), daemon=True).start()
    time.sleep(delay)
    target(tell_started)


def _watch_parent(pipe: Connection, send: Callable[[bytes], None]) -> None:
    """Send heartbeats until the parent is gone, then stop this process, because it must not keep the port."""
    try:
        while True:
            send(_ALIVE)
            if pipe.poll(_BEAT_SECONDS):
                pipe.recv_bytes()
    except (EOFError, OSError):
        os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(STOP_SECONDS)
    os._exit(1)
