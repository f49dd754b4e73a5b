"""Routes declare their access; a route without one is not served."""

import asyncio

import httpx
import pytest
from fastapi import APIRouter

from fairbandits.service.demo import demo_config
from fairbandits.service.http import health
from fairbandits.service.http.app import create_app
from fairbandits.service.http.problems import ProblemError
from fairbandits.service.http.routing import RouteTable, access


@pytest.fixture
def app(tmp_path):
    return create_app(demo_config(store={"url": f"sqlite:///{tmp_path}/x.db"}))


def all_paths(routes):
    """List the paths of an app's routes, whether or not they are in the schema, through the included routers."""
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from all_paths(inner.routes)
        else:
            yield from ((method, route.path) for method in getattr(route, "methods", None) or ["GET"])


def test_every_route_of_the_framework_is_in_the_table(app):
    # The framework does not know of HEAD, which health checks answer without it.
    table = {(route.method, route.path): route for route in app.gate.routes if route.method != "HEAD"}
    assert {(method, path.replace(":path", "")) for method, path in all_paths(app.routes)} == set(table)
    for path, operations in app.openapi()["paths"].items():
        for method, operation in operations.items():
            assert ("security" in operation) == (table[method.upper(), path].scope is not None)


def test_a_route_without_declared_access_fails_at_the_start(tmp_path, monkeypatch):
    make_routes = health.routes

    def routes_with_secret(*args):
        router = make_routes(*args)
        router.add_api_route("/v1/secret", lambda: "secret")
        return router

    monkeypatch.setattr(health, "routes", routes_with_secret)
    with pytest.raises(ValueError, match="GET /v1/secret must declare its access"):
        create_app(demo_config(store={"url": f"sqlite:///{tmp_path}/x.db"}))


def test_a_route_that_is_added_later_is_not_served(app):
    app.add_api_route("/v1/secret", lambda: "secret")
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1")
    answer = asyncio.run(client.get("/v1/secret"))
    assert answer.status_code == 404
    assert "secret" not in answer.text


def test_a_scope_must_be_known():
    with pytest.raises(ValueError, match="scope must be None or one of decide, reward, read, admin, got 'root'"):
        access("root")


def test_routes_are_found_by_method_and_path():
    router = APIRouter()

    @router.put("/v1/arms/{arm:path}")
    @access("admin", body="json")
    async def change(arm: str) -> None:
        """Change an arm."""

    table = RouteTable([router])
    found = table.find("PUT", "/v1/arms/blue shoes/2")
    assert (found.path, found.scope, found.body, found.endpoint) == ("/v1/arms/{arm}", "admin", "json", None)
    with pytest.raises(ProblemError, match="the method must be PUT, got GET") as error:
        table.find("GET", "/v1/arms/x")
    assert (error.value.status, error.value.headers) == (405, {"Allow": "PUT"})
    with pytest.raises(ProblemError, match="there is nothing at this path"):
        table.find("GET", "/v1/arms/")
