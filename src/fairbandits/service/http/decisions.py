"""`POST /v1/decisions`: which arm, for one user or many."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic_core import to_json

from fairbandits.service.engine import Decide, Engine
from fairbandits.service.http.idempotency import Written, once
from fairbandits.service.http.openapi import answers, takes
from fairbandits.service.http.problems import RefusedError
from fairbandits.service.http.schemas import Schemas, parse
from fairbandits.service.http.validation import invalid_at
from fairbandits.service.log import Answer
from fairbandits.service.log.events import Decided
from fairbandits.service.state.recommender import NoArmsError


def routes(engine: Engine, schemas: Schemas) -> APIRouter:
    """Make the routes."""
    router = APIRouter(prefix="/v1/decisions", tags=["decisions"])

    @router.post("", openapi_extra=takes("DecisionRequest"), responses=answers("DecisionAnswer", 409, 422))
    async def decide(request: Request) -> Response:
        """Pick an arm for a user, or k arms in an order.

        Keep the decision's id until the reward comes.
        """
        body = await request.body()
        given = parse(schemas.decision, body)
        asking = Decide(requests=[given], as_answer=_one, refuse=_refuse_one, once=once(request, body))
        return Written(await engine.writer.write(asking))

    @router.post("/batch", openapi_extra=takes("DecisionsRequest"), responses=answers("DecisionsAnswer", 409, 422))
    async def decide_many(request: Request) -> Response:
        """Pick for many users at once; all or none."""
        body = await request.body()
        given = parse(schemas.decisions, body)["decisions"]
        asking = Decide(requests=given, as_answer=_several, refuse=_refuse_several, once=once(request, body))
        return Written(await engine.writer.write(asking))

    return router


def _refuse_one(_: int, error: ValueError) -> RefusedError:
    return _refused("#", error)


def _refuse_several(number: int, error: ValueError) -> RefusedError:
    return _refused(f"#/decisions/{number}", error)


def _refused(pointer: str, error: ValueError) -> RefusedError:
    if isinstance(error, NoArmsError):
        return RefusedError(409, "Empty catalogue", str(error))
    return invalid_at([(pointer, str(error))])


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
