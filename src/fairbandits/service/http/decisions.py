"""`POST /v1/decisions`: decisions for one user or many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic_core import to_json

from fairbandits.service.engine import Engine
from fairbandits.service.http.messages import idempotency_key, parse, respond
from fairbandits.service.http.openapi import json_body, json_responses
from fairbandits.service.http.routing import access
from fairbandits.service.http.schemas import Schemas
from fairbandits.service.log.events import Decided
from fairbandits.service.log.requests import Refusal
from fairbandits.service.state.decider import DecisionRequest


class _OneDecision(DecisionRequest):
    __slots__ = ()

    def reply(self, decisions: Sequence[Decided]) -> bytes:
        return to_json(_to_dict(decisions[0]))


class _DecisionBatch(DecisionRequest):
    __slots__ = ()

    def reply(self, decisions: Sequence[Decided]) -> bytes:
        return to_json({"decisions": [_to_dict(each) for each in decisions]})


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
        user = parse(schemas.decision, body)
        asked = _OneDecision(users=[user], idempotency=idempotency_key(request, body))
        return respond(await engine.writer.write(asked))

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
        asked = _DecisionBatch(users=users, idempotency=idempotency_key(request, body))
        outcome = await engine.writer.write(asked)
        pointer = f"#/decisions/{outcome.item}" if isinstance(outcome, Refusal) else "#"
        return respond(outcome, pointer)

    return router


def _to_dict(decided: Decided) -> dict[str, Any]:
    choice = (
        {"slate": decided.picked, "scores": decided.scores}
        if decided.slate
        else {"arm": decided.picked[0], "scores": decided.scores[0]}
    )
    return {"decision": decided.id, "propensity": decided.propensity, **choice}
