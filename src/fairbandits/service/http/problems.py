"""Problem responses (RFC 9457), with which refused requests are answered."""

from __future__ import annotations

import logging
import math
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import to_json

from fairbandits.service.log.errors import LogBrokenError, LogUnavailableError, StoreDownError
from fairbandits.service.log.requests import Refusal, RefusalReason
from fairbandits.service.page.live_feed import TooManyReadersError
from fairbandits.service.tracebacks import traceback_without_message

_log = logging.getLogger(__name__)

#: The media type of problem responses.
PROBLEM_TYPE = "application/problem+json"

_REFUSALS = {
    RefusalReason.EMPTY_CATALOGUE: (409, "Empty catalogue"),
    RefusalReason.CATALOGUE_FULL: (409, "Catalogue full"),
    RefusalReason.ARM_EXISTS: (409, "Arm exists"),
    RefusalReason.UNKNOWN_ARM: (404, "Unknown arm"),
    RefusalReason.UNKNOWN_DECISION: (404, "Unknown decision"),
    RefusalReason.REWARD_DIFFERS: (409, "Reward differs"),
    RefusalReason.REWARD_TOO_LATE: (410, "Reward too late"),
    RefusalReason.CONFLICT: (409, "Changed at the same time"),
    RefusalReason.IDEMPOTENCY_KEY_REUSED: (422, "Idempotency key used before"),
    RefusalReason.TOO_COSTLY: (422, "Request too costly"),
}


class ProblemError(Exception):
    """A request that is answered with a problem.

    Parameters
    ----------
    status : int
        The HTTP status.
    title : str
        The kind of problem, always worded in the same way.
    detail : str
        The explanation.
    errors : sequence of mapping, optional
        The individual errors: `detail` explains the error, and `pointer` (a JSON pointer into the body),
        `parameter` or `header` gives its location.
    headers : mapping, optional
        Headers of the response.
    """

    def __init__(
        self,
        status: int,
        title: str,
        detail: str,
        errors: Sequence[Mapping[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.title = title
        self.detail = detail
        self.errors = tuple(errors)
        self.headers = dict(headers or {})

    def to_dict(self) -> dict[str, Any]:
        """Return the problem as plain values."""
        plain: dict[str, Any] = {
            "type": "about:blank",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
        }
        return plain | {"errors": self.errors} if self.errors else plain

    def to_body(self) -> bytes:
        """Return the body of the response."""
        return to_json(self.to_dict())


def invalid_body(errors: Sequence[tuple[str, str]]) -> ProblemError:
    """Return the problem of a body with errors, given as JSON pointers and details."""
    pointer, detail = errors[0]
    place = f"{pointer}: " if pointer != "#" else ""
    listed = [{"detail": detail, "pointer": pointer} for pointer, detail in errors]
    return ProblemError(422, "Invalid request", f"{place}{detail}", listed)


def refused(refusal: Refusal, pointer: str = "#") -> ProblemError:
    """Return the problem of a request that the log refused; `pointer` is the location of an invalid value."""
    if refusal.reason is RefusalReason.INVALID:
        return invalid_body([(pointer, refusal.detail)])
    status, title = _REFUSALS[refusal.reason]
    return ProblemError(status, title, refusal.detail)


def unavailable(detail: str, retry_after: int = 1) -> ProblemError:
    """Return the problem of a request that may succeed later."""
    return ProblemError(503, "Service unavailable", detail, headers={"Retry-After": str(retry_after)})


def unauthorized(detail: str) -> ProblemError:
    """Return the problem of a request without a valid key."""
    return ProblemError(401, "Unauthorized", detail, headers={"WWW-Authenticate": 'Bearer realm="fairbandits"'})


def forbidden(method: str, path: str, scope: str, scopes: frozenset[str]) -> ProblemError:
    """Return the problem of a request whose key lacks the scope."""
    return ProblemError(
        403,
        "Forbidden",
        f"{method} {path} needs the scope {scope!r}; this key has {', '.join(sorted(scopes))}",
        headers={"WWW-Authenticate": f'Bearer realm="fairbandits", error="insufficient_scope", scope="{scope}"'},
    )


def forwarded_without_keys() -> ProblemError:
    """Return the problem of a request that a proxy forwarded to a service without keys."""
    return ProblemError(
        403,
        "Forbidden",
        "the request came through a proxy, or server.proxies names one; without keys, anybody who can reach the "
        "proxy would have full access; create a key with `fairbandits keys create`, or serve with --uds PATH or "
        "--insecure",
    )


def too_large(limit: int) -> ProblemError:
    """Return the problem of a body that is too large; the rest of it is not read."""
    return ProblemError(
        413,
        "Content too large",
        f"a body must have at most {limit:,} bytes (limits.body); send less per request",
        headers={"Connection": "close"},
    )


def length_required() -> ProblemError:
    """Return the problem of a body without its length."""
    return ProblemError(411, "Length required", "send the body with its Content-Length, not in chunks")


def unsupported_type(expected: str) -> ProblemError:
    """Return the problem of a body of another media type."""
    return ProblemError(415, "Unsupported media type", f"send Content-Type: {expected}, not compressed")


def too_many_requests(wait: float) -> ProblemError:
    """Return the problem of a client that sends too many requests."""
    seconds = str(math.ceil(wait))
    return ProblemError(
        429,
        "Too many requests",
        f"the rate exceeds limits.rate; try again after {seconds} s",
        headers={"Retry-After": seconds},
    )


def too_many_logins(wait: float) -> ProblemError:
    """Return the problem of a key with which too many sessions are opened."""
    seconds = str(math.ceil(wait))
    detail = f"there are too many logins; try again after {seconds} s"
    return ProblemError(429, "Too many requests", detail, headers={"Retry-After": seconds})


def too_costly(cost: int, limit: int) -> ProblemError:
    """Return the problem of a request that would keep the service busy for too long."""
    return ProblemError(
        422,
        "Request too costly",
        f"a request must cost at most {limit:,} (limits.cost), got {cost:,}; the cost is the sum over users of "
        "arms on offer x (1 + k/10) + k x a constant; split the request, or ask for smaller slates",
    )


def too_much_waiting(limit: int) -> ProblemError:
    """Return the problem of a client whose earlier requests keep the service busy."""
    return ProblemError(
        429,
        "Too much work waiting",
        f"the waiting requests of this key cost too much in total: all keys share {limit:,} (limits.cost); "
        "wait for responses before sending more",
        headers={"Retry-After": "1"},
    )


def problem_from(error: Exception, source: str = "") -> ProblemError:
    """Return the problem of an error that a route raised; `source` is the address from which the request came."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, LogUnavailableError):
        return unavailable(str(error))
    if isinstance(error, StoreDownError):  # already logged where it was raised
        return unavailable("the store cannot be used at the moment; try again later")
    if isinstance(error, TooManyReadersError):
        return unavailable(str(error), retry_after=30)
    if isinstance(error, LogBrokenError):
        return ProblemError(500, "Internal error", str(error))
    return _unexpected(error, source)


def _unexpected(error: Exception, source: str) -> ProblemError:
    """Log where an unexpected error was raised, without its message; return a problem that names the log line."""
    number = secrets.token_hex(4)
    _log.error("error %s: %s", number, traceback_without_message(error), extra={"source": source})
    return ProblemError(500, "Internal error", f"unexpected error; the server's log has details under {number}")
