"""`POST /v1/decisions`: which arm, for one user or many."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic_core import to_json

from fairbandits.service.api.once import as_response, once, refusing
from fairbandits.service.api.openapi import answers, takes
from fairbandits.service.api.problems import invalid_at
from fairbandits.service.api.schemas import Schemas, parse
from fairbandits.service.engine import Engine
from fairbandits.service.events import Decided
from fairbandits.service.recommender import NoArmsError
from fairbandits.service.refused import RefusedError
from fairbandits.service.store import Answer, Settled, Write


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
        return await _log(engine, request, body, {"#": given}, lambda decided: _as_answer(decided[0]))

    @router.post("/batch", openapi_extra=takes("DecisionsRequest"), responses=answers("DecisionsAnswer", 409, 422))
    async def decide_many(request: Request) -> Response:
        """Pick for many users at once; all or none."""
        body = await request.body()
        decisions = parse(schemas.decisions, body)["decisions"]
        given = {f"#/decisions/{number}": one for number, one in enumerate(decisions)}
        return await _log(engine, request, body, given, _as_answers)

    return router


async def _log(
    engine: Engine,
    request: Request,
    body: bytes,
    given: Mapping[str, Mapping[str, Any]],
    as_answer: Callable[[list[Decided]], dict[str, Any]],
) -> Response:
    key = once(request, body)
    try:
        decided = [_decide(engine, one, pointer) for pointer, one in given.items()]
        settled = Settled(decided, Answer(200, to_json(as_answer(decided))))
        write = Write(lambda _: settled, once=key)
    except RefusedError as error:
        write = refusing(error, key)
    return as_response(await engine.writer.write(write))


def _decide(engine: Engine, given: Mapping[str, Any], pointer: str) -> Decided:
    try:
        return engine.recommender.decide(
            given.get("features", {}), given.get("groups", {}), given.get("arms"), given.get("k")
        )
    except NoArmsError as error:
        raise RefusedError(409, "Empty catalogue", str(error)) from None
    except ValueError as error:
        raise invalid_at([(pointer, str(error))]) from None


def _as_answers(decided: list[Decided]) -> dict[str, Any]:
    return {"decisions": [_as_answer(one) for one in decided]}


def _as_answer(decided: Decided) -> dict[str, Any]:
    picked = (
        {"slate": decided.picked, "scores": decided.scores}
        if decided.slate
        else {"arm": decided.picked[0], "scores": decided.scores[0]}
    )
    return {"decision": decided.id, "propensity": decided.propensity, **picked}
