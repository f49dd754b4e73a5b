"""Floods, and requests of high cost: context managers of a target, PostgreSQL and the seconds that they take."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from http.client import HTTPException
from typing import Any

from fairbandits.service.http.cost import request_cost
from tests.service.key_issuer import bearer
from tests.torture.target import Target

#: The address that floods come from: loopback as well, but not that of the clients.
ATTACKER = "127.0.0.2"
# More than a server accepts by default, from all addresses together.
_CONNECTIONS = 1200


@contextmanager
def half_requests(target: Target, _: Any, seconds: float) -> Iterator[None]:
    """Connections that send half a request, and more of them as they are closed."""
    host, _, port = target.server.url.removeprefix("http://").rpartition(":")
    until = time.monotonic() + seconds
    with ExitStack() as stack:
        for _number in range(_CONNECTIONS):
            with suppress(OSError):
                connection = socket.create_connection((host, int(port)), timeout=5, source_address=(ATTACKER, 0))
                stack.enter_context(connection)
                connection.sendall(b"POST /v1/decisions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le")
        while time.monotonic() < until:
            target.wait_for_more(5)
        yield


def _flood(target: Target, seconds: float, *requests: tuple[str, bytes | None, dict[str, str]]) -> None:
    """Send requests from another address, by eight clients."""
    until = time.monotonic() + seconds

    def send() -> None:
        number = 0
        while time.monotonic() < until:
            path, body, headers = requests[number % len(requests)]
            with suppress(OSError, HTTPException):  # refused, or cut off
                target.ask(path, body, source=ATTACKER, **headers)
            number += 1

    _run_together([send] * 8)


def _run_together(functions: Sequence[Callable[[], None]]) -> None:
    """Call functions at the same time; raise the first of their errors."""
    with ThreadPoolExecutor(len(functions)) as threads:
        for call in [threads.submit(function) for function in functions]:
            call.result()


@contextmanager
def wrong_keys(target: Target, _: Any, seconds: float) -> Iterator[None]:
    """Requests with keys that nobody has, and with texts that are no keys."""
    wrong = [f"{target.token[:-8]}{number:08x}" for number in range(50)]
    _flood(target, seconds, *(("/v1/arms", None, bearer(token)) for token in [*wrong, "no-key"]))
    yield


@contextmanager
def logins(target: Target, _: Any, seconds: float) -> Iterator[None]:
    """Logins with a key that may read: each opens a session in the store."""
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    _flood(target, seconds, ("/login", f"key={target.token}".encode(), form))
    yield


@contextmanager
def readers(target: Target, _: Any, seconds: float) -> Iterator[None]:
    """Readers of the findings, who let them be computed again and again."""
    key = bearer(target.token)
    _flood(target, seconds, ("/v1/fairness", None, key), ("/metrics", None, key))
    yield


@contextmanager
def large_costs(target: Target, _: Any, seconds: float) -> Iterator[None]:
    """Requests whose cost is that of many: batches of users, each of whom wants all arms as a slate.

    Some are just within the limit, which are answered unless others wait already; those beyond it are refused.
    """
    user = {"features": target.students.request(0)["features"], "k": 100}
    config = target.replay.config
    most = config.limits.cost // request_cost([user], len(config.arms), len(config.columns))
    until = time.monotonic() + seconds
    answered: list[int] = []

    def send(n_users: int, check: Callable[[int, str], None]) -> None:
        body = json.dumps({"decisions": [user] * n_users}).encode()
        headers = {"Content-Type": "application/json"} | bearer(target.attacker_token)
        while time.monotonic() < until:
            status, answer = target.ask("/v1/decisions/batch", body, 120.0, ATTACKER, **headers)
            check(status, answer.decode())

    def check_refused(status: int, answer: str) -> None:
        assert status == 422, f"a request beyond limits.cost: {status} {answer}"
        assert "(limits.cost)" in answer, answer

    def check_within(status: int, answer: str) -> None:
        assert status in (200, 429), f"a request within limits.cost: {status} {answer}"
        assert status == 200 or "waiting" in answer, answer
        answered.append(status)

    _run_together([partial(send, most + 1, check_refused)] * 5 + [partial(send, most, check_within)] * 5)
    assert 200 in answered, "a request within limits.cost is answered"
    yield


@contextmanager
def reward_lists(target: Target, _: Any, seconds: float) -> Iterator[None]:
    """Lists of as many rewards as one may have, for decisions that nobody made, from many connections."""
    unknown = f"{int(time.time() * 1000):012x}" + "0" * 20
    body = json.dumps([{"decision": unknown, "reward": 0.5}] * target.replay.config.limits.batch).encode()
    headers = {"Content-Type": "application/json"} | bearer(target.attacker_token)
    until = time.monotonic() + seconds
    answered: list[int] = []

    def send() -> None:
        while time.monotonic() < until:
            status, answer = target.ask("/v1/rewards", body, 120.0, ATTACKER, **headers)
            assert status in (200, 429), f"a list of rewards: {status} {answer.decode()}"
            answered.append(status)

    _run_together([send] * 50)
    assert {*answered} == {200, 429}, "some lists are answered, and others have to wait"
    yield
