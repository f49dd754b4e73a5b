"""The OpenAPI description: the types of requests and responses, the scopes of routes, and examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from pydantic import TypeAdapter

from fairbandits.service.http import schemas as types
from fairbandits.service.http.fairness_schema import FairnessResponse
from fairbandits.service.http.problems import PROBLEM_TYPE
from fairbandits.service.http.routing import RouteTable, access
from fairbandits.service.http.schemas import Schemas

_REF = "#/components/schemas/{model}"
_RESPONSES = (
    types.DecisionResponse,
    types.DecisionsResponse,
    types.RewardResponse,
    types.RewardsResponse,
    types.ArmResponse,
    types.ArmsResponse,
    types.ReadyResponse,
    types.Problem,
    FairnessResponse,
)
_PROBLEMS = {
    400: "The body is not JSON",
    401: "The key is missing or unknown",
    403: "The key lacks the scope",
    404: "Not found",
    409: "Conflict with the log",
    410: "Too late",
    411: "The Content-Length is missing",
    413: "The body is too large",
    415: "The body was not sent as JSON",
    422: "Invalid; `errors` lists what is wrong and where",
    429: "Too many requests; try again after the number of seconds in Retry-After",
    503: (
        "The log cannot be written at the moment, and nothing has changed; try again after the number of seconds "
        "in Retry-After"
    ),
}
_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
    "description": "Any text. A request repeated with the same key takes effect once and gets the same response.",
}


def json_body(name: str, many: str | None = None) -> dict[str, Any]:
    """Describe the body of a request, and its idempotency key."""
    schema = _ref(name) if many is None else {"oneOf": [_ref(name), _ref(many)]}
    return {
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        "parameters": [_IDEMPOTENCY_KEY],
    }


def json_responses(name: str, *errors: int, many: str | None = None) -> dict[int | str, dict[str, Any]]:
    """Describe the responses to a request."""
    schema = _ref(name) if many is None else {"oneOf": [_ref(name), _ref(many)]}
    success = {
        200: {"description": "Done and written to disk", "content": {"application/json": {"schema": schema}}}
    }
    problems = {status: _problem(status) for status in (400, *errors, 503)}
    return success | problems  # type: ignore[return-value]


def routes(app: FastAPI) -> APIRouter:
    """Return the route of the OpenAPI description."""
    router = APIRouter(include_in_schema=False)

    @router.get("/openapi.json")
    @access("read")
    async def description() -> JSONResponse:
        return JSONResponse(app.openapi())

    return router


def install_openapi(app: FastAPI, table: RouteTable, schemas: Schemas) -> None:
    """Make an app describe itself, with the types and scopes of its routes."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            spec = get_openapi(
                title=app.title, version=app.version, description=app.description, routes=app.routes
            )
            spec.setdefault("components", {}).setdefault("schemas", {}).update(_components(schemas))
            _add_security(spec, table)
            _add_examples(spec, schemas.examples)
            app.openapi_schema = spec
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _components(schemas: Schemas) -> dict[str, Any]:
    requests = {
        "DecisionRequest": schemas.decision,
        "DecisionsRequest": schemas.decisions,
        "RewardRequest": schemas.reward,
        "RewardsRequest": schemas.rewards,
        "Arm": schemas.arm,
        "Arms": schemas.arms,
        "ArmChange": schemas.change,
    }
    typed = [(name, "validation", adapter) for name, adapter in requests.items()]
    typed += [(kind.__name__, "serialization", TypeAdapter(kind)) for kind in _RESPONSES]
    by_name, shared = TypeAdapter.json_schemas(typed, ref_template=_REF)  # type: ignore[arg-type]
    named = {
        name: schema for (name, _), schema in by_name.items() if schema.get("$ref") != _REF.format(model=name)
    }
    return {**shared.get("$defs", {}), **named}


def _add_security(spec: dict[str, Any], table: RouteTable) -> None:
    """Add the scope of each operation, and the problems that the gate responds with."""
    spec["components"]["securitySchemes"] = {
        "key": {"type": "http", "scheme": "bearer", "description": "A key that `fairbandits keys create` created."}
    }
    for path, operations in spec["paths"].items():
        for method, operation in operations.items():
            route = table.find(method.upper(), path)
            statuses = {429} if route.scope is None else {401, 403, 429}
            if route.body is not None:
                statuses |= {411, 413, 415}
            for status in sorted(statuses):
                operation["responses"][str(status)] = _problem(status)
            if route.scope is not None:
                operation["security"] = [{"key": []}]
                operation["description"] += f"\n\nNeeds a key with the scope `{route.scope}`."


def _problem(status: int) -> dict[str, Any]:
    return {"description": _PROBLEMS[status], "content": {PROBLEM_TYPE: {"schema": _ref("Problem")}}}


def _add_examples(spec: dict[str, Any], examples: Mapping[str, Any]) -> None:
    for operations in spec["paths"].values():
        for operation in operations.values():
            for part in (operation.get("requestBody", {}), operation["responses"].get("200", {})):
                content = part.get("content", {}).get("application/json", {})
                schema = content.get("schema", {})
                name = schema.get("oneOf", [schema])[0].get("$ref", "").rsplit("/", 1)[-1]
                if name in examples:
                    content["example"] = examples[name]


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": _REF.format(model=name)}
