"""The description of the API: the types of requests and answers, with examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter

from fairbandits.service.auth.scopes import access_to
from fairbandits.service.http import schemas as known
from fairbandits.service.http.fairness_schema import FairnessAnswer
from fairbandits.service.http.problems import PROBLEM_TYPE
from fairbandits.service.http.schemas import Schemas

_REF = "#/components/schemas/{model}"
_ANSWERS = (
    known.DecisionAnswer,
    known.DecisionsAnswer,
    known.RewardAnswer,
    known.RewardsAnswer,
    known.ArmAnswer,
    known.ArmsAnswer,
    known.Ready,
    known.Problem,
    FairnessAnswer,
)
_TITLES = {
    400: "The body is no JSON",
    401: "No key, or none that is known",
    403: "The key is not good for this",
    404: "Not known here",
    409: "In conflict with what stands in the log",
    410: "Too late",
    411: "The body came without its length",
    413: "The body is too large",
    415: "The body is not sent as JSON",
    422: "Not as it should be: what and where is said",
    429: "Too often: try again after the seconds of Retry-After",
    503: "The log cannot be written right now: nothing has happened; try again after the seconds of Retry-After",
}
_ONCE = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
    "description": "Any text of your own: the same request with the same key has one effect and one answer.",
}


def takes(name: str, many: str | None = None) -> dict[str, Any]:
    """Describe the body of a request, and its idempotency key."""
    schema = _ref(name) if many is None else {"oneOf": [_ref(name), _ref(many)]}
    return {
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        "parameters": [_ONCE],
    }


def answers(name: str, *errors: int, many: str | None = None) -> dict[int | str, dict[str, Any]]:
    """Describe the answers to a request."""
    schema = _ref(name) if many is None else {"oneOf": [_ref(name), _ref(many)]}
    good = {200: {"description": "Done, and on disk", "content": {"application/json": {"schema": schema}}}}
    bad = {status: _problem(status) for status in (400, *errors, 503)}
    return good | bad  # type: ignore[return-value]


def describe(app: FastAPI, schemas: Schemas) -> None:
    """Let an app describe itself with the types of its requests and answers."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            spec = get_openapi(
                title=app.title, version=app.version, description=app.description, routes=app.routes
            )
            spec.setdefault("components", {}).setdefault("schemas", {}).update(_components(schemas))
            _add_security(spec)
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
    given = [(name, "validation", adapter) for name, adapter in requests.items()]
    given += [(kind.__name__, "serialization", TypeAdapter(kind)) for kind in _ANSWERS]
    by_name, shared = TypeAdapter.json_schemas(given, ref_template=_REF)  # type: ignore[arg-type]
    found = {
        name: schema for (name, _), schema in by_name.items() if schema.get("$ref") != _REF.format(model=name)
    }
    return {**shared.get("$defs", {}), **found}


def _add_security(spec: dict[str, Any]) -> None:
    """Say which scope each operation needs, and what the gate answers."""
    spec["components"]["securitySchemes"] = {
        "key": {"type": "http", "scheme": "bearer", "description": "A key, made with `fairbandits keys create`."}
    }
    for path, operations in spec["paths"].items():
        for method, operation in operations.items():
            access = access_to(method.upper(), path)
            statuses = {429} if access.scope is None else {401, 403, 429}
            if access.body is not None:
                statuses |= {411, 413, 415}
            for status in sorted(statuses):
                operation["responses"][str(status)] = _problem(status)
            if access.scope is not None:
                operation["security"] = [{"key": []}]
                operation["description"] += f"\n\nNeeds a key with the scope `{access.scope}`."


def _problem(status: int) -> dict[str, Any]:
    return {"description": _TITLES[status], "content": {PROBLEM_TYPE: {"schema": _ref("Problem")}}}


def _add_examples(spec: dict[str, Any], examples: Mapping[str, Any]) -> None:
    for operations in spec["paths"].values():
        for operation in operations.values():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if content is not None:
                schema = content["schema"].get("oneOf", [content["schema"]])[0]
                content["example"] = examples[schema["$ref"].rsplit("/", 1)[1]]


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": _REF.format(model=name)}
