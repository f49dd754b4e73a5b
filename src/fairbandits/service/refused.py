"""Requests that are refused, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


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
        Where several things are wrong: for each `where` and `what`.
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


class UnavailableError(RefusedError):
    """The log cannot be written or read right now; what was asked for has not happened, or is found in the log."""

    def __init__(self, detail: str, retry_after: int = 1) -> None:
        super().__init__(503, "Service unavailable", detail, headers={"Retry-After": str(retry_after)})
