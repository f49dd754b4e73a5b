"""What operators ask: is it alive, is it ready, how does it fare."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic_core import to_json

from fairbandits.service.engine import Engine
from fairbandits.service.http.openapi import answers
from fairbandits.service.http.problems import UnavailableError
from fairbandits.service.metrics import Metrics
from fairbandits.service.page import Live


def routes(engine: Engine, metrics: Metrics, live: Live) -> APIRouter:
    """Make the routes."""
    router = APIRouter(tags=["operations"])

    @router.get("/health")
    async def health() -> dict[str, bool]:
        """Say that the process is alive."""
        return {"alive": True}

    @router.get("/ready", responses=answers("Ready"))
    async def ready(request: Request) -> Response:
        """Say whether it can serve.

        To those who may read: up to where the log was followed, and the fingerprint of what was learned.
        """
        reason = engine.writer.broken or engine.writer.down
        if reason is not None:
            raise UnavailableError("the log cannot be used right now; see the server's log")
        if "read" not in request.scope["state"]["scopes"]:
            return Response(to_json({"ready": True}), media_type="application/json")
        seq, checksum = await engine.checksum()
        return Response(to_json({"ready": True, "seq": seq, "checksum": checksum}), media_type="application/json")

    @router.get("/metrics", response_class=PlainTextResponse)
    async def numbers() -> Response:
        """Give the numbers that Prometheus reads."""
        view = await live.now()
        return Response(metrics.text(view.findings), media_type=CONTENT_TYPE_LATEST)

    return router
