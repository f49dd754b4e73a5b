"""Deadlines for PostgreSQL: for connections, locks and statements, enforced by both the server and the client.

The server cannot enforce a deadline while its process is stopped or its machine hangs. The socket then remains
open, the kernel acknowledges the data that arrives, and a client that only reads waits forever.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Mapping
from typing import Any

import psycopg

# The number of seconds for which a connection without deadlines may idle within a transaction. Statements may take
# arbitrarily long, but the computations of a process between two statements take only seconds.
_IDLE_SECONDS = 60.0


def connect_args(timeout: float) -> dict[str, Any]:
    """Return the options of a connection whose statements must be answered within a number of seconds."""
    found = _connect_args(timeout, {"lock_timeout": timeout, "statement_timeout": timeout}, timeout)
    # The plan of a statement is cached. A plan made while the log was nearly empty would read the entire log each
    # time until PostgreSQL analyses the table again. Every statement of a server finds its rows through an index.
    found["options"] += " -c enable_seqscan=off"
    return found


def patient_connect_args(connect_timeout: float) -> dict[str, Any]:
    """Return the options of a connection whose statements may take arbitrarily long."""
    return _connect_args(connect_timeout, {}, _IDLE_SECONDS)


def _connect_args(connect_timeout: float, limits: Mapping[str, float], idle: float) -> dict[str, Any]:
    """Return the options of a connection: `limits` for its statements, and the seconds for which it may idle."""
    # If this process freezes within a transaction, the others wait no longer than this for its locks.
    limits = {**limits, "idle_in_transaction_session_timeout": idle}
    settings = [f"-c {name}={max(1, round(seconds * 1000))}" for name, seconds in limits.items()]
    return {
        "connect_timeout": math.ceil(connect_timeout),
        "options": " ".join(["-c synchronous_commit=on", *settings]),
        # For a machine that is gone, and whose kernel acknowledges nothing.
        "tcp_user_timeout": max(1, round(idle * 1000)),
        "keepalives_idle": math.ceil(idle),
        "keepalives_interval": 1,
        "keepalives_count": 3,
    }


def connector(timeout: float) -> Callable[..., Any]:
    """Return a function that connects, for SQLAlchemy's event `do_connect`."""

    class DeadlineConnection(psycopg.Connection[Any]):
        """A connection that waits for no statement longer than `timeout`."""

        def wait(self, gen: Generator[Any, Any, Any], *args: Any, **kwargs: Any) -> Any:
            """Wait for the end of an operation."""
            return super().wait(_limited(gen, timeout), *args, **kwargs)

    def connect(_dialect: Any, _record: Any, args: Any, params: Any) -> Any:
        return DeadlineConnection.connect(*args, **params)

    return connect


def _limited(operation: Generator[Any, Any, Any], timeout: float) -> Generator[Any, Any, Any]:
    """Run a psycopg operation, which is resumed at least every 0.1 s; raise an error if it takes too long."""
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
