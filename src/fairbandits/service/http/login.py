"""`/login` and `/logout`: sessions of the page."""

from __future__ import annotations

import asyncio
import time
from importlib.resources import files
from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Response

from fairbandits.service.auth.key_cache import KeyCache
from fairbandits.service.auth.key_store import KeyStore, TooManySessionsError
from fairbandits.service.auth.rate_limit import RateLimiter
from fairbandits.service.auth.sessions import open_session, session_cookie, session_token
from fairbandits.service.http.problems import ProblemError, too_many_logins, unavailable
from fairbandits.service.http.routing import access

_MESSAGE = "<!--message-->"
_WRONG = '<p role="alert">This key is unknown or lacks the scope “read”. Check that all of it was copied.</p>'
# The number of logins per second, and at once, for one key and for all keys. They are limited because each login
# writes to the store, which decisions need.
_KEY_RATE, _KEY_BURST = 0.5, 20
_RATE, _BURST = 2.0, 50
_EVERYBODY = ""


def routes(keys: KeyCache, store: KeyStore) -> APIRouter:
    """Return the routes.

    Parameters
    ----------
    keys : KeyCache
        The known keys.
    store : KeyStore
        The store of sessions.
    """
    router = APIRouter(include_in_schema=False)
    by_key, by_everybody = RateLimiter(_KEY_RATE, _KEY_BURST), RateLimiter(_RATE, _BURST)
    saving = asyncio.Lock()
    form = files(__package__).joinpath("login.html").read_text(encoding="utf-8")

    @router.get("/login")
    @access(None, page=True)
    async def show_form(request: Request) -> Response:
        message = _WRONG if request.url.query == "wrong" else ""
        return Response(form.replace(_MESSAGE, message), media_type="text/html")

    @router.post("/login")
    @access(None, body="form", page=True)
    async def log_in(request: Request) -> Response:
        _refuse_other_sites(request)
        fields = parse_qs((await request.body()).decode("latin-1"))
        key = await keys.find(fields.get("key", [""])[0].strip())
        if key is None or not keys.is_active(key) or "read" not in key.scopes:
            return _redirect("/login?wrong")
        wait = by_key.take(key.id) or by_everybody.take(_EVERYBODY)
        if wait:
            raise too_many_logins(wait)
        session, token = open_session(key, time.time())
        async with saving:  # one at a time, so that decisions wait for at most one
            try:
                await store.save(session)
            except TooManySessionsError as error:
                raise unavailable(str(error), retry_after=60) from None
        keys.add(session)
        return _redirect("/", session_cookie(token, _is_secure(request)))

    @router.post("/logout")
    @access(None, body="form", page=True)
    async def log_out(request: Request) -> Response:
        _refuse_other_sites(request)
        token = session_token(request.headers.get("cookie", "").encode("latin-1"), _is_secure(request))
        session = await keys.find(token or "", session=True)
        if session is not None:
            await store.revoke(session.id)
            await keys.refresh()
        return _redirect("/login", session_cookie("", _is_secure(request)))

    return router


def _is_secure(request: Request) -> bool:
    return request.url.scheme == "https"


def _redirect(path: str, cookie: str | None = None) -> Response:
    headers = {"Location": path} if cookie is None else {"Location": path, "Set-Cookie": cookie}
    return Response(status_code=303, headers=headers)


def _refuse_other_sites(request: Request) -> None:
    """Raise a problem if another site sent the form, which could log the visitor in as somebody else."""
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != request.headers.get("host"):
        raise ProblemError(403, "Forbidden", "the form was sent from another site; log in on this one")
