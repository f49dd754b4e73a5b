"""`/` and its files, `/v1/fairness` and `/v1/stream`."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from fairbandits.service.http.openapi import answers
from fairbandits.service.http.problems import RefusedError
from fairbandits.service.page import assets
from fairbandits.service.page.live import Live

_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"description": "Events, each with a FairnessAnswer", "content": {"text/event-stream": {}}}
}
_SESSION = b"<!--session-->"
_LOG_OUT = b'<form method="post" action="/logout"><button>Log out</button></form>'


def routes(live: Live) -> APIRouter:
    """Make the routes."""
    router = APIRouter()

    @router.get("/v1/fairness", tags=["fairness"], responses=answers("FairnessAnswer"))
    async def fairness() -> Response:
        """Say who gains less: now and over time, how sure that is, and by which arms.

        Groups with fewer rewards than the configured minimum are not in it.
        """
        view = await live.now()
        return Response(view.body, media_type="application/json")

    @router.get("/v1/stream", tags=["fairness"], response_class=StreamingResponse, responses=_EVENTS)
    async def stream() -> StreamingResponse:
        """Send what `/v1/fairness` answers, now and at most once a second as it changes: server-sent events."""
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(live.watch(), headers=headers, media_type="text/event-stream")

    @router.get("/", include_in_schema=False)
    async def page(request: Request) -> Response:
        html = assets.load("index.html").body
        # Who came in with a key can go out again.
        has_key = "client" in request.scope.get("state", {})
        return Response(html.replace(_SESSION, _LOG_OUT if has_key else b""), media_type="text/html")

    @router.get("/static/{name}", include_in_schema=False)
    async def static(request: Request, name: str) -> Response:
        return await _send(request, name)

    return router


async def _send(request: Request, name: str) -> Response:
    try:
        # The first time, plotly.js is packed, which takes a moment.
        asset = await asyncio.to_thread(assets.load, name)
    except KeyError:
        raise RefusedError(404, "Not found", "the page has no such file") from None
    # Kept by browsers, and asked for again: a new release must not be drawn with the files of an old one.
    headers = {"ETag": asset.tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == asset.tag:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(asset.packed, headers=headers | {"Content-Encoding": "gzip"}, media_type=asset.media_type)
    return Response(asset.body, headers=headers, media_type=asset.media_type)
