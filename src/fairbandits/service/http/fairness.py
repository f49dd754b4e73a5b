"""`/v1/fairness` and `/v1/stream`: the findings, once or as a stream."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response, StreamingResponse

from fairbandits.service.http.openapi import json_responses
from fairbandits.service.http.routing import access
from fairbandits.service.page.live_feed import LiveFeed

_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"description": "Events, each with a FairnessResponse", "content": {"text/event-stream": {}}}
}


def routes(feed: LiveFeed) -> APIRouter:
    """Return the routes."""
    router = APIRouter(tags=["fairness"])

    @router.get("/v1/fairness", responses=json_responses("FairnessResponse"))
    @access("read")
    async def fairness() -> Response:
        """Compare the rewards of groups: the gap, its confidence interval, its history, and the arms behind it.

        Groups with fewer rewards than the configured minimum are left out.
        """
        view = await feed.current()
        return Response(view.body, media_type="application/json")

    @router.get("/v1/stream", response_class=StreamingResponse, responses=_EVENTS)
    @access("read")
    async def stream() -> StreamingResponse:
        """Stream the response of `/v1/fairness` as server-sent events: now, and after changes, once a second."""
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(feed.stream(), headers=headers, media_type="text/event-stream")

    return router
