"""The protocol of uvicorn, with limits on slow requests, long headers and the number of connections."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from fairbandits.service.config import Limits
from fairbandits.service.http.problems import PROBLEM_TYPE, ProblemError, unavailable
from fairbandits.service.http.transport import CoalescingTransport

#: The name in the lifespan state under which the application hands over its limits.
LIMITS_STATE = "limits"

# Bytes of the head of a request: path, query and headers.
_MAX_HEAD = 32 * 1024


class LimitedProtocol(HttpToolsProtocol):
    """A connection with limits. Uvicorn itself would wait for the rest of a request, and buffer it, for ever."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limits: Limits = self.app_state.get(LIMITS_STATE) or Limits()
        # The times since which the head of a request, and all of it, are awaited; None if they are not.
        self._head_since: float | None = None
        self._since: float | None = None
        self._head_bytes = self._received = 0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Open the connection, or close it if there are too many."""
        super().connection_made(CoalescingTransport(transport, self.loop))
        self._head_since = self._since = self.loop.time()
        self._check_later()
        if len(self.connections) > self._limits.connections:
            self._refuse(unavailable("there are too many connections; try again later"))

    def connection_lost(self, exc: Exception | None) -> None:
        """Close the connection."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Receive bytes."""
        self._received = len(data)
        super().data_received(data)
        if self._head_since is not None:
            self._head_bytes += len(data)
            if self._head_bytes > _MAX_HEAD:
                self._refuse(_head_too_large())

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._head_since = self._since = self.loop.time()
        self._head_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Check the head of a request."""
        self._head_since = None
        if self._head_bytes + self._received > _MAX_HEAD:  # some of which may belong to the body
            size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
            if size > _MAX_HEAD:
                self._refuse(_head_too_large())
                return
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """End a request."""
        self._since = None
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Respond to bytes that are not HTTP."""
        self._refuse(ProblemError(400, "Bad request", msg))

    def _check(self) -> None:
        """Refuse a request that takes too long to arrive."""
        now, limits = self.loop.time(), self._limits
        is_late = self._head_since is not None and now - self._head_since >= limits.head_seconds
        if is_late or (self._since is not None and now - self._since >= limits.request_seconds):
            self._refuse(ProblemError(408, "Request timeout", "the request took too long to arrive"))
        else:
            self._check_later()

    def _check_later(self) -> None:
        # One timer for a connection, because a timer for every request would cost more than the request.
        interval = min(self._limits.head_seconds, self._limits.request_seconds) / 4
        self._timer = self.loop.call_later(interval, self._check)

    def _refuse(self, problem: ProblemError) -> None:
        """Send a problem, unless another response has begun, and close the connection."""
        if self.transport.is_closing():
            return
        cycle = self.cycle
        if cycle is None or cycle.response_complete or (cycle.more_body and not cycle.response_started):
            body = problem.to_body()
            head = {
                "Content-Type": PROBLEM_TYPE,
                "Content-Length": len(body),
                "Connection": "close",
                **problem.headers,
            }
            lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
            self.transport.write(STATUS_LINE[problem.status] + f"{lines}\r\n".encode("latin-1") + body)
        self.transport.close()


def _head_too_large() -> ProblemError:
    detail = f"path, query and headers must have at most {_MAX_HEAD:,} bytes"
    return ProblemError(431, "Request header fields too large", detail)
