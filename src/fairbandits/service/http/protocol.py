"""Uvicorn's protocol, with limits on slow requests, long headers and the number of connections."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from fairbandits.service.auth.rate_limit import client_address
from fairbandits.service.config import Limits
from fairbandits.service.http.connections import ConnectionCounts
from fairbandits.service.http.problems import PROBLEM_TYPE, ProblemError, unavailable
from fairbandits.service.http.transport import CoalescingTransport

#: The name in the lifespan state under which the application passes on the connection counts.
CONNECTIONS_STATE = "connections"
#: The paths of health checks, which are served beyond the connection limits.
PROBES = (b"/health", b"/ready")

# The maximum number of bytes in the head of a request: path, query and headers.
_MAX_HEAD = 32 * 1024
# The number of seconds within which a health check must arrive on a connection beyond the limits.
_PROBE_SECONDS = 1.0
# The address of a proxy's connection between two requests, when it belongs to nobody.
_NOBODY = ""


class LimitedProtocol(HttpToolsProtocol):
    """A connection with limits. Uvicorn itself would wait forever for the rest of a request, and buffer it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._counts: ConnectionCounts = self.app_state.get(CONNECTIONS_STATE) or ConnectionCounts(Limits())
        self._limits = self._counts.limits
        # The times since which the head of a request, and the whole request, have been awaited; None if they are
        # not.
        self._head_since: float | None = None
        self._since: float | None = None
        self._head_bytes = self._received = 0
        self._timer: asyncio.TimerHandle | None = None
        self._address = _NOBODY
        self._is_proxied = self._is_slow = False
        # The address for which the connection is reserved for a health check; None for an ordinary connection.
        self._reserved_for: str | None = None
        # The problem with which the connection ends, once all earlier requests have been answered.
        self._refusal: ProblemError | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Open the connection; if there are too many, reserve it for a health check, or close it."""
        super().connection_made(CoalescingTransport(transport, self.loop))
        self._head_since = self._since = self.loop.time()
        app = self.app
        self._is_proxied = isinstance(app, ProxyHeadersMiddleware) and (self.client or "?")[0] in app.trusted_hosts
        is_allowed = self._is_proxied or self._attribute(client_address(self.client))
        self.logger = _SourceLogger(self.logger, {"source": self._address})  # type: ignore[assignment]
        if not is_allowed or len(self.connections) > self._limits.connections:
            if not self._counts.reserve(self._address):
                self._refuse(_too_many_connections())
                return
            self._reserved_for = self._address
        self._check_later()

    def connection_lost(self, exc: Exception | None) -> None:
        """Close the connection."""
        if self._timer is not None:
            self._timer.cancel()
        if self._reserved_for is not None:
            self._counts.release(self._reserved_for)
        self._attribute(_NOBODY)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Receive bytes."""
        if self._refusal is not None:
            return  # data after a refused request is not read
        self._received = len(data)
        super().data_received(data)
        if self._head_since is not None:
            # If a head began within these bytes, after earlier requests, only its parsed part is counted.
            self._head_bytes = self._parsed_bytes() if self._head_bytes < 0 else self._head_bytes + len(data)
            if self._head_bytes > _MAX_HEAD:
                self._refuse(_head_too_large())

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._head_since = self._since = self.loop.time()
        self._head_bytes = -1
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Check the head of a request."""
        self._head_since = None
        if self._refusal is not None:
            return
        if self._head_bytes + self._received > _MAX_HEAD and self._parsed_bytes() > _MAX_HEAD:
            self._refuse(_head_too_large())
        elif not self._may_send():
            self._refuse(_too_many_connections())
        else:
            super().on_headers_complete()
            if self._reserved_for is not None:
                self.cycle.keep_alive = False

    def on_message_complete(self) -> None:
        """End a request."""
        self._since = None
        self._mark_slow(False)
        if self._refusal is None:
            super().on_message_complete()

    def on_body(self, body: bytes) -> None:
        """Receive bytes of a body."""
        if self._refusal is None:
            super().on_body(body)

    def on_response_complete(self) -> None:
        """End a response; begin the next one, or refuse the data that followed the last request."""
        is_last = not self.pipeline
        super().on_response_complete()
        if is_last and self._is_proxied:
            self._attribute(_NOBODY)
        if is_last and self._refusal is not None:
            self._send_refusal(self._refusal)

    def send_400_response(self, msg: str) -> None:
        """Respond to bytes that are not HTTP."""
        self._refuse(ProblemError(400, "Bad request", msg))

    # -- addresses -------------------------------------------------------------------------------------

    def _attribute(self, address: str) -> bool:
        """Count the connection for an address instead of another one; return whether the address may have it."""
        if address == self._address:
            return True
        self._mark_slow(False)
        if self._address != _NOBODY:
            self._counts.close(self._address)
        self._address = address
        return address == _NOBODY or self._counts.open(address)

    def _may_send(self) -> bool:
        """Return whether the connection may be used for the request whose head has arrived."""
        if self._reserved_for is not None and self.url.partition(b"?")[0] not in PROBES:
            return False
        return not self._is_proxied or self._attribute(self._forwarded_address())

    def _forwarded_address(self) -> str:
        """Return the address on whose behalf a proxy sends a request."""
        forwarded = b", ".join(value for name, value in self.headers if name == b"x-forwarded-for")
        assert isinstance(self.app, ProxyHeadersMiddleware)  # noqa: S101
        host, port = self.app.trusted_hosts.get_trusted_client_address(forwarded.decode("latin-1"))
        return client_address((host, port))

    def _mark_slow(self, is_slow: bool) -> bool:
        """Record whether a request arrives slowly; return whether the address may send this one slowly."""
        if is_slow is self._is_slow or self._address == _NOBODY:
            return True
        self._is_slow = is_slow
        if is_slow:
            return self._counts.mark_slow(self._address)
        self._counts.unmark_slow(self._address)
        return True

    # -- time-outs -------------------------------------------------------------------------------------

    def _check(self) -> None:
        """Refuse a request that takes too long to arrive."""
        now, limits = self.loop.time(), self._limits
        if self._refusal is not None or self._since is None:
            self._check_later()
        elif self.flow.read_paused:
            # An earlier request is being answered, and nothing more is read until then, so the sender is not to
            # blame.
            self._since, self._head_since = now, None if self._head_since is None else now
            self._check_later()
        elif self._reserved_for is not None:
            self._refuse(_too_many_connections())
        elif (self._head_since is not None and now - self._head_since >= limits.head_seconds) or (
            now - self._since >= limits.request_seconds
        ):
            self._refuse(ProblemError(408, "Request timeout", "the request took too long to arrive"))
        elif not self._mark_slow(True):
            detail = "too many requests from this address are arriving slowly; send each without pauses"
            self._refuse(ProblemError(408, "Request timeout", detail))
        else:
            self._check_later()

    def _check_later(self) -> None:
        # There is one timer per connection, because a timer for every request would cost more than the request.
        interval = min(self._limits.head_seconds, self._limits.request_seconds) / 4
        self._timer = self.loop.call_later(
            interval if self._reserved_for is None else min(interval, _PROBE_SECONDS), self._check
        )

    # -- refusals --------------------------------------------------------------------------------------

    def _parsed_bytes(self) -> int:
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers)

    def _refuse(self, problem: ProblemError) -> None:
        """Send a problem, after the responses to earlier requests, and close the connection."""
        if self.transport.is_closing() or self._refusal is not None:
            return
        self._refusal = problem
        if self.pipeline and self.pipeline[0][0].more_body:
            self.pipeline.popleft()  # this is the refused request
            is_answering = True
        else:
            cycle = self.cycle
            is_answering = cycle is not None and not cycle.response_complete and not cycle.more_body
        if is_answering:
            self.flow.pause_reading()
        else:
            self._send_refusal(problem)

    def _send_refusal(self, problem: ProblemError) -> None:
        """Send a problem, unless the response to the same request has begun, and close the connection."""
        if self.transport.is_closing():
            return
        cycle = self.cycle
        if cycle is None or cycle.response_complete or not cycle.response_started:
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


class _SourceLogger(logging.LoggerAdapter[logging.Logger]):
    """A logger whose lines have a source, by which they are limited."""

    @property
    def level(self) -> int:
        """The level of the logger, which uvicorn reads."""
        return self.logger.level


def _head_too_large() -> ProblemError:
    detail = f"path, query and headers must have at most {_MAX_HEAD:,} bytes"
    return ProblemError(431, "Request header fields too large", detail)


def _too_many_connections() -> ProblemError:
    return unavailable(
        "there are too many connections from this address or in total (limits.address_connections, "
        "limits.connections); use fewer, or try again later"
    )
