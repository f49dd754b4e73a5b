"""HTTP as uvicorn speaks it, with an end to those who speak slowly, endlessly, or on too many connections."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from fairbandits.service.http.limits import Limits
from fairbandits.service.http.problems import PROBLEM_TYPE, RefusedError

#: Under this name the application tells its limits, when it starts.
LIMITS = "limits"

# Bytes of the head of a request: its path, its query, its headers.
_LONGEST_HEAD = 32 * 1024


class Protocol(HttpToolsProtocol):
    """A connection. Uvicorn alone would wait for the rest of a request, and keep its headers, for ever."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limits: Limits = self.app_state.get(LIMITS) or Limits()
        # Since when the head of a request is awaited, and all of it; None where that is not so.
        self._head_since: float | None = None
        self._since: float | None = None
        self._head_bytes = self._came = 0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin; where there are too many already, end."""
        super().connection_made(transport)
        self._head_since = self._since = self.loop.time()
        self._look_later()
        if len(self.connections) > self._limits.connections:
            detail = "there are too many connections; try again"
            self._refuse(RefusedError(503, "Service unavailable", detail, headers={"Retry-After": "1"}))

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes."""
        self._came = len(data)
        super().data_received(data)
        if self._head_since is not None:
            self._head_bytes += len(data)
            if self._head_bytes > _LONGEST_HEAD:
                self._refuse(_long_head())

    def on_message_begin(self) -> None:
        """Take the first byte of a request."""
        self._head_since = self._since = self.loop.time()
        self._head_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Take the end of the head of a request."""
        self._head_since = None
        if self._head_bytes + self._came > _LONGEST_HEAD:  # of which some may be its body
            size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
            if size > _LONGEST_HEAD:
                self._refuse(_long_head())
                return
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Take the end of a request."""
        self._since = None
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP."""
        self._refuse(RefusedError(400, "Bad request", msg))

    def _look(self) -> None:
        """See whether a request takes too long to come."""
        now, limits = self.loop.time(), self._limits
        is_late = self._head_since is not None and now - self._head_since >= limits.head_seconds
        if is_late or (self._since is not None and now - self._since >= limits.request_seconds):
            self._refuse(RefusedError(408, "Request timeout", "the request took too long to come"))
        else:
            self._look_later()

    def _look_later(self) -> None:
        # Once in a while for a connection, and not for a request: those come by the thousand.
        soon = min(self._limits.head_seconds, self._limits.request_seconds) / 4
        self._timer = self.loop.call_later(soon, self._look)

    def _refuse(self, refused: RefusedError) -> None:
        """Answer, unless another answer is on its way, and end."""
        if self.transport.is_closing():
            return
        cycle = self.cycle
        if cycle is None or cycle.response_complete or (cycle.more_body and not cycle.response_started):
            body = refused.to_body()
            head = {
                "Content-Type": PROBLEM_TYPE,
                "Content-Length": len(body),
                "Connection": "close",
                **refused.headers,
            }
            lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
            self.transport.write(STATUS_LINE[refused.status] + f"{lines}\r\n".encode("latin-1") + body)
        self.transport.close()


def _long_head() -> RefusedError:
    detail = f"the path, the query and the headers have at most {_LONGEST_HEAD:,} bytes"
    return RefusedError(431, "Request header fields too large", detail)
