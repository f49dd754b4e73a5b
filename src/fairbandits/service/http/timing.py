"""How long requests take, by route."""

from __future__ import annotations

import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairbandits.service.metrics import Metrics


class Timing:
    """Notes how long each request took, until its answer was sent.

    Parameters
    ----------
    app : ASGIApp
        What answers.
    metrics : Metrics
        Where it is noted.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            # The route, not the path: paths are without number.
            route = getattr(scope.get("route"), "path", "other")
            self._metrics.took(route, status, time.perf_counter() - began)
