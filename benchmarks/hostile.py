"""Stalls that a hostile client can cause: the longest wait for `/health`, and decisions per second beside readers.

    python benchmarks/hostile.py              # half a minute

One worker with SQLite, 100 arms and 134 features. Ten clients at once ask for slates of 100 arms for 1,000 users
each; then for as many users as one request may have; then eight readers ask for `/v1/fairness`, and for
`/metrics`, again and again.
"""

from __future__ import annotations

import json
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

from fairbandits.service.demo import DemoStudents
from load_servers import Process, ours

CLIENTS, READERS = 10, 8
K, USERS, MOST_USERS = 100, 1000, 96
SECONDS = 4.0


class Repeated(threading.Thread):
    """A request that is sent again and again; `worst` is the longest wait for its response, in seconds."""

    def __init__(self, server: Process, send: Callable[[HTTPConnection], int]) -> None:
        super().__init__()
        self._server, self._send = server, send
        self.is_going = True
        self.worst = 0.0
        self.statuses: Counter[int] = Counter()

    def run(self) -> None:
        """Send the request until told to stop."""
        http = HTTPConnection(self._server.host, self._server.port, timeout=120)
        while self.is_going:
            began = time.monotonic()
            self.statuses[self._send(http)] += 1
            self.worst = max(self.worst, time.monotonic() - began)

    def __enter__(self) -> Repeated:
        self.start()
        time.sleep(0.5)
        return self

    def __exit__(self, *_: object) -> None:
        self.is_going = False
        self.join()


def sender(path: str, key: str, body: bytes | None = None) -> Callable[[HTTPConnection], int]:
    """Return a function that sends a request and returns the status of the response."""

    def send(http: HTTPConnection) -> int:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        http.request("GET" if body is None else "POST", path, body, headers)
        answer = http.getresponse()
        answer.read()
        return answer.status

    return send


def attack(server: Process, key: str, users: int) -> None:
    """Send batches from all clients at once; print what they were told, and the longest wait for /health."""
    student = min((DemoStudents().request(number) for number in range(50)), key=lambda each: len(json.dumps(each)))
    body = json.dumps({"decisions": [student | {"k": K}] * users}).encode()

    def send(_: int) -> int:
        return sender("/v1/decisions/batch", key, body)(HTTPConnection(server.host, server.port, timeout=120))

    with Repeated(server, sender("/health", key)) as health, ThreadPoolExecutor(CLIENTS) as pool:
        began = time.monotonic()
        statuses = Counter(pool.map(send, range(CLIENTS)))
        seconds = time.monotonic() - began
    print(
        f"{CLIENTS} requests of {len(body):,} bytes ({users} users, k = {K}): statuses {dict(statuses)} in "
        f"{seconds:.2f} s; longest wait for /health {health.worst:.3f} s"
    )


def read_beside_decisions(server: Process, key: str, path: str) -> None:
    """Print the decisions per second of one client, alone and beside readers."""
    decide = sender("/v1/decisions", key, json.dumps(DemoStudents().request(0)).encode())
    rates = []
    for n in (0, READERS):
        readers = [Repeated(server, sender(path, key)) for _ in range(n)]
        for reader in readers:
            reader.start()
        with Repeated(server, decide) as client:
            before = client.statuses.total()
            time.sleep(SECONDS)
            rates.append((client.statuses.total() - before) / SECONDS)
        for reader in readers:
            reader.is_going = False
            reader.join()
    print(f"decisions/s of one client: {rates[0]:.0f} alone, {rates[1]:.0f} beside {READERS} readers of {path}")


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        server, key = ours(Path(folder), 100, f"sqlite:///{folder}/log.db", scopes=["decide", "reward", "read"])
        try:
            attack(server, key, USERS)
            attack(server, key, MOST_USERS)
            for path in ("/v1/fairness", "/metrics"):
                read_beside_decisions(server, key, path)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
