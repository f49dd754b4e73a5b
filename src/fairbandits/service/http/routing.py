"""Routes with their declared access. A route without declared access is not served.

@router.post("/v1/decisions")
@access("decide", body="json")
async def decide(request: Request) -> Response: ...
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from fairbandits.service.auth.scopes import SCOPES
from fairbandits.service.http.problems import ProblemError

BodyKind = Literal["json", "form"]
_Endpoint = TypeVar("_Endpoint", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Access:
    """The access to a route.

    Attributes
    ----------
    scope : str or None
        The scope that a key must have; None if no key is needed.
    body : str or None
        The kind of the request's body.
    page : bool
        Whether a browser displays or runs the response.
    probe : bool
        Whether the route is a health check, which is exempt from all limits, and also answers HEAD requests.
    """

    scope: str | None
    body: BodyKind | None = None
    page: bool = False
    probe: bool = False


def access(
    scope: str | None, *, body: BodyKind | None = None, page: bool = False, probe: bool = False
) -> Callable[[_Endpoint], _Endpoint]:
    """Declare the access to a route; this decorator goes below that of the router."""
    if scope is not None and scope not in SCOPES:
        raise ValueError(f"scope must be None or one of {', '.join(SCOPES)}, got {scope!r}")

    def declare(endpoint: _Endpoint) -> _Endpoint:
        endpoint.access = Access(scope, body, page, probe)  # type: ignore[attr-defined]
        return endpoint

    return declare


@dataclass(frozen=True, slots=True)
class ServedRoute:
    """A route with its access.

    Attributes
    ----------
    method, path : str
        The HTTP method, and the path with `{name}` for parameters.
    scope, body, page, is_probe
        See `Access`.
    api_route : APIRoute
        The route of the framework.
    endpoint : callable or None
        The endpoint, if it takes a request and nothing else. It is then called without the framework, whose
        routing and dependency injection take longer than a decision.
    """

    method: str
    path: str
    scope: str | None
    body: BodyKind | None
    page: bool
    is_probe: bool
    api_route: APIRoute
    endpoint: Callable[[Request], Awaitable[Response]] | None


class RouteTable:
    """All routes of the service.

    Parameters
    ----------
    routers : iterable of APIRouter
        The routers. A route without declared access raises ValueError.
    """

    def __init__(self, routers: Iterable[APIRouter]) -> None:
        self._routes = {
            (route.method, route.path): route for router in routers for route in _served_routes(router)
        }
        # Health checks take a request and nothing else, so they bypass the framework, which does not handle HEAD.
        self._routes |= {("HEAD", route.path): replace(route, method="HEAD") for route in self if route.is_probe}
        self._patterns = [
            (re.compile(re.sub(r"\{\w+\}", "(.+)", route.path), re.DOTALL), route)
            for route in self._routes.values()
            if "{" in route.path
        ]

    def __iter__(self) -> Iterator[ServedRoute]:
        return iter(self._routes.values())

    def find(self, method: str, path: str) -> ServedRoute:
        """Return the route of a request; raise a problem if there is none."""
        found = self._routes.get((method, path))
        return found if found is not None else self._search(method, path)

    def _search(self, method: str, path: str) -> ServedRoute:
        by_method = {route.method: route for pattern, route in self._patterns if pattern.fullmatch(path)}
        by_method |= {route.method: route for route in self if route.path == path}
        if method in by_method:
            return by_method[method]
        if by_method:
            allowed = ", ".join(sorted(by_method))
            detail = f"the method must be {allowed}, got {method[:20]}"
            raise ProblemError(405, "Method not allowed", detail, headers={"Allow": allowed})
        raise ProblemError(404, "Not found", "there is nothing at this path; /docs describes the API")


def _served_routes(router: APIRouter) -> Iterator[ServedRoute]:
    for route in router.routes:
        methods = sorted(getattr(route, "methods", None) or ["?"])
        declared = getattr(getattr(route, "endpoint", None), "access", None)
        if not isinstance(route, APIRoute) or not isinstance(declared, Access):
            path = getattr(route, "path", "?")
            raise ValueError(
                f"{', '.join(methods)} {path} must declare its access; add @access(...) to its endpoint"
            )
        takes_request_only = [*inspect.signature(route.endpoint).parameters] == ["request"]
        endpoint = route.endpoint if takes_request_only else None
        for method in methods:
            yield ServedRoute(
                method,
                route.path_format,
                declared.scope,
                declared.body,
                declared.page,
                declared.probe,
                route,
                endpoint,
            )
