"""`POST /v1/decisions`: decisions for one user or many."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from fairbandits.service.engine import Engine
from fairbandits.service.http.messages import body_without_ids, idempotency_key, parse, respond
from fairbandits.service.http.openapi import json_body, json_responses
from fairbandits.service.http.routing import access
from fairbandits.service.http.schemas import Schemas
from fairbandits.service.log.requests import Refusal
from fairbandits.service.state.decider import DecisionRequest


def routes(engine: Engine, schemas: Schemas) -> APIRouter:
    """Return the routes."""
    router = APIRouter(prefix="/v1/decisions", tags=["decisions"])

    @router.post(
        "", openapi_extra=json_body("DecisionRequest"), responses=json_responses("DecisionResponse", 409, 422)
    )
    @access("decide", body="json")
    async def decide(request: Request) -> Response:
        """Choose an arm for a user, or a slate of k arms.

        Keep the id of the decision until its reward is known.
        """
        body = await request.body()
        users = [parse(schemas.decision, body)]
        key = idempotency_key(request, body_without_ids(body, users))
        return respond(await engine.writer.write(DecisionRequest(users=users, idempotency=key)))

    @router.post(
        "/batch",
        openapi_extra=json_body("DecisionsRequest"),
        responses=json_responses("DecisionsResponse", 409, 422),
    )
    @access("decide", body="json")
    async def decide_many(request: Request) -> Response:
        """Choose for many users at once; either all decisions are made or none."""
        body = await request.body()
        users = parse(schemas.decisions, body)["decisions"]
        key = idempotency_key(request, body_without_ids(body, users))
        size = sum(user.get("k") or 1 for user in users)
        asked = DecisionRequest(users=users, is_batch=True, idempotency=key, size=size)
        outcome = await engine.writer.write(asked)
        pointer = f"#/decisions/{outcome.item}" if isinstance(outcome, Refusal) else "#"
        return respond(outcome, pointer)

    return router
