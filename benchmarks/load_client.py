"""A load generator: connections that each send their next request when they have received a response.

Of a response it reads only the length and the status, so that it takes a small part of the server's time;
`load.py` measures how many requests it can send at most.
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
    """A source of requests."""

    def next(self) -> bytes | None:
        """Return the next request, None if there is none left."""

    def answered(self, body: bytes) -> None:
        """Receive the response to a request."""


class Same:
    """The same requests, again and again.

    Parameters
    ----------
    requests : sequence of bytes
        The requests.
    """

    def __init__(self, requests: Sequence[bytes]) -> None:
        self._requests = cycle(requests)

    def next(self) -> bytes:
        """Return the next request."""
        return next(self._requests)

    def answered(self, body: bytes) -> None:
        """Ignore the response."""


class Decisions(Same):
    """Requests for decisions, whose responses are kept for the rewards."""

    def __init__(self, requests: Sequence[bytes]) -> None:
        super().__init__(requests)
        self.kept: deque[bytes] = deque()

    def answered(self, body: bytes) -> None:
        """Keep the response."""
        self.kept.append(body)


class Rewards:
    """A reward from 0 to 1 for every decision that was kept.

    Parameters
    ----------
    kept : deque of bytes
        Responses to requests for decisions.
    key : str
        The key to send.
    """

    def __init__(self, kept: deque[bytes], key: str) -> None:
        self._kept = kept
        self._key = key
        self._values = cycle(["0.0", "0.25", "0.5", "0.75", "1.0"])

    def next(self) -> bytes | None:
        """Return the next request."""
        if not self._kept:
            return None
        decision = json.loads(self._kept.popleft())["decision"]
        body = f'{{"decision": "{decision}", "reward": {next(self._values)}}}'
        return post("/v1/rewards", body.encode(), self._key)

    def answered(self, body: bytes) -> None:
        """Ignore the response."""


class Mixed(Decisions):
    """Decisions and rewards in alternation.

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
        """Return the next request."""
        self._is_reward = not self._is_reward
        reward = self._rewards.next() if self._is_reward else None
        return super().next() if reward is None else reward

    def answered(self, body: bytes) -> None:
        """Keep the response to a request for a decision."""
        if b'"scores"' in body:
            super().answered(body)


def post(path: str, body: bytes, key: str) -> bytes:
    """Return a request as bytes."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return f"{head}Authorization: Bearer {key}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@dataclass
class Turn:
    """Result of sending requests for a while.

    Attributes
    ----------
    seconds : float
        The duration.
    latencies : list of float
        The latency of each request, in seconds.
    statuses : Counter
        The number of responses of each HTTP status.
    """

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    statuses: Counter[bytes] = field(default_factory=Counter)

    @property
    def rate(self) -> float:
        """Requests per second."""
        return len(self.latencies) / self.seconds

    def percentile(self, share: float) -> float:
        """Return a percentile of the latency in seconds."""
        return float(np.percentile(self.latencies, share))


class _Connection(asyncio.Protocol):
    def __init__(self, source: Source, turn: Turn, until: float) -> None:
        self._source, self._turn, self._until = source, turn, until
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._received = b""
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
        received = self._received + data if self._received else data
        body = _body(received)
        if body is None:
            self._received = received
            return
        self._received = b""
        self._turn.latencies.append(time.perf_counter() - self._sent)
        self._turn.statuses[received[9:12]] += 1
        self._source.answered(body)
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(None)


def _body(received: bytes) -> bytes | None:
    """Return the body of a response, None if it is not complete.

    A connection beyond the limit is refused with a response without a length.
    """
    end = received.find(_END)
    if end < 0:
        return None
    at = received.find(_LENGTH)
    length = int(received[at + len(_LENGTH) : received.index(b"\r", at)]) if at >= 0 else 0
    return received[end + 4 :] if len(received) >= end + 4 + length else None


async def drive(host: str, port: int, source: Source, connections: int, seconds: float) -> Turn:
    """Send requests for some seconds, or until there are none left."""
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
