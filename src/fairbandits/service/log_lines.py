"""Log lines: their format, with time and level, and a rate limit for each source."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal

from fairbandits.service.auth.rate_limit import RateLimiter
from fairbandits.service.tracebacks import traceback_without_message

# The number of lines per second from one source, and the number allowed at once after a pause.
_RATE, _BURST = 0.2, 20
_MAX_SOURCES = 1000


def configure_log_lines(log_format: Literal["text", "json"]) -> None:
    """Write the log lines of this process to the standard error, in one format and limited by source."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonFormatter() if log_format == "json" else _TextFormatter())
    handler.addFilter(SourceLimit())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)


class SourceLimit(logging.Filter):
    """Limits the rate of lines from each source, and reports how many lines were left out.

    The source is the address of the client that causes a line (`extra={"source": ...}`), or else the line of code.

    Parameters
    ----------
    clock : callable, optional
        A function that returns the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._limiter = RateLimiter(_RATE, _BURST, clock)
        self._left_out: dict[str, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to write a line."""
        source = getattr(record, "source", "") or f"{record.name}:{record.lineno}"
        if self._limiter.take(source):
            if len(self._left_out) < _MAX_SOURCES or source in self._left_out:
                self._left_out[source] = self._left_out.get(source, 0) + 1
            return False
        left_out = self._left_out.pop(source, 0)
        if left_out:
            record.msg = f"{record.getMessage()} ({left_out:,} earlier lines from this source were suppressed)"
            record.args = None
        return True


def _moment(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _message(record: logging.LogRecord) -> str:
    error = record.exc_info[1] if record.exc_info else None
    place = "" if error is None else f": {traceback_without_message(error)}"
    return f"{record.getMessage().rstrip()}{place}".rstrip()


class _TextFormatter(logging.Formatter):
    """Formats a line for people: time, level, logger, message; further lines of a message are indented."""

    def format(self, record: logging.LogRecord) -> str:
        message = _message(record).replace("\n", "\n    ")
        return f"{_moment(record)} {record.levelname} {record.name}: {message}"


class _JsonFormatter(logging.Formatter):
    """Formats a line for programs, as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        plain = {
            "time": _moment(record),
            "level": record.levelname,
            "logger": record.name,
            "process": record.process,
            "message": _message(record),
        }
        return json.dumps(plain)
