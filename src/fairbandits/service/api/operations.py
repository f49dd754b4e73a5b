"""What operators ask: is it alive, is it ready, how does it fare."""

from __future__ import annotations

from fastapi import FastAPI, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic_core import to_json

from fairbandits.service.api.openapi import answers
from fairbandits.service.engine import Engine
from fairbandits.service.metrics import Metrics
from fairbandits.service.refused import UnavailableError


def add_routes(app: FastAPI, engine: Engine, metrics: Metrics) -> None:
    """Let an app say how it fares."""

    @app.get("/health", tags=["operations"])
    async def health() -> dict[str, bool]:
        """Say that the process is alive."""
        return {"alive": True}

    @app.get("/ready", tags=["operations"], responses=answers("Ready"))
    async def ready() -> Response:
        """Say whether it can serve; up to where the log was followed, and the fingerprint of what was learned."""
        reason = engine.writer.broken or engine.writer.down
        if reason is not None:
            raise UnavailableError("the log cannot be used right now; see the server's log")
        seq, checksum = await engine.checksum()
        return Response(to_json({"ready": True, "seq": seq, "checksum": checksum}), media_type="application/json")

    @app.get("/metrics", tags=["operations"], response_class=PlainTextResponse)
    async def numbers() -> Response:
        """Give the numbers that Prometheus reads."""
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)
