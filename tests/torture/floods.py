"""Floods, and requests of high cost: context managers of a target, PostgreSQL and the seconds that they take."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPException
from typing import Any

from tests.torture.target import Target


@contextmanager
def half_requests(target: Target, _: Any, seconds: float) -> Iterator[None]:
    """Connections that send half a request, and more of them as they are closed."""
    host, _, port = target.server.url.removeprefix("http://").rpartition(":")
    until = time.monotonic() + seconds
    with ExitStack() as stack:
        for _number in range(300):
            with suppress(OSError):
                connection = stack.enter_context(socket.create_connection((host, int(port)), timeout=5))
                connection.sendall(b"POST /v1/decisions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le")
        while time.monotonic() < until:
            target.wait_for_more(5)
        yield


def _flood(*requests: tuple[str, bytes | None, dict[str, str]]) -> Callable[..., Any]:
    """Return the attack of eight clients that send requests one after the other."""

    @contextmanager
    def attack(target: Target, _: Any, seconds: float) -> Iterator[None]:
        until = time.monotonic() + seconds

        def send() -> None:
            number = 0
            while time.monotonic() < until:
                path, body, headers = requests[number % len(requests)]
                with suppress(OSError, HTTPException):  # refused, or cut off
                    target.ask(path, body, **headers)
                number += 1

        threads = [threading.Thread(target=send) for _ in range(8)]
        for thread in threads:
            thread.start()
        before = target.acknowledged
        for thread in threads:
            thread.join()
        assert target.acknowledged > before, "decisions go on during a flood"
        yield

    return attack


_WRONG_KEY = {"Authorization": "Bearer fb_0123456789abcdef_0123456789abcdef0123456789abcdef"}
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}
wrong_keys = _flood(("/v1/arms", None, _WRONG_KEY))
logins = _flood(("/login", b"key=fb_wrong_key", _FORM))
readers = _flood(("/v1/fairness", None, {}), ("/metrics", None, {}))


@contextmanager
def large_costs(target: Target, *_: Any) -> Iterator[None]:
    """Ten requests whose cost is that of many: a full batch of users, each of whom wants all arms as a slate."""
    user = {"features": target.students.request(0)["features"], "k": 100}
    body = json.dumps({"decisions": [user] * 200}).encode()

    def send() -> None:
        with suppress(OSError, HTTPException):
            target.ask("/v1/decisions/batch", body, 120.0, **{"Content-Type": "application/json"})

    threads = [threading.Thread(target=send) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    yield
