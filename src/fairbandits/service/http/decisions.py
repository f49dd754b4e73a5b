"""`POST /v1/decisions`: decisions for one user or many, as far as their cost allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from fastapi import APIRouter, Request, Response

from fairbandits.service.engine import Engine
from fairbandits.service.http.messages import body_without_ids, idempotency_key, parse, respond
from fairbandits.service.http.openapi import json_body, json_responses
from fairbandits.service.http.problems import too_costly, too_much_waiting
from fairbandits.service.http.routing import access
from fairbandits.service.http.schemas import Schemas
from fairbandits.service.log.requests import Outcome, Refusal
from fairbandits.service.state.decider import DecisionRequest
from fairbandits.service.state.recommender import ServedRecommender

# The unit of cost is the scoring of one arm (25 ns, as measured). In this unit: the cost of an arm on offer
# for one more place of a slate; of choosing, sending and storing one arm; and of a column of its context.
_ORDERED = 0.1
_CHOSEN, _COLUMN = 1000, 8
# The cost that one token of the rate limit pays for: about as much as the rest of a request.
_COST_OF_TOKEN = 10_000
# However many clients wait, each may have this share of the limit waiting.
_LEAST_SHARE = 0.1


def request_cost(users: Sequence[Mapping[str, Any]], n_arms: int, width: int) -> int:
    """Return the cost of deciding for users, in arms scored.

    Parameters
    ----------
    users : sequence of mapping
        The users, as `DecisionRequest` has them.
    n_arms : int
        The number of arms in the catalogue.
    width : int
        The number of columns of a context, which is stored with every chosen arm.
    """
    cost, of_arm = 0.0, arm_cost(width)
    for user in users:
        offered = user.get("arms")
        k = user.get("k", 1)
        cost += (n_arms if offered is None else len(offered)) * (1.0 + _ORDERED * k) + k * of_arm
    return int(cost)


def arm_cost(width: int) -> int:
    """Return the cost of choosing, storing or learning one arm, whose context has so many columns."""
    return _CHOSEN + _COLUMN * width


class WaitingWork:
    """The cost of the requests that wait for their decisions, by client: no client may hold up the others.

    Parameters
    ----------
    limit : int
        The cost of one request at most (limits.cost). Clients with waiting requests share it evenly.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiting: dict[str, int] = {}

    def add(self, client: str, cost: int) -> None:
        """Add a request; raise a problem if it costs too much, or if the client has too much waiting."""
        if cost > self._limit:
            raise too_costly(cost, self._limit)
        waiting = self._waiting.get(client, 0)
        # One request is accepted in any case, so that any that is not too costly can be sent at some time.
        if waiting and waiting + cost > self._limit * max(1.0 / len(self._waiting), _LEAST_SHARE):
            raise too_much_waiting(self._limit)
        self._waiting[client] = waiting + cost

    def remove(self, client: str, cost: int) -> None:
        """Remove a request that was answered."""
        left = self._waiting[client] - cost
        if left:
            self._waiting[client] = left
        else:
            del self._waiting[client]


def routes(engine: Engine, schemas: Schemas) -> APIRouter:
    """Return the routes."""
    router = APIRouter(prefix="/v1/decisions", tags=["decisions"])
    work = WaitingWork(engine.config.limits.cost)
    width = len(engine.config.columns)

    async def write(request: Request, body: bytes, users: list[dict[str, Any]], is_batch: bool) -> Outcome:
        """Submit the users to the writer, unless they cost too much."""
        recommender = cast(ServedRecommender, engine.follower.folds["recommender"])
        cost = request_cost(users, len(recommender.catalogue.arms), width)
        state = request.scope["state"]
        client = state["payer"]
        asked = DecisionRequest(
            users=users,
            is_batch=is_batch,
            idempotency=idempotency_key(request, body_without_ids(body, users)),
            size=sum(user.get("k") or 1 for user in users),
        )
        if "client" in state:
            for user in users:
                user["key_id"] = state["client"]
        work.add(client, cost)
        state["tokens"] = cost // _COST_OF_TOKEN
        try:
            return await engine.writer.write(asked)
        finally:
            work.remove(client, cost)

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
        """Choose for many users at once; either all decisions are made or none."""
        body = await request.body()
        outcome = await write(request, body, parse(schemas.decisions, body)["decisions"], True)
        pointer = f"#/decisions/{outcome.item}" if isinstance(outcome, Refusal) else "#"
        return respond(outcome, pointer)

    return router
