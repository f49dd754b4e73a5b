"""`POST /v1/decisions`: decisions for one or many users, if their cost allows."""

from __future__ import annotations

from typing import Any, cast

from fastapi import APIRouter, Request, Response

from fairbandits.service.engine import Engine
from fairbandits.service.http.cost import WaitingWork, request_cost
from fairbandits.service.http.messages import body_without_ids, idempotency_key, parse, respond
from fairbandits.service.http.openapi import json_body, json_responses
from fairbandits.service.http.routing import access
from fairbandits.service.http.schemas import Schemas
from fairbandits.service.log.requests import Outcome, Refusal
from fairbandits.service.state.decider import DecisionRequest
from fairbandits.service.state.recommender import ServedRecommender


def routes(engine: Engine, schemas: Schemas, work: WaitingWork) -> APIRouter:
    """Return the routes."""
    router = APIRouter(prefix="/v1/decisions", tags=["decisions"])
    width = len(engine.config.columns)

    async def write(request: Request, body: bytes, users: list[dict[str, Any]], is_batch: bool) -> Outcome:
        """Submit the users to the writer, unless they cost too much."""
        recommender = cast(ServedRecommender, engine.follower.folds["recommender"])
        cost = request_cost(users, len(recommender.catalogue.arms), width)
        state = request.scope["state"]
        asked = DecisionRequest(
            users=users,
            is_batch=is_batch,
            idempotency=idempotency_key(request, body_without_ids(body, users)),
            client=state["payer"],
            size=sum(user.get("k") or 1 for user in users),
        )
        if "client" in state:
            for user in users:
                user["key_id"] = state["client"]
        return await work.write(engine.writer, asked, cost, state)

    @router.post(
        "", openapi_extra=json_body("DecisionRequest"), responses=json_responses("DecisionResponse", 409, 422)
    )
    @access("decide", body="json")
    async def decide(request: Request) -> Response:
        """Choose an arm for a user, or a slate of k arms.

        Keep the id of the decision until its reward is known.
        """
        body = await request.body()
        return respond(await write(request, body, [parse(schemas.decision, body)], False))

    @router.post(
        "/batch",
        openapi_extra=json_body("DecisionsRequest"),
        responses=json_responses("DecisionsResponse", 409, 422),
    )
    @access("decide", body="json")
    async def decide_many(request: Request) -> Response:
        """Choose for many users at once; either all decisions are made or none are."""
        body = await request.body()
        outcome = await write(request, body, parse(schemas.decisions, body)["decisions"], True)
        pointer = f"#/decisions/{outcome.item}" if isinstance(outcome, Refusal) else "#"
        return respond(outcome, pointer)

    return router
