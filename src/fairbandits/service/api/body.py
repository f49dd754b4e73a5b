"""The body of a request."""

from __future__ import annotations

from starlette.requests import ClientDisconnect, Request


async def read_body(request: Request) -> bytes:
    """Read all of it, mostly in one piece; `Request.body` makes more of it, which takes as long as a decision."""
    pieces = []
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        pieces.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(pieces)
