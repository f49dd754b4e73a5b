"""Worker processes: they are replaced when they die, and end with their parent, even if that is killed."""

import multiprocessing
import os
import signal
import socket
import sqlite3
import statistics
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from fairbandits.service.workers import CANNOT_START, WorkerProcesses
from tests.polling import wait_until
from tests.service.small import PLAIN


def workers_of(server):
    """The process ids of a server's workers: its children that are not helpers of multiprocessing."""
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    return [int(pid) for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def port_is_free(server):
    host, _, port = server.url.removeprefix("http://").rpartition(":")
    try:
        socket.create_server((host, int(port))).close()
    except OSError:
        return False
    return True


@pytest.fixture
def server(serving, tmp_path):
    return serving("--workers", "2", **PLAIN, store={"url": f"sqlite:///{tmp_path}/log.db"})


def test_workers_end_when_their_parent_is_killed_and_leave_the_port(server):
    workers = wait_until(lambda: len(found := workers_of(server)) == 2 and found)
    server.kill()
    wait_until(lambda: not any(map(is_running, workers)), seconds=15)
    assert port_is_free(server)


@pytest.mark.slow
def test_a_worker_that_is_killed_or_freezes_is_replaced(server):
    before = wait_until(lambda: len(found := workers_of(server)) == 2 and found)
    os.kill(before[0], signal.SIGKILL)
    os.kill(before[1], signal.SIGSTOP)
    wait_until(lambda: len(found := workers_of(server)) == 2 and not {*found} & {*before})
    server.wait()
    for worker in before:
        assert f"worker {worker} exited (status -9); starting another one" in server.said()
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(15) == 0


@pytest.mark.slow
def test_the_other_worker_goes_on_while_a_lock_keeps_a_new_one_from_starting(server, tmp_path):
    """A worker that freezes within a transaction holds the lock of SQLite until it is killed."""
    before = wait_until(lambda: len(found := workers_of(server)) == 2 and found)
    with closing(sqlite3.connect(tmp_path / "log.db", isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        os.kill(before[0], signal.SIGKILL)
        wait_until(lambda: "database is locked" in server.said())
        wait_until(lambda: server.said().count("starting another one") == 2)
        assert before[1] in workers_of(server)
    server.wait()


def serve_once_then_fail_twice(folder, on_start):
    """Be a worker: the first to come starts, the next two cannot, and later ones start."""
    starts = len(list(folder.iterdir())) not in (1, 2)
    if starts:
        on_start()
    (folder / str(os.getpid())).touch()
    if not starts:
        raise SystemExit(CANNOT_START)
    signal.pause()


class FakeWorker:
    """A worker whose message, that it has started, is read when somebody asks whether it is alive."""

    def __init__(self, exitcode, starts):
        self.process = SimpleNamespace(exitcode=exitcode, pid=0)
        self.has_started = False
        self._starts = starts

    def is_alive(self):
        self.has_started = self._starts
        return self.process.exitcode is None

    def end(self, seconds):
        pass


def never_start(on_start):
    raise SystemExit(CANNOT_START)


def run_workers(target):
    """Run one worker at a time in a process of its own, as a server does."""
    process = multiprocessing.get_context("spawn").Process(target=_run_workers, args=(target,))
    process.start()
    return process


def _run_workers(target):
    WorkerProcesses(1, target).run()


@pytest.mark.slow
def test_a_worker_that_cannot_start_is_tried_again_after_one_has_started(tmp_path):
    process = run_workers(partial(serve_once_then_fail_twice, tmp_path))
    try:
        (first,) = wait_until(lambda: [int(each.name) for each in tmp_path.iterdir()])
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: len(list(tmp_path.iterdir())) == 4)
        assert process.is_alive()
    finally:
        process.terminate()
        process.join(15)
    assert process.exitcode == 0


def test_a_server_whose_first_worker_cannot_start_ends():
    process = run_workers(never_start)
    process.join(60)
    assert process.exitcode == CANNOT_START


def test_a_worker_that_started_counts_whatever_its_place():
    """The parent reads the messages of all workers before it decides that none has started."""
    watcher = WorkerProcesses.__new__(WorkerProcesses)
    watcher._target, watcher._stopping, watcher._has_started = never_start, False, False
    watcher._workers = [FakeWorker(CANNOT_START, False), FakeWorker(None, True)]
    assert watcher._replace() == 0
    replacement = watcher._workers[0]
    replacement.end(0.0)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_answer_is_one_packet_that_is_not_delayed(serving, tmp_path, workers):
    """A client's kernel waits 40 ms before it acknowledges the first of two packets."""
    server = serving("--workers", workers, **PLAIN, store={"url": f"sqlite:///{tmp_path}/log.db"})
    body = b'{"features": {"age": 30, "language": "en"}, "groups": {"gender": "female"}}'
    head = b"POST /v1/decisions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    request = head + b"Content-Length: %d\r\n\r\n" % len(body) + body
    host, _, port = server.url.removeprefix("http://").rpartition(":")
    latencies, reads = [], []
    with socket.create_connection((host, int(port))) as connection:
        for _ in range(30):
            began = time.perf_counter()
            connection.sendall(request)
            received, n = connection.recv(65536), 1
            while not received.endswith(b"}"):
                received, n = received + connection.recv(65536), n + 1
            assert received.startswith(b"HTTP/1.1 200 OK\r\n")
            latencies.append(time.perf_counter() - began)
            reads.append(n)
    assert statistics.median(reads) == 1
    assert statistics.median(latencies) < 0.03
