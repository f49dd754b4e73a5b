"""The short way to routes that need nothing from the framework but to be described."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

_Endpoint = Callable[[Request], Awaitable[Response]]


class Express:
    """Calls the endpoints that take a request and nothing else by their path, and hands on the rest.

    To find a route, its dependencies and its parameters takes the framework longer than a decision takes.

    Parameters
    ----------
    app : ASGIApp
        What takes the rest.
    routers : iterable of APIRouter
        Where the routes are.
    """

    def __init__(self, app: ASGIApp, routers: Iterable[APIRouter]) -> None:
        self._app = app
        self._routes = {
            (method, route.path): route
            for router in routers
            for route in router.routes
            if isinstance(route, APIRoute) and [*inspect.signature(route.endpoint).parameters] == ["request"]
            for method in route.methods or ()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a request."""
        route = self._routes.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        if route is None:
            await self._app(scope, receive, send)
            return
        scope["route"] = route
        endpoint: _Endpoint = route.endpoint
        response = await endpoint(_Request(scope, receive))
        await response(scope, receive, send)


class _Request(Request):
    """A request whose body comes in one piece, as nearly all do, and is handed on without being streamed."""

    async def body(self) -> bytes:
        """Read the body."""
        message = await self.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body: bytes = message.get("body", b"")
        if message.get("more_body", False):
            body += await super().body()
        return body
