"""`POST /v1/decisions`: which arm, for one user or many."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request, Response
from pydantic_core import to_json

from fairbandits.service.api.once import as_response, once
from fairbandits.service.api.openapi import answers, takes
from fairbandits.service.api.schemas import Schemas, parse
from fairbandits.service.engine import Decide, Engine
from fairbandits.service.events import Decided
from fairbandits.service.store import Answer


def add_routes(app: FastAPI, engine: Engine, schemas: Schemas) -> None:
    """Let an app decide."""

    @app.post(
        "/v1/decisions",
        tags=["decisions"],
        openapi_extra=takes("DecisionRequest"),
        responses=answers("DecisionAnswer", 409, 422),
    )
    async def decide(request: Request) -> Response:
        """Pick an arm for a user, or k arms in an order.

        Keep the decision's id until the reward comes.
        """
        body = await request.body()
        given = parse(schemas.decision, body)
        return as_response(
            await engine.writer.write(Decide(requests=[given], as_answer=_one, once=once(request, body)))
        )

    @app.post(
        "/v1/decisions/batch",
        tags=["decisions"],
        openapi_extra=takes("DecisionsRequest"),
        responses=answers("DecisionsAnswer", 409, 422),
    )
    async def decide_many(request: Request) -> Response:
        """Pick for many users at once; all or none."""
        body = await request.body()
        given = parse(schemas.decisions, body)["decisions"]
        return as_response(
            await engine.writer.write(Decide(requests=given, as_answer=_several, once=once(request, body)))
        )


def _one(decided: list[Decided]) -> Answer:
    return Answer(200, to_json(_plain(decided[0])))


def _several(decided: list[Decided]) -> Answer:
    return Answer(200, to_json({"decisions": [_plain(one) for one in decided]}))


def _plain(decided: Decided) -> dict[str, Any]:
    picked = (
        {"slate": decided.picked, "scores": decided.scores}
        if decided.slate
        else {"arm": decided.picked[0], "scores": decided.scores[0]}
    )
    return {"decision": decided.id, "propensity": decided.propensity, **picked}
