"""Requests that are refused, and why."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import to_json

#: The type of answers that say what was wrong (RFC 9457).
PROBLEM_TYPE = "application/problem+json"


class RefusedError(Exception):
    """A request that is answered with an error.

    Parameters
    ----------
    status : int
        The status of HTTP.
    title : str
        What kind of error it is: the same words every time.
    detail : str
        What came, what was expected, what to do.
    errors : sequence of mapping, optional
        What is wrong, one by one: `detail` says what, `pointer` (a JSON pointer into the body), `parameter` or
        `header` says where.
    headers : mapping, optional
        Headers of the answer.
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
        """Give the problem as plain values."""
        plain: dict[str, Any] = {
            "type": "about:blank",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
        }
        return plain | {"errors": self.errors} if self.errors else plain

    def to_body(self) -> bytes:
        """Write the problem down."""
        return to_json(self.to_dict())


def where_of(error: BaseException) -> str:
    """Say what an error is and where it was, without its message: that may hold what came, which is sensitive."""
    return f"{type(error).__name__}\n{''.join(traceback.format_tb(error.__traceback__))}"


class UnavailableError(RefusedError):
    """The log cannot be written or read right now; what was asked for has not happened, or is found in the log."""

    def __init__(self, detail: str, retry_after: int = 1) -> None:
        super().__init__(503, "Service unavailable", detail, headers={"Retry-After": str(retry_after)})
