"""`/v1/arms`: the catalogue, and how arms come, change and go."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Query, Request, Response
from pydantic_core import to_json

from fairbandits.service.engine import Engine
from fairbandits.service.http.idempotency import Written, once, refusing
from fairbandits.service.http.openapi import answers, takes
from fairbandits.service.http.problems import RefusedError
from fairbandits.service.http.schemas import Schemas, parse
from fairbandits.service.log import Answer, Settled, Write
from fairbandits.service.log.events import ArmAdded, ArmChanged, ArmRetired

_ArmEvent = ArmAdded | ArmChanged | ArmRetired
# Of those who change one arm at the same time one succeeds at a time.
_TRIES = 50


class _SecondError(RefusedError):
    """Of two who change one arm at the same time, one comes second, and looks again."""


def routes(engine: Engine, schemas: Schemas) -> APIRouter:
    """Make the routes."""
    router = APIRouter(prefix="/v1/arms", tags=["arms"])

    @router.get("", responses=answers("ArmsAnswer", 422))
    async def listed(after: str = "", limit: int = Query(1000, ge=1, le=10_000)) -> Response:
        """List the arms by name, `limit` at a time, those behind `after`."""
        shelf = engine.recommender.shelf
        names = sorted(name for name in shelf.arms if name > after)
        page = [
            {
                "arm": name,
                "version": shelf.versions[name],
                "features": shelf.arms[name].features,
                "matches": shelf.arms[name].matches,
            }
            for name in names[:limit]
        ]
        more = names[limit - 1] if len(names) > limit else None
        return Written(Answer(200, to_json({"arms": page, "next": more})))

    @router.post("", openapi_extra=takes("Arm", many="Arms"), responses=answers("ArmsAnswer", 409, 422))
    async def add(request: Request) -> Response:
        """Add an arm, or a list of arms; all or none."""
        body = await request.body()
        is_list = body.lstrip()[:1] == b"["
        given = parse(schemas.arms, body) if is_list else [parse(schemas.arm, body)]

        def make() -> list[ArmAdded]:
            seen: set[str] = set()
            _refuse_too_many(engine, len(given))
            return [_added(engine, one, seen) for one in given]

        return await _change(engine, request, body, make)

    @router.put("/{arm:path}", openapi_extra=takes("ArmChange"), responses=answers("ArmsAnswer", 404, 409, 422))
    async def change(request: Request, arm: str) -> Response:
        """Change what is known of an arm; what was learned of it stays."""
        body = await request.body()
        given = parse(schemas.change, body)
        return await _change(engine, request, body, lambda: [_changed(engine, arm, given)])

    @router.delete("/{arm:path}", responses=answers("ArmsAnswer", 404, 409))
    async def retire(request: Request, arm: str) -> Response:
        """Retire an arm: what was learned of it is dropped, what its users received stays counted."""
        return await _change(engine, request, b"", lambda: [_retired(engine, arm)])

    return router


async def _change(
    engine: Engine, request: Request, body: bytes, make: Callable[[], Sequence[_ArmEvent]]
) -> Response:
    key = once(request, body)
    for _ in range(_TRIES):
        try:
            return Written(await engine.writer.write(_as_write(make, key)))
        except _SecondError:
            continue  # by now the other's change has been applied
    raise RefusedError(
        409, "Changed at the same time", "others change these arms at the same time; look, and try again"
    )


def _as_write(make: Callable[[], Sequence[_ArmEvent]], key: tuple[str, str] | None) -> Write:
    try:
        events = make()
    except RefusedError as error:
        return refusing(error, key)
    good = Settled(events, Answer(200, to_json({"arms": [_answer(event) for event in events], "next": None})))
    second = Settled((), _SecondError(409, "", ""))
    return Write(lambda found: second if found else good, [event.key for event in events], key)


def _refuse_too_many(engine: Engine, n: int) -> None:
    most = engine.config.limits.arms
    if len(engine.recommender.shelf.arms) + n > most:
        raise RefusedError(409, "Catalogue full", f"there can be {most:,} arms at most (limits.arms); retire some")


def _added(engine: Engine, given: Mapping[str, Any], seen: set[str]) -> ArmAdded:
    arm = given["arm"]
    if arm in engine.recommender.shelf.arms or arm in seen:
        raise RefusedError(409, "Arm exists", f"there is an arm {arm!r}; change it with PUT /v1/arms/{arm}")
    seen.add(arm)
    return ArmAdded(arm, _version(engine, arm), time.time(), given.get("features", {}), given.get("matches", {}))


def _changed(engine: Engine, arm: str, given: Mapping[str, Any]) -> ArmChanged:
    _refuse_unknown(engine, arm)
    return ArmChanged(arm, _version(engine, arm), time.time(), given.get("features", {}), given.get("matches", {}))


def _retired(engine: Engine, arm: str) -> ArmRetired:
    _refuse_unknown(engine, arm)
    return ArmRetired(arm, _version(engine, arm), time.time())


def _refuse_unknown(engine: Engine, arm: str) -> None:
    if arm not in engine.recommender.shelf.arms:
        raise RefusedError(404, "Unknown arm", "there is no such arm, or it was retired; GET /v1/arms lists them")


def _version(engine: Engine, arm: str) -> int:
    return engine.recommender.shelf.versions.get(arm, 0) + 1


def _answer(event: _ArmEvent) -> dict[str, Any]:
    plain: dict[str, Any] = {"arm": event.arm, "version": event.version}
    return (
        plain if isinstance(event, ArmRetired) else plain | {"features": event.features, "matches": event.matches}
    )
