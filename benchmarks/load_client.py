"""A load generator: some connections, each of which sends the next request when it has its answer.

It reads of an answer no more than its length and its status, so that it takes a small part of the time that the
server takes; `load.py` measures how many requests it can send at most.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Protocol, cast

import numpy as np

_END = b"\r\n\r\n"
_LENGTH = b"content-length:"
_PATIENCE = 30.0


class Source(Protocol):
    """What is sent."""

    def next(self) -> bytes | None:
        """Give the next request; None where there is none left."""

    def answered(self, body: bytes) -> None:
        """Take the answer to a request."""


class Same:
    """The same requests, one after the other, again and again.

    Parameters
    ----------
    requests : sequence of bytes
        The requests.
    """

    def __init__(self, requests: Sequence[bytes]) -> None:
        self._requests = cycle(requests)

    def next(self) -> bytes:
        """Give the next request."""
        return next(self._requests)

    def answered(self, body: bytes) -> None:
        """Take no notice."""


class Decisions(Same):
    """Requests for decisions, whose answers are kept, so that rewards can be sent."""

    def __init__(self, requests: Sequence[bytes]) -> None:
        super().__init__(requests)
        self.kept: deque[bytes] = deque()

    def answered(self, body: bytes) -> None:
        """Keep an answer."""
        self.kept.append(body)


class Rewards:
    """A reward for every decision that was kept; some value from 0 to 1.

    Parameters
    ----------
    kept : deque of bytes
        Answers to requests for decisions.
    key : str
        The key to send.
    """

    def __init__(self, kept: deque[bytes], key: str) -> None:
        self._kept = kept
        self._key = key
        self._values = cycle(["0.0", "0.25", "0.5", "0.75", "1.0"])

    def next(self) -> bytes | None:
        """Give the next request."""
        if not self._kept:
            return None
        decision = json.loads(self._kept.popleft())["decision"]
        body = f'{{"decision": "{decision}", "reward": {next(self._values)}}}'
        return post("/v1/rewards", body.encode(), self._key)

    def answered(self, body: bytes) -> None:
        """Take no notice."""


class Mixed(Decisions):
    """Decisions and rewards in turn.

    Parameters
    ----------
    requests : sequence of bytes
        The requests for decisions.
    key : str
        The key to send.
    """

    def __init__(self, requests: Sequence[bytes], key: str) -> None:
        super().__init__(requests)
        self._rewards = Rewards(self.kept, key)
        self._is_reward = False

    def next(self) -> bytes:
        """Give the next request."""
        self._is_reward = not self._is_reward
        reward = self._rewards.next() if self._is_reward else None
        return super().next() if reward is None else reward

    def answered(self, body: bytes) -> None:
        """Keep the answer to a decision."""
        if b'"scores"' in body:
            super().answered(body)


def post(path: str, body: bytes, key: str) -> bytes:
    """Write a request."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return f"{head}Authorization: Bearer {key}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@dataclass
class Turn:
    """What came of sending for a while.

    Attributes
    ----------
    seconds : float
        How long it took.
    latencies : list of float
        Of each request, in seconds.
    statuses : Counter
        How often each status of HTTP came.
    """

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    statuses: Counter[bytes] = field(default_factory=Counter)

    @property
    def rate(self) -> float:
        """Requests a second."""
        return len(self.latencies) / self.seconds

    def percentile(self, share: float) -> float:
        """Give the time, in seconds, within which this share of the requests was answered."""
        return float(np.percentile(self.latencies, share))


class _Connection(asyncio.Protocol):
    def __init__(self, source: Source, turn: Turn, until: float) -> None:
        self._source, self._turn, self._until = source, turn, until
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._came = b""
        self._sent = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._send()

    def _send(self) -> None:
        request = self._source.next() if time.perf_counter() < self._until else None
        if request is None:
            self._transport.close()
            return
        self._sent = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        came = self._came + data if self._came else data
        body = _body(came)
        if body is None:
            self._came = came
            return
        self._came = b""
        self._turn.latencies.append(time.perf_counter() - self._sent)
        self._turn.statuses[came[9:12]] += 1
        self._source.answered(body)
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(None)


def _body(came: bytes) -> bytes | None:
    """Give the body of an answer; None where not all of it came."""
    end = came.find(_END)
    if end < 0:
        return None
    at = came.find(_LENGTH) + len(_LENGTH)
    length = int(came[at : came.index(b"\r", at)])
    return came[end + 4 :] if len(came) >= end + 4 + length else None


async def drive(host: str, port: int, source: Source, connections: int, seconds: float) -> Turn:
    """Send for some seconds, or until there is nothing left to send."""
    turn = Turn()
    loop = asyncio.get_running_loop()
    began = time.perf_counter()
    made = [
        await loop.create_connection(lambda: _Connection(source, turn, began + seconds), host, port)
        for _ in range(connections)
    ]
    await asyncio.wait_for(asyncio.gather(*(protocol.done for _, protocol in made)), seconds + _PATIENCE)
    turn.seconds = time.perf_counter() - began
    return turn
