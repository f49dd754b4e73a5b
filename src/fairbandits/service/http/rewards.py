"""`POST /v1/rewards`: what came of a decision, now or days later, once or again."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic_core import to_json

from fairbandits.service.engine import Engine
from fairbandits.service.http.idempotency import Written, once
from fairbandits.service.http.openapi import answers, takes
from fairbandits.service.http.problems import RefusedError
from fairbandits.service.http.schemas import Schemas, parse
from fairbandits.service.http.validation import invalid_at
from fairbandits.service.log import Answer, Settled, Write
from fairbandits.service.log.events import Decided, Rewarded, decision_key, reward_key


def routes(engine: Engine, schemas: Schemas) -> APIRouter:
    """Make the routes."""
    router = APIRouter(prefix="/v1/rewards", tags=["rewards"])
    window = engine.config.reward.window

    @router.post(
        "",
        openapi_extra=takes("RewardRequest", many="RewardsRequest"),
        responses=answers("RewardAnswer", 404, 409, 410, 422, many="RewardsAnswer"),
    )
    async def reward(request: Request) -> Response:
        """Say what a decision brought: one, or a list of many.

        It may come late, in any order, and again with the same value. Of many, each has an answer of its own.
        """
        body = await request.body()
        is_list = body.lstrip()[:1] == b"["
        given = parse(schemas.rewards, body) if is_list else [parse(schemas.reward, body)]
        wanted = [key(one["decision"]) for one in given for key in (decision_key, reward_key)]

        def settle(found: Mapping[str, Any]) -> Settled:
            now = time.time()
            # What stands in the log, and what this request adds to it.
            seen: dict[str, Any] = {}
            results = [_settle(one, now, window, found, seen) for one in given]
            if is_list:
                listed = [_one_of_many(result, one) for result, one in zip(results, given, strict=True)]
                return Settled(list(seen.values()), Answer(200, to_json({"rewards": listed})))
            [result] = results
            if isinstance(result, RefusedError):
                return Settled((), result)
            return Settled(list(seen.values()), Answer(200, to_json(_plain(result))))

        return Written(await engine.writer.write(Write(settle, wanted, once(request, body))))

    return router


def _settle(
    one: Mapping[str, Any], now: float, window: float, found: Mapping[str, Any], seen: dict[str, Any]
) -> Rewarded | RefusedError:
    """Say what becomes of a reward: the event that is or will be in the log, or why it is refused."""
    decision, reward = one["decision"], one["reward"]
    decided: Decided | None = found.get(decision_key(decision))
    if decided is None:
        return RefusedError(404, "Unknown decision", f"there is no decision {decision}; was it made here?")
    key = reward_key(decision)
    before: Rewarded | None = found.get(key) or seen.get(key)
    if before is not None:
        if before.reward == reward:
            return before
        return RefusedError(
            409, "Reward differs", f"decision {decision} was rewarded before, with another value; that one stands"
        )
    if now - decided.time > window:
        days = window / 86400
        return RefusedError(410, "Reward too late", f"decision {decision} is more than {days:g} days old")
    if isinstance(reward, list) and (wrong := _wrong_slate(reward, decided)):
        return invalid_at([("#/reward", wrong)])
    rewarded = seen[key] = Rewarded(decision, now, reward)
    return rewarded


def _wrong_slate(reward: list[float | None], decided: Decided) -> str:
    n = len(decided.picked)
    if not decided.slate:
        return "the decision is one arm, not a slate: give one number"
    if len(reward) != n:
        return (
            f"got {len(reward)} reward(s) for a slate of {n} arm(s): give one for each, null where nobody looked"
        )
    return "" if any(each is not None for each in reward) else "no arm of the slate has a reward: send none at all"


def _plain(rewarded: Rewarded) -> dict[str, Any]:
    return {"decision": rewarded.decision, "reward": rewarded.reward}


def _one_of_many(result: Rewarded | RefusedError, one: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(result, RefusedError):
        return {"decision": one["decision"], "problem": result.to_dict()}
    return _plain(result)
