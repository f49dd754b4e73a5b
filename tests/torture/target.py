"""A server under attack, the clients that write to it, and a comparison of its log with what was acknowledged."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from fairbandits.service.config import load_config
from tests.polling import wait_until
from tests.service.clients import Client, Replay
from tests.service.conftest import Server, new_secret, write_config
from tests.service.key_issuer import KeyIssuer, bearer

N_CLIENTS = 4
#: Seconds in which readiness must follow a fault, and in which it must come back.
NOTICED, BACK = 5.0, 15.0
_LOOK_SECONDS = 0.05


@dataclass
class Watch:
    """What `/health` and `/ready` say during a scenario.

    Attributes
    ----------
    stall : float
        The longest time until an answer of `/health`, in seconds.
    unhealthy : int
        The number of answers of `/health` other than 200.
    readiness : list of (time, bool)
        The times and answers of `/ready`.
    """

    stall: float = 0.0
    unhealthy: int = 0
    readiness: list[tuple[float, bool]] = field(default_factory=list)

    def first(self, ready: bool, after: float) -> float | None:
        """Return the first time at which `/ready` gave an answer, after a time."""
        return next((at for at, found in self.readiness if found is ready and at >= after), None)

    def was_ready(self, start: float, end: float) -> bool:
        """Return whether `/ready` was 200 at any time of an interval."""
        return any(ready for at, ready in self.readiness if start <= at <= end)


class Target:
    """A server with clients, and the replay of its log.

    Parameters
    ----------
    folder : path
        An empty folder.
    kind : str
        "SQLite" or "PostgreSQL".
    url : str
        The URL of an empty store.
    workers : int
        The number of workers.
    students : DemoStudents
        The users.
    """

    def __init__(self, folder: Path, kind: str, url: str, workers: int, students: Any) -> None:
        self.kind, self.url, self.workers = kind, url, workers
        store = {"url": url, "snapshot_every": 500}
        limits = {"rate": 1e6, "burst": 1e6}
        config = write_config(folder, store=store, users=new_secret(folder), limits=limits)
        self.server = Server(folder, str(config), "--workers", str(workers))
        self.clients = [Client(number, students, seed=number) for number in range(N_CLIENTS)]
        self.students = students
        self.replay = Replay(load_config(config))
        issuer = KeyIssuer(self.replay.config)
        _, self.token = issuer.make("decide", "reward", "read")
        _, self.attacker_token = issuer.make("decide", "reward")
        for client in self.clients:
            client.headers = bearer(self.token)
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        """Start the server, and let the clients go on."""
        self.server.start().wait()
        for client in self.clients:
            client.follow(self.server.url)

    def pids(self) -> list[int]:
        """The processes of the server: the parent and its children."""
        parent = self.server.process.pid
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        return [parent, *map(int, children)]

    @property
    def acknowledged(self) -> int:
        """The number of acknowledged decisions and rewards."""
        return sum(client.acknowledged for client in self.clients)

    def wait_for_more(self, n: int = 40, seconds: float = 60.0) -> None:
        """Wait until the clients have more decisions and rewards acknowledged."""
        goal = self.acknowledged + n
        wait_until(lambda: self.acknowledged >= goal, "nothing is acknowledged any more", seconds=seconds)

    def ask(
        self,
        path: str,
        body: bytes | None = None,
        seconds: float = 30.0,
        source: str = "127.0.0.1",
        **headers: str,
    ) -> tuple[int, bytes]:
        """Send a request over a new connection, from any loopback address; return the status and the body."""
        address = self.server.url.removeprefix("http://")
        http = HTTPConnection(address, timeout=seconds, source_address=(source, 0))
        try:
            http.request("GET" if body is None else "POST", path, body, headers)
            answer = http.getresponse()
            return answer.status, answer.read()
        finally:
            http.close()

    @contextmanager
    def watched(self):
        """Ask `/health` and `/ready` again and again; what they say is in the `Watch`."""
        watch, stopping = Watch(), threading.Event()

        def look() -> None:
            while not stopping.wait(_LOOK_SECONDS):
                try:
                    began = time.monotonic()
                    status, _ = self.ask("/health")
                    watch.stall = max(watch.stall, time.monotonic() - began)
                    watch.unhealthy += status != 200
                    status, _ = self.ask("/ready")
                    watch.readiness.append((time.monotonic(), status == 200))
                except (OSError, HTTPException):
                    watch.readiness.append((time.monotonic(), False))  # the server is down

        thread = threading.Thread(target=look)
        thread.start()
        try:
            yield watch
        finally:
            stopping.set()
            thread.join()

    # -- the log ---------------------------------------------------------------------------------------

    def compare(self) -> tuple[int, int, bool]:
        """Stop the clients; return how many effects were lost and doubled, and whether the state is a replay's."""
        for client in self.clients:
            client.stop()
        self.replay.store.close()  # whose connection the scenario may have broken
        # Entries can be read once all earlier transactions have ended, for example that of a costly request.
        with suppress(AssertionError):
            wait_until(lambda: self._lost() == 0, seconds=30)
        lost = self._lost()
        # A request without a response may have taken effect, once. Only these clients name users.
        pending = sum(_n_decisions(client.again) for client in self.clients)
        logged = sum(each.user is not None for each in self.replay.decided.values())
        doubled = max(0, logged - sum(len(client.decided) for client in self.clients) - pending)
        return lost, doubled, self._is_state_equal()

    def _lost(self) -> int:
        """Return how many acknowledged decisions and rewards are not in the log."""
        self.replay.follow()
        lost = 0
        for client in self.clients:
            lost += len(client.decided.keys() - self.replay.decided.keys())
            lost += sum(self.replay.rewarded.get(key) != reward for key, reward in client.rewarded.items())
        return lost

    def _is_state_equal(self) -> bool:
        """Return whether every worker reaches the state that the log leads to."""

        def states() -> bool:
            self.replay.follow()
            for _ in range(3 * self.workers):  # each request may reach another worker
                status, body = self.ask("/ready", **bearer(self.token))
                found = json.loads(body)
                wanted = self.replay.recommender.seq, self.replay.checksum()
                if status != 200 or (found["seq"], found["checksum"]) != wanted:
                    return False
            return True

        try:
            return bool(wait_until(states, seconds=30))
        except AssertionError:
            return False

    def resume(self) -> None:
        """Let the clients go on after a comparison."""
        for client in self.clients:
            client.is_going = True
            client.follow(self.server.url)

    def close(self) -> None:
        """Stop everything."""
        for client in self.clients:
            client.is_going = False
        self.server.stop()
        for client in self.clients:
            if client.is_alive():
                client.join()
        self.replay.close()


def _n_decisions(pending: Any) -> int:
    if pending is None or "decisions" not in pending[0]:
        return 0
    return len(pending[1].get("decisions", [1]))
