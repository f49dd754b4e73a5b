"""What is wrong with a request, said so that it can be found: every error is a problem (RFC 9457) in the end.

The gate answers with them, be they from here or its own (`security/gate.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from pydantic_core import from_json
from starlette.exceptions import HTTPException
from starlette.responses import Response

from fairbandits.service.http.problems import RefusedError

_MOST_SAID = 20
_LONGEST_SAID = 300
# Beyond so many errors they are not even counted up one by one: that would take longer than checking.
_MOST_FOUND = 2000


def install(app: FastAPI) -> None:
    """Let an app hand on what the framework refuses."""
    app.add_exception_handler(HTTPException, _hand_on_http)
    app.add_exception_handler(RequestValidationError, _hand_on_parameters)
    app.add_exception_handler(Exception, _hand_on)


def invalid(error: ValidationError, body: bytes) -> RefusedError:
    """Say what pydantic found wrong with a body, without repeating values that came: they may be sensitive."""
    if error.error_count() > _MOST_FOUND:
        return RefusedError(422, "Invalid request", f"{error.error_count():,} things are wrong with it")
    found = error.errors(include_url=False, include_context=False, include_input=False)
    if found[0]["type"] == "json_invalid":
        return RefusedError(400, "Malformed JSON", found[0]["msg"])
    came = from_json(body)
    return invalid_at([(pointer_to(line["loc"], came), _said(line)) for line in found[:_MOST_SAID]])


def invalid_at(errors: Sequence[tuple[str, str]]) -> RefusedError:
    """Refuse a body: where, as a JSON pointer, and what is wrong there."""
    pointer, detail = errors[0]
    place = f"{pointer}: " if pointer != "#" else ""
    return RefusedError(
        422, "Invalid request", f"{place}{detail}", [{"detail": what, "pointer": where} for where, what in errors]
    )


def pointer_to(place: Sequence[Any], came: Any) -> str:
    """Write a place that pydantic names as a JSON pointer, as RFC 9457 has them.

    Pydantic also names the kinds of value that it tried; what came tells them from places.

    Examples
    --------
    >>> pointer_to(("reward", "constrained-float"), {"reward": "much"})
    '#/reward'
    >>> pointer_to(("decisions", 1, "features", "a/b"), {"decisions": [{}, {"features": {}}]})
    '#/decisions/1/features/a~1b'
    """
    parts = []
    for number, part in enumerate(place):
        is_last = number == len(place) - 1
        if isinstance(came, dict) and (part in came or is_last):
            parts.append(part)
            came = came.get(part)
        elif isinstance(came, list) and isinstance(part, int):
            parts.append(part)
            came = came[part] if part < len(came) else None
    return "#" + "".join(f"/{quote(str(part).replace('~', '~0').replace('/', '~1'))}" for part in parts)


def _said(line: Mapping[str, Any]) -> str:
    what = str(line["msg"]).removeprefix("Value error, ")
    return what if len(what) <= _LONGEST_SAID else f"{what[:_LONGEST_SAID]}..."


async def _hand_on(_: Request, error: Exception) -> Response:
    raise error


async def _hand_on_http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    raise RefusedError(error.status_code, error.detail, error.detail, headers=error.headers) from None


async def _hand_on_parameters(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    errors = [{"detail": _said(line), "parameter": str(line["loc"][-1])} for line in error.errors()[:_MOST_SAID]]
    first = errors[0]
    raise RefusedError(422, "Invalid request", f"{first['parameter']}: {first['detail']}", errors) from None
