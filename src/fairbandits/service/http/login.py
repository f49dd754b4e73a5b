"""`/login` and `/logout`: how somebody with a browser shows a key."""

from __future__ import annotations

import time
from importlib.resources import files
from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Response

from fairbandits.service.auth.key_cache import Ring
from fairbandits.service.auth.key_store import Keys
from fairbandits.service.auth.sessions import as_cookie, open_session, session_in
from fairbandits.service.http.problems import RefusedError

_SAID = "<!--said-->"
_WRONG = '<p role="alert">This is no key that is known here, or it may not read. Was all of it copied?</p>'


def routes(ring: Ring, keys: Keys) -> APIRouter:
    """Make the routes.

    Parameters
    ----------
    ring : Ring
        The keys that are known.
    keys : Keys
        Where sessions are kept.
    """
    router = APIRouter(include_in_schema=False)
    form = files(__package__).joinpath("login.html").read_text(encoding="utf-8")

    @router.get("/login")
    async def show(request: Request) -> Response:
        said = _WRONG if request.url.query == "wrong" else ""
        return Response(form.replace(_SAID, said), media_type="text/html")

    @router.post("/login")
    async def log_in(request: Request) -> Response:
        _refuse_other_sites(request)
        given = parse_qs((await request.body()).decode("latin-1"))
        key = await ring.find(given.get("key", [""])[0].strip())
        if key is None or not ring.is_live(key) or "read" not in key.scopes:
            return _go("/login?wrong")
        session, token = open_session(key, time.time())
        await keys.keep(session)
        await ring.refresh()
        return _go("/", as_cookie(token, _is_secure(request)))

    @router.post("/logout")
    async def log_out(request: Request) -> Response:
        _refuse_other_sites(request)
        token = session_in(request.headers.get("cookie", "").encode("latin-1"), _is_secure(request))
        session = await ring.find(token or "", session=True)
        if session is not None:
            await keys.revoke(session.id)
            await ring.refresh()
        return _go("/login", as_cookie("", _is_secure(request)))

    return router


def _is_secure(request: Request) -> bool:
    return request.url.scheme == "https"


def _go(place: str, cookie: str | None = None) -> Response:
    headers = {"Location": place} if cookie is None else {"Location": place, "Set-Cookie": cookie}
    return Response(status_code=303, headers=headers)


def _refuse_other_sites(request: Request) -> None:
    """Refuse what a page of another site sends: nobody shall be logged in as somebody else unknowingly."""
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != request.headers.get("host"):
        raise RefusedError(403, "Forbidden", "this was sent by a page of another site; log in from this one")
