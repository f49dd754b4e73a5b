"""The gate that every request passes: who asks, may they, how often, how much; and what every answer carries.

Plain ASGI, as it stands before every decision.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairbandits.service.auth.key_cache import Ring
from fairbandits.service.auth.keys import SCOPES, Key
from fairbandits.service.auth.rate_limit import Rates, address
from fairbandits.service.auth.scopes import Access, access_to
from fairbandits.service.auth.sessions import session_in
from fairbandits.service.http import refusals
from fairbandits.service.http.headers import EVERY, FRESH, PAGE, SECURE
from fairbandits.service.http.limits import Limits
from fairbandits.service.http.loopback import is_local
from fairbandits.service.http.problems import PROBLEM_TYPE, RefusedError

_Head = dict[bytes, bytes]

_TYPES = {"json": b"application/json", "form": b"application/x-www-form-urlencoded"}
_KIB = 1024


class Gate:
    """Lets through what may pass, and answers the rest.

    The application finds under `state` of a request's scope: `client`, the id of the key, where there is one; and
    `scopes`, what it is good for.

    Parameters
    ----------
    app : callable
        What stands behind it.
    ring : Ring
        The keys.
    limits : Limits
        How much, how often.
    """

    def __init__(self, app: ASGIApp, ring: Ring, limits: Limits) -> None:
        self._app = app
        self._ring = ring
        self._most = limits.body
        self._rates = Rates(limits.rate, limits.burst)
        self._guests = Rates(limits.guest_rate, limits.guest_burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send, scope["scheme"] == "https")
        try:
            access = access_to(scope["method"], scope["path"])
            head: _Head = dict(scope["headers"])
            key = await self._admit(access, head, scope)
            if access.body is not None:
                self._check_body(access.body, head)
            if access.page:
                answer.headers = PAGE
            if key is not None:
                answer.may_go_on = partial(self._ring.is_live, key)
            await self._app(scope, receive, answer.send)
        except RefusedError as refused:
            await answer.refuse(refused)
        except ClientDisconnect:
            pass  # nobody is there to be answered
        except Exception as error:
            await answer.refuse(refusals.unexpected(error))

    # -- who, and how often ----------------------------------------------------------------------------

    async def _admit(self, access: Access, head: _Head, scope: Scope) -> Key | None:
        """Say by which key somebody comes in; refuse those who may not."""
        state = scope.setdefault("state", {})
        length = head.get(b"content-length")
        # A request counts for as many as there are KiB in its body, and for one at least.
        cost = 1 if length is None else 1 + min(int(length), self._most) // _KIB
        shown = head.get(b"authorization")
        if shown is None and self._ring.is_empty and is_local(scope, head.get(b"host")):
            # Before the first key is made, whoever is on this machine may do everything.
            _spend(self._rates, address(scope["client"]), cost)
            state["scopes"] = SCOPES
            return None
        try:
            key = await (self._session(access, head, scope) if shown is None else self._bearer(shown))
        except RefusedError:
            _spend(self._guests, address(scope["client"]), 1)
            if access.scope is not None:
                raise
            key = None
        if key is None:
            state["scopes"] = ()
            return None
        who = key.parent or key.id
        _spend(self._rates, who, cost)
        if access.scope is not None and access.scope not in key.scopes:
            raise refusals.too_narrow(access, key)
        state["client"], state["scopes"] = who, key.scopes
        return key

    async def _bearer(self, shown: bytes) -> Key:
        kind, _, token = shown.partition(b" ")
        key = await self._ring.find(token.decode("latin-1")) if kind.lower() == b"bearer" else None
        if key is None:
            raise refusals.unauthorized("this key is not known here; was all of it copied?")
        if not self._ring.is_live(key):
            raise refusals.unauthorized("this key was revoked; ask for a new one")
        return key

    async def _session(self, access: Access, head: _Head, scope: Scope) -> Key:
        token = session_in(head.get(b"cookie"), scope["scheme"] == "https")
        key = None if token is None else await self._ring.find(token, session=True)
        if key is None or not self._ring.is_live(key):
            raise refusals.without_key(access, b"text/html" in head.get(b"accept", b""))
        return key

    # -- how much --------------------------------------------------------------------------------------

    def _check_body(self, body: str, head: _Head) -> None:
        came = head.get(b"content-type", b"").partition(b";")[0].strip().lower()
        # Another type, or none, is what a page of another site can send without being asked whether it may.
        if came != _TYPES[body] or b"content-encoding" in head:
            raise refusals.wrong_type(_TYPES[body].decode())
        length = head.get(b"content-length")
        if length is None:
            raise refusals.without_length()
        if int(length) > self._most:
            raise refusals.too_large(self._most)


class _Answer:
    """An answer on its way: the headers that all carry; its end, where the key is revoked before it has ended."""

    __slots__ = ("_is_over", "_is_secure", "_is_started", "_send", "headers", "may_go_on")

    def __init__(self, send: Send, is_secure: bool) -> None:
        self._send = send
        self._is_secure = is_secure
        self._is_started = self._is_over = False
        self.headers = EVERY
        self.may_go_on: Callable[[], bool] | None = None

    async def send(self, message: Message) -> None:
        """Send on what the application sends."""
        if message["type"] == "http.response.start":
            self._is_started = True
            headers = [*message.get("headers", ()), *self.headers]
            for name, _ in headers:
                if name == b"cache-control":
                    break
            else:
                headers.append(FRESH)
            if self._is_secure:
                headers.append(SECURE)
            message["headers"] = headers
        elif self._is_over:
            return
        elif message.get("more_body") and self.may_go_on is not None and not self.may_go_on():
            self._is_over = True
            message = {"type": "http.response.body"}
        await self._send(message)

    async def refuse(self, refused: RefusedError) -> None:
        """Answer with a problem; an answer that has begun stays cut off."""
        if self._is_started:
            return
        body = refused.to_body()
        headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in refused.headers.items()]
        headers += [(b"content-type", PROBLEM_TYPE.encode()), (b"content-length", b"%d" % len(body))]
        await self.send({"type": "http.response.start", "status": refused.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})


def _spend(rates: Rates, who: str, cost: int) -> None:
    wait = rates.take(who, cost)
    if wait:
        raise refusals.too_often(wait)
