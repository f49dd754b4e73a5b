"""Deadlines for PostgreSQL: of connections, locks and statements, kept by the server and by this side as well.

The server cannot keep a deadline while its process is stopped or its machine hangs. The socket stays open then,
the kernel confirms what arrives, and a client that only reads waits for ever.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Mapping
from typing import Any

import psycopg

# Seconds that a connection without deadlines may idle within a transaction: statements may take as long as they
# take, but what a process computes between two of them takes seconds.
_IDLE_SECONDS = 60.0


def connect_args(timeout: float) -> dict[str, Any]:
    """Return the options of a connection whose statements must be answered within some seconds."""
    found = _connect_args(timeout, {"lock_timeout": timeout, "statement_timeout": timeout}, timeout)
    # The plan of a statement is kept. One made while the log was nearly empty would read all of it each time until
    # PostgreSQL analyses the table again. Every statement of a server finds its rows by an index.
    found["options"] += " -c enable_seqscan=off"
    return found


def patient_connect_args(connect_timeout: float) -> dict[str, Any]:
    """Return the options of a connection whose statements may take as long as they take."""
    return _connect_args(connect_timeout, {}, _IDLE_SECONDS)


def _connect_args(connect_timeout: float, limits: Mapping[str, float], idle: float) -> dict[str, Any]:
    """Return the options of a connection: `limits` of its statements, and the seconds that it may idle."""
    # If this process freezes within a transaction, the others wait no longer for its locks.
    limits = {**limits, "idle_in_transaction_session_timeout": idle}
    settings = [f"-c {name}={max(1, round(seconds * 1000))}" for name, seconds in limits.items()]
    return {
        "connect_timeout": math.ceil(connect_timeout),
        "options": " ".join(["-c synchronous_commit=on", *settings]),
        # For a machine that is gone: its kernel confirms nothing.
        "tcp_user_timeout": max(1, round(idle * 1000)),
        "keepalives_idle": math.ceil(idle),
        "keepalives_interval": 1,
        "keepalives_count": 3,
    }


def connector(timeout: float) -> Callable[..., Any]:
    """Return a function that connects as SQLAlchemy's event `do_connect` asks for it."""

    class DeadlineConnection(psycopg.Connection[Any]):
        """A connection on which no statement is waited for longer than `timeout`."""

        def wait(self, gen: Generator[Any, Any, Any], *args: Any, **kwargs: Any) -> Any:
            """Wait for the end of an operation."""
            return super().wait(_limited(gen, timeout), *args, **kwargs)

    def connect(_dialect: Any, _record: Any, args: Any, params: Any) -> Any:
        return DeadlineConnection.connect(*args, **params)

    return connect


def _limited(operation: Generator[Any, Any, Any], timeout: float) -> Generator[Any, Any, Any]:
    """Go through an operation of psycopg, which is resumed at least every 0.1 s; raise when it takes too long."""
    until = time.monotonic() + timeout
    try:
        awaited = next(operation)
        while True:
            ready = yield awaited
            if not ready and time.monotonic() > until:
                raise psycopg.OperationalError(f"no answer within {timeout:g} s (store.timeout_seconds)")
            awaited = operation.send(ready)
    except StopIteration as end:
        return end.value
