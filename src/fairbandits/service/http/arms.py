"""`/v1/arms`: list, add, change and retire arms."""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from fastapi import APIRouter, Query, Request, Response
from pydantic_core import to_json

from fairbandits.service.engine import Engine
from fairbandits.service.http.messages import JsonResponse, idempotency_key, parse, respond
from fairbandits.service.http.openapi import json_body, json_responses
from fairbandits.service.http.routing import access
from fairbandits.service.http.schemas import Schemas
from fairbandits.service.log.appender import AppendEvents, RefusedRequest
from fairbandits.service.log.events import ArmAdded, ArmChanged, ArmRetired
from fairbandits.service.log.requests import Refusal, RefusalReason
from fairbandits.service.state.catalogue import ServedArm, ServedCatalogue

_ArmEvent = ArmAdded | ArmChanged | ArmRetired
# The maximum number of attempts: if several clients change an arm at the same time, one of them succeeds at each
# attempt.
_MAX_ATTEMPTS = 50
_RETRY_SECONDS = 0.01
# The number of listed arms that one token of the rate limit pays for: they take about as long as the rest of a
# request.
_ARMS_OF_TOKEN = 100
# The maximum number of seconds for which a response waits until the change is applied. With several workers, this
# takes a moment.
_APPLY_SECONDS = 1.0


def routes(engine: Engine, schemas: Schemas) -> APIRouter:
    """Return the routes."""
    router = APIRouter(prefix="/v1/arms", tags=["arms"])

    @router.get("", responses=json_responses("ArmsResponse", 422))
    @access("read")
    async def list_arms(request: Request, after: str = "", limit: int = Query(1000, ge=1, le=10_000)) -> Response:
        """List the arms in alphabetical order, `limit` of them, from the first one after `after`."""
        catalogue = engine.recommender.catalogue
        names = catalogue.names()
        first = bisect_right(names, after)
        page = [(name, catalogue.versions[name], catalogue.arms[name]) for name in names[first : first + limit]]
        following = page[-1][0] if first + limit < len(names) else None
        request.scope["state"]["tokens"] = len(page) // _ARMS_OF_TOKEN
        parts = []
        for at in range(0, len(page), _ARMS_OF_TOKEN):
            parts.append(to_json([_listed(*each) for each in page[at : at + _ARMS_OF_TOKEN]])[1:-1])
            await asyncio.sleep(0)  # so that decisions need not wait for a long list
        return JsonResponse(b'{"arms":[%b],"next":%b}' % (b",".join(parts), to_json(following)))

    @router.post(
        "", openapi_extra=json_body("Arm", many="Arms"), responses=json_responses("ArmsResponse", 409, 422)
    )
    @access("admin", body="json")
    async def add(request: Request) -> Response:
        """Add an arm, or a list of arms; either all are added or none are."""
        body = await request.body()
        is_list = body.lstrip()[:1] == b"["
        arms = parse(schemas.arms, body) if is_list else [parse(schemas.arm, body)]
        return await _change(engine, request, body, partial(_added, arms=arms, limit=engine.config.limits.arms))

    @router.put(
        "/{arm:path}",
        openapi_extra=json_body("ArmChange"),
        responses=json_responses("ArmsResponse", 404, 409, 422),
    )
    @access("admin", body="json")
    async def change(request: Request, arm: str) -> Response:
        """Change the features or matches of an arm; what was learned about it remains."""
        body = await request.body()
        return await _change(engine, request, body, partial(_changed, arm=arm, values=parse(schemas.change, body)))

    @router.delete("/{arm:path}", responses=json_responses("ArmsResponse", 404, 409))
    @access("admin")
    async def retire(request: Request, arm: str) -> Response:
        """Retire an arm: what was learned about it is dropped, but the rewards of its users' groups remain."""
        return await _change(engine, request, b"", partial(_retired, arm=arm))

    return router


def _listed(name: str, version: int, arm: ServedArm) -> dict[str, Any]:
    plain: dict[str, Any] = {"arm": name, "version": version}
    return plain if arm.features is None else plain | {"features": arm.features, "matches": arm.matches}


async def _change(
    engine: Engine,
    request: Request,
    body: bytes,
    plan: Callable[[ServedCatalogue], Sequence[_ArmEvent] | Refusal],
) -> Response:
    """Append the events that `plan` derives from the catalogue; try again if the catalogue changes meanwhile."""
    key = idempotency_key(request, body)
    for _ in range(_MAX_ATTEMPTS):
        events = plan(engine.recommender.catalogue)
        if isinstance(events, Refusal):
            # A repeated request gets its stored reply, even if it would be refused now.
            return respond(
                events
                if key is None
                else await engine.writer.write(RefusedRequest(refusal=events, idempotency=key))
            )
        reply = to_json({"arms": [_to_dict(event) for event in events], "next": None})
        asked = AppendEvents(
            events=events, reply=reply, depends_on=[event.key for event in events], idempotency=key
        )
        outcome = await engine.writer.write(asked)
        if not (isinstance(outcome, Refusal) and outcome.reason is RefusalReason.CONFLICT):
            await _until_applied(engine, events)
            return respond(outcome)
        await asyncio.sleep(_RETRY_SECONDS)  # wait until the other change is applied
    detail = "other clients are changing these arms; fetch them again and retry"
    return respond(Refusal(RefusalReason.CONFLICT, detail))


async def _until_applied(engine: Engine, events: Sequence[_ArmEvent]) -> None:
    """Wait, for a limited time, until the catalogue has the events, so that the next request finds them."""
    deadline = time.monotonic() + _APPLY_SECONDS
    while time.monotonic() < deadline:
        versions = engine.recommender.catalogue.versions
        if all(versions.get(event.arm, 0) >= event.version for event in events):
            return
        await asyncio.sleep(_RETRY_SECONDS)


def _added(
    catalogue: ServedCatalogue, *, arms: Sequence[Mapping[str, Any]], limit: int
) -> Sequence[_ArmEvent] | Refusal:
    if len(catalogue.arms) + len(arms) > limit:
        detail = f"the catalogue must have at most {limit:,} arms (limits.arms); retire some"
        return Refusal(RefusalReason.CATALOGUE_FULL, detail)
    added: dict[str, ArmAdded] = {}
    for each in arms:
        arm = each["arm"]
        if arm in catalogue.arms or arm in added:
            detail = f"arm {arm!r} already exists; change it with PUT /v1/arms/{arm}"
            return Refusal(RefusalReason.ARM_EXISTS, detail)
        added[arm] = ArmAdded(
            arm, _next_version(catalogue, arm), time.time(), each.get("features", {}), each.get("matches", {})
        )
    return [*added.values()]


def _changed(catalogue: ServedCatalogue, *, arm: str, values: Mapping[str, Any]) -> Sequence[_ArmEvent] | Refusal:
    if arm not in catalogue.arms:
        return _unknown_arm()
    version = _next_version(catalogue, arm)
    return [ArmChanged(arm, version, time.time(), values.get("features", {}), values.get("matches", {}))]


def _retired(catalogue: ServedCatalogue, *, arm: str) -> Sequence[_ArmEvent] | Refusal:
    if arm not in catalogue.arms:
        return _unknown_arm()
    return [ArmRetired(arm, _next_version(catalogue, arm), time.time())]


def _unknown_arm() -> Refusal:
    detail = "there is no such arm, or it was retired; GET /v1/arms lists the arms"
    return Refusal(RefusalReason.UNKNOWN_ARM, detail)


def _next_version(catalogue: ServedCatalogue, arm: str) -> int:
    return catalogue.versions.get(arm, 0) + 1


def _to_dict(event: _ArmEvent) -> dict[str, Any]:
    plain: dict[str, Any] = {"arm": event.arm, "version": event.version}
    return (
        plain if isinstance(event, ArmRetired) else plain | {"features": event.features, "matches": event.matches}
    )
