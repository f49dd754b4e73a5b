"""Validation errors as problems: the errors in a request, and their locations."""

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

from fairbandits.service.http.problems import ProblemError, invalid_body

_MAX_ERRORS = 20
_MAX_LENGTH = 300
# Beyond this number, errors are only counted, because listing them would take longer than validation.
_MAX_LISTED = 2000


def install_error_handlers(app: FastAPI) -> None:
    """Make the framework raise its errors as problems, which the gate answers."""
    app.add_exception_handler(HTTPException, _raise_http_problem)
    app.add_exception_handler(RequestValidationError, _raise_parameter_problem)
    app.add_exception_handler(Exception, _reraise)


def validation_problem(error: ValidationError, body: bytes) -> ProblemError:
    """Return the problem of a body, without repeating its values, which may be sensitive."""
    if error.error_count() > _MAX_LISTED:
        return ProblemError(422, "Invalid request", f"the body has {error.error_count():,} errors")
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    if errors[0]["type"] == "json_invalid":
        return ProblemError(400, "Malformed JSON", errors[0]["msg"])
    value = from_json(body)
    return invalid_body(
        [
            (json_pointer(each["loc"], value, is_missing=each["type"] == "missing"), _message(each))
            for each in errors[:_MAX_ERRORS]
        ]
    )


def json_pointer(location: Sequence[Any], value: Any, is_missing: bool = False) -> str:
    """Return pydantic's location of an error as a JSON pointer.

    Pydantic's locations also name the types that it tried. The value shows which parts are places in it. If
    `is_missing`, the last part names a place that the value does not have.

    Examples
    --------
    >>> json_pointer(("reward", "constrained-float"), {"reward": "much"})
    '#/reward'
    >>> json_pointer(("reward", "constrained-float"), {"reward": {}})
    '#/reward'
    >>> json_pointer(("reward",), {}, is_missing=True)
    '#/reward'
    >>> json_pointer(("decisions", 1, "features", "a/b"), {"decisions": [{}, {"features": {"a/b": 1}}]})
    '#/decisions/1/features/a~1b'
    """
    parts = []
    for number, part in enumerate(location):
        is_absent = is_missing and number == len(location) - 1
        if isinstance(value, dict) and (part in value or is_absent):
            parts.append(part)
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int):
            parts.append(part)
            value = value[part] if part < len(value) else None
    return "#" + "".join(f"/{quote(str(part).replace('~', '~0').replace('/', '~1'))}" for part in parts)


def _message(error: Mapping[str, Any]) -> str:
    message = str(error["msg"]).removeprefix("Value error, ")
    return message if len(message) <= _MAX_LENGTH else f"{message[:_MAX_LENGTH]}..."


async def _reraise(_: Request, error: Exception) -> Response:
    raise error


async def _raise_http_problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    raise ProblemError(error.status_code, error.detail, error.detail, headers=error.headers) from None


async def _raise_parameter_problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    errors = [
        {"detail": _message(each), "parameter": str(each["loc"][-1])} for each in error.errors()[:_MAX_ERRORS]
    ]
    first = errors[0]
    raise ProblemError(422, "Invalid request", f"{first['parameter']}: {first['detail']}", errors) from None
