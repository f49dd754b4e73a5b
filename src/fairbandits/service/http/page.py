"""`/`, `/docs` and `/static/`: the pages and their files."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request
from starlette.responses import Response

from fairbandits.service.http.problems import ProblemError
from fairbandits.service.http.routing import access
from fairbandits.service.page.assets import load_asset

_SESSION = b"<!--session-->"
_LOG_OUT = b'<form method="post" action="/logout"><button>Log out</button></form>'


def routes() -> APIRouter:
    """Return the routes."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    @access("read", page=True)
    async def page(request: Request) -> Response:
        return _send_page(request, "index.html")

    @router.get("/docs")
    @access("read", page=True)
    async def docs(request: Request) -> Response:
        return _send_page(request, "docs.html")

    @router.get("/static/{name}")
    @access(None, page=True)
    async def static(request: Request, name: str) -> Response:
        return await _send_asset(request, name)

    return router


def _send_page(request: Request, name: str) -> Response:
    html = load_asset(name).body
    # Logging out makes sense only if the visitor has a key.
    has_key = "client" in request.scope.get("state", {})
    return Response(html.replace(_SESSION, _LOG_OUT if has_key else b""), media_type="text/html")


async def _send_asset(request: Request, name: str) -> Response:
    try:
        # This runs in a thread, because the first request for plotly.js compresses it.
        asset = await asyncio.to_thread(load_asset, name)
    except KeyError:
        raise ProblemError(404, "Not found", "the page has no such file") from None
    # Browsers must check whether a cached file is current, because a new release must not run scripts of an old
    # one.
    headers = {"ETag": asset.etag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == asset.etag:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        compressed = headers | {"Content-Encoding": "gzip"}
        return Response(asset.compressed, headers=compressed, media_type=asset.media_type)
    return Response(asset.body, headers=headers, media_type=asset.media_type)
