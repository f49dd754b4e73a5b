"""Idempotency keys: the same request twice has one effect and one answer."""

from __future__ import annotations

import hashlib

from starlette.requests import Request
from starlette.responses import Response

from fairbandits.service.http.problems import RefusedError
from fairbandits.service.log import Answer, Settled, Write

_HEADER = b"idempotency-key"
_LONGEST = 200
_JSON = (b"content-type", b"application/json")


def once(request: Request, body: bytes) -> tuple[str, str] | None:
    """Give the key of a request, which is its client's alone, and the digest of what it asks for."""
    key = next((value for name, value in request.scope["headers"] if name == _HEADER), None)
    if key is None:
        return None
    if not 0 < len(key) <= _LONGEST:
        detail = f"an Idempotency-Key has 1 to {_LONGEST} characters; got {len(key)}"
        raise RefusedError(422, "Invalid request", detail, [{"detail": detail, "header": "Idempotency-Key"}])
    client = request.scope.get("state", {}).get("client", "")
    place = f"{request.method} {request.url.path}\n".encode()
    return hashlib.sha256(f"{client}\n".encode() + key).hexdigest(), hashlib.sha256(place + body).hexdigest()


def refusing(error: RefusedError, key: tuple[str, str] | None) -> Write:
    """Refuse a request, unless it came before with the same key: what was true then may be so no more."""
    if key is None:
        raise error
    settled = Settled((), error)
    return Write(lambda _: settled, once=key)


class Written(Response):
    """An answer that is written already: JSON, with its length and nothing else to look up.

    Parameters
    ----------
    answer : Answer
        The answer.
    """

    def __init__(self, answer: Answer) -> None:
        self.status_code = answer.status
        self.body = answer.body
        self.raw_headers = [_JSON, (b"content-length", b"%d" % len(answer.body))]
        self.background = None
