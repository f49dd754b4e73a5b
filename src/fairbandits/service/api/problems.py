"""Errors as problem+json (RFC 9457): what, where, and what to do."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from pydantic import ValidationError
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.responses import Response

from fairbandits.service.refused import RefusedError

MEDIA_TYPE = "application/problem+json"


def install(app: FastAPI) -> None:
    """Let an app answer all errors as problems."""
    app.add_exception_handler(RefusedError, _refused)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unexpected)


def problem(refused: RefusedError) -> Response:
    """Make the answer to a request that is refused."""
    return Response(to_json(as_plain(refused)), refused.status, refused.headers, MEDIA_TYPE)


def as_plain(refused: RefusedError) -> dict[str, Any]:
    """Give a problem as plain values."""
    plain: dict[str, Any] = {
        "type": "about:blank",
        "title": refused.title,
        "status": refused.status,
        "detail": refused.detail,
    }
    if refused.errors:
        plain["errors"] = list(refused.errors)
    return plain


def invalid(error: ValidationError) -> RefusedError:
    """Say what pydantic found wrong with a request, without repeating what came: it may be sensitive."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    if found[0]["type"] == "json_invalid":
        return RefusedError(400, "Malformed JSON", found[0]["msg"])
    errors = [
        {"where": ".".join(str(part) for part in line["loc"]), "what": line["msg"].removeprefix("Value error, ")}
        for line in found[:20]
    ]
    first = errors[0]
    place = f"{first['where']}: " if first["where"] else ""
    return RefusedError(422, "Invalid request", f"{place}{first['what']}", errors)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)  # noqa: S101
    return problem(error)


async def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    return problem(RefusedError(error.status_code, error.detail, error.detail, headers=error.headers))


async def _unexpected(_: Request, error: Exception) -> Response:
    return problem(RefusedError(500, "Internal error", f"{type(error).__name__}; the server's log says more"))
