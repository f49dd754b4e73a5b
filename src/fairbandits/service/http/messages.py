"""Requests and responses of the API: parsing of bodies, pseudonyms, idempotency keys, and replies as JSON."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from fairbandits.service.http.problems import ProblemError, refused
from fairbandits.service.http.validation import validation_problem
from fairbandits.service.log.requests import IdempotencyKey, Outcome

_HEADER = b"idempotency-key"
_MAX_LENGTH = 200
# With 128 bits, the probability that any two of a billion users share a pseudonym is 1.5e-21.
_PSEUDONYM_BYTES = 16
_JSON = (b"content-type", b"application/json")


class BufferedRequest(Request):
    """A request whose body usually arrives in one message, which is returned without being streamed."""

    async def body(self) -> bytes:
        """Read the body."""
        message = await self.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body: bytes = message.get("body", b"")
        if message.get("more_body", False):
            body += await super().body()
        return body


class JsonResponse(Response):
    """A response whose body is already JSON.

    Parameters
    ----------
    body : bytes
        The body.
    """

    def __init__(self, body: bytes) -> None:
        self.status_code = 200
        self.body = body
        self.raw_headers = [_JSON, (b"content-length", b"%d" % len(body))]
        self.background = None


def parse(schema: TypeAdapter[Any], body: bytes) -> Any:
    """Return the values of a body; raise a problem if it does not fit the schema."""
    try:
        return schema.validate_json(body)
    except ValidationError as error:
        raise validation_problem(error, body) from None


def make_pseudonymiser(secret: bytes) -> Callable[[str], str]:
    """Return the function that the schemas call to replace a user's id with a pseudonym.

    The pseudonym is the first half of the HMAC-SHA256 of the id, in hexadecimal digits. Without the secret, nobody
    can compute it, not even for ids that can be guessed.
    """

    def pseudonymise(user: str) -> str:
        return hmac.digest(secret, user.encode(), "sha256")[:_PSEUDONYM_BYTES].hex()

    return pseudonymise


def body_without_ids(body: bytes, users: Sequence[Mapping[str, Any]]) -> bytes:
    """Return the content by which a repeated request for decisions is recognised, without user ids.

    Because the rest of the body is in the log, a digest of the body would reveal whether it contains a guessed id.
    """
    return to_json(users) if any("user" in user for user in users) else body


def idempotency_key(request: Request, body: bytes) -> IdempotencyKey | None:
    """Return the idempotency key of a request, if it has one. Keys of different clients never collide."""
    key = next((value for name, value in request.scope["headers"] if name == _HEADER), None)
    if key is None:
        return None
    if not 0 < len(key) <= _MAX_LENGTH:
        detail = f"Idempotency-Key must have 1 to {_MAX_LENGTH} characters, got {len(key)}"
        raise ProblemError(422, "Invalid request", detail, [{"detail": detail, "header": "Idempotency-Key"}])
    client = request.scope.get("state", {}).get("client", "")
    target = f"{request.method} {request.url.path}\n".encode()
    return IdempotencyKey(
        hashlib.sha256(f"{client}\n".encode() + key).hexdigest(), hashlib.sha256(target + body).hexdigest()
    )


def respond(outcome: Outcome, pointer: str = "#") -> Response:
    """Return the response to a request that the log has settled; raise a problem if it was refused."""
    if isinstance(outcome, bytes):
        return JsonResponse(outcome)
    raise refused(outcome, pointer)
