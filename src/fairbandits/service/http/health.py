"""`/health`, `/ready` and `/metrics`: routes for operators."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic_core import to_json

from fairbandits.service.engine import Engine
from fairbandits.service.http.openapi import json_responses
from fairbandits.service.http.problems import unavailable
from fairbandits.service.http.routing import access
from fairbandits.service.metrics import Metrics
from fairbandits.service.page.live_feed import LiveFeed
from fairbandits.service.shared_result import SharedResult


def routes(engine: Engine, metrics: Metrics, feed: LiveFeed) -> APIRouter:
    """Return the routes."""
    router = APIRouter(tags=["operations"])

    @router.get("/health")
    @access(None, probe=True)
    async def health(request: Request) -> Response:
        """Report that the process is alive and that its state follows the log; 503 if only a restart can help."""
        if engine.writer.broken is not None:
            raise unavailable("the state does not follow the log any more; see the server's log, then restart it")
        return Response(b'{"alive":true}', media_type="application/json")

    @router.get("/ready", responses=json_responses("ReadyResponse"))
    @access(None, probe=True)
    async def ready(request: Request) -> Response:
        """Report whether the service can decide and learn: whether the log was written a moment ago.

        Keys that may read also get the last applied log entry and a checksum of the state.
        """
        if not engine.writer.is_ready:
            raise unavailable("the log cannot be used at the moment; see the server's log")
        if "read" not in request.scope["state"]["scopes"]:
            return Response(to_json({"ready": True}), media_type="application/json")
        seq, checksum = await engine.checksum()
        return Response(to_json({"ready": True, "seq": seq, "checksum": checksum}), media_type="application/json")

    async def render() -> bytes:
        # The findings have just been brought up to date, so they are not computed here.
        return metrics.render((await feed.last()).findings)

    rendered = SharedResult(render, is_current=lambda _: False)

    @router.get("/metrics", response_class=PlainTextResponse)
    @access("read")
    async def prometheus() -> Response:
        """Return metrics for Prometheus."""
        await feed.current()
        return Response(await rendered.get(), media_type=CONTENT_TYPE_LATEST)

    return router
