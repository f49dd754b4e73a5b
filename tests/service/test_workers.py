"""Worker processes: they are replaced when they die, and end with their parent, even if that is killed."""

import os
import signal
import socket
import statistics
import time
from pathlib import Path

import pytest

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


def test_a_worker_that_is_killed_or_freezes_is_replaced(server):
    before = wait_until(lambda: len(found := workers_of(server)) == 2 and found)
    os.kill(before[0], signal.SIGKILL)
    os.kill(before[1], signal.SIGSTOP)
    wait_until(lambda: len(found := workers_of(server)) == 2 and not {*found} & {*before})
    server.wait()
    assert server.said().count("another one starts") == 2
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(15) == 0


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
