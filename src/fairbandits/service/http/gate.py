"""The gate that every request passes: authentication, rate limits, size limits, response headers and durations.

It is plain ASGI for speed, because every decision passes through it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

from fastapi import FastAPI
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairbandits.service.auth.key_cache import KeyCache
from fairbandits.service.auth.keys import Key
from fairbandits.service.auth.rate_limit import RateLimiter, client_address
from fairbandits.service.auth.scopes import SCOPES
from fairbandits.service.auth.sessions import session_token
from fairbandits.service.config import Limits, ServerConfig
from fairbandits.service.http import problems
from fairbandits.service.http.headers import COMMON, HSTS, NO_STORE, PAGE
from fairbandits.service.http.loopback import is_forwarded, is_local, is_on_socket
from fairbandits.service.http.messages import BufferedRequest
from fairbandits.service.http.problems import PROBLEM_TYPE, ProblemError
from fairbandits.service.http.routing import RouteTable, ServedRoute
from fairbandits.service.metrics import Metrics

_Headers = dict[bytes, bytes]

_MEDIA_TYPES = {"json": b"application/json", "form": b"application/x-www-form-urlencoded"}
_KIB = 1024


class GatedApp(FastAPI):
    """An application whose requests go to the gate first.

    Attributes
    ----------
    gate : ASGIApp
        The gate, which passes requests that need the framework to `framework`.
    """

    gate: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the gate."""
        await self.gate(scope, receive, send)

    async def framework(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the framework."""
        await super().__call__(scope, receive, send)


class Gate:
    """Admits requests, calls their route, and answers requests that are refused.

    In `scope["state"]`, routes find `client`, the id of the key, if there is one; `scopes`, the scopes of the key;
    and `payer`, the key or address whose rate is limited. They may set `tokens` there, the additional cost of the
    request to the payer.

    Parameters
    ----------
    framework : ASGIApp
        The application that handles routes with parameters, and everything that is not HTTP.
    routes : RouteTable
        The routes.
    keys : KeyCache
        The keys.
    limits : Limits
        The limits on sizes and rates.
    server : ServerConfig
        The settings of the server, which determine where it can be used from while there is no key.
    metrics : Metrics
        The metrics, which count the durations of requests.
    """

    def __init__(
        self,
        framework: ASGIApp,
        routes: RouteTable,
        keys: KeyCache,
        limits: Limits,
        server: ServerConfig,
        metrics: Metrics,
    ) -> None:
        self._framework = framework
        self.routes = routes
        self._keys = keys
        self._max_body = limits.body
        self._key_limiter = RateLimiter(limits.rate, limits.burst)
        self._guest_limiter = RateLimiter(limits.guest_rate, limits.guest_burst)
        self._is_insecure = server.insecure
        self._has_proxy = bool(server.proxies) and not server.insecure
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._framework(scope, receive, send)
            return
        began = perf_counter()
        state = scope.setdefault("state", {})
        sender = _ResponseSender(send, scope["scheme"] == "https")
        try:
            route = self.routes.find(scope["method"], scope["path"])
            headers: _Headers = dict(scope["headers"])
            key = await self._admit(route, headers, scope, state)
            if route.body is not None:
                self._check_body(route.body, headers)
            if route.page:
                sender.headers = PAGE
            if key is not None:
                sender.may_continue = partial(self._keys.is_active, key)
            if route.endpoint is None:
                await self._framework(scope, receive, sender.send)
            else:
                scope["route"] = route.api_route
                response = await route.endpoint(BufferedRequest(scope, receive))
                await response(scope, receive, sender.send)
        except ClientDisconnect:
            pass  # nobody is left to receive an answer
        except Exception as error:
            await sender.send_problem(problems.problem_from(error, client_address(scope["client"])))
        finally:
            if state.get("tokens"):
                self._key_limiter.charge(state["payer"], state["tokens"])
            # Durations are labelled by route rather than by path, because there are arbitrarily many paths.
            label = getattr(scope.get("route"), "path", "other")
            self._metrics.observe_request(label, sender.status, perf_counter() - began)

    # -- authentication and rate limits ----------------------------------------------------------------

    async def _admit(
        self, route: ServedRoute, headers: _Headers, scope: Scope, state: dict[str, Any]
    ) -> Key | None:
        """Return the key of a request, if it has one; raise a problem if it may not use the route."""
        if route.is_probe:
            return self._admit_probe(headers, scope, state)
        length = headers.get(b"content-length")
        # Every KiB of the body counts as another request.
        cost = 1 if length is None else 1 + min(int(length), self._max_body) // _KIB
        authorization = headers.get(b"authorization")
        if authorization is None and self._keys.is_empty and self._is_open_to(scope, headers):
            if self._may_be_forwarded(scope, headers) and not self._is_insecure and not is_on_socket(scope):
                raise problems.forwarded_without_keys()
            state["payer"], state["scopes"] = client_address(scope["client"]), SCOPES
            _take(self._key_limiter, state["payer"], cost)
            return None
        try:
            if authorization is None:
                key = await self._session(route, headers, scope)
            else:
                key = await self._bearer(authorization)
        except ProblemError:
            _take(self._guest_limiter, client_address(scope["client"]), 1)
            if route.scope is not None:
                raise
            state["scopes"] = ()
            return None
        client = key.parent or key.id
        _take(self._key_limiter, client, cost)
        if route.scope is not None and route.scope not in key.scopes:
            raise problems.forbidden(route.method, route.path, route.scope, key.scopes)
        state["client"], state["payer"], state["scopes"] = client, client, key.scopes
        return key

    def _admit_probe(self, headers: _Headers, scope: Scope, state: dict[str, Any]) -> Key | None:
        """Admit a health check, which must never be refused, be it by a limit, a wrong key or a hanging store."""
        authorization = headers.get(b"authorization")
        if authorization is None:
            is_open = self._keys.is_empty and self._is_open_to(scope, headers)
            state["scopes"] = SCOPES if is_open and not self._may_be_forwarded(scope, headers) else ()
            return None
        key = self._keys.find_known(authorization.partition(b" ")[2].decode("latin-1"))
        is_active = key is not None and self._keys.is_active(key)
        state["scopes"] = key.scopes if key is not None and is_active else ()
        return key if is_active else None

    def _is_open_to(self, scope: Scope, headers: _Headers) -> bool:
        """Return whether a request may do everything until the first key is created."""
        return self._is_insecure or is_on_socket(scope) or is_local(scope, headers.get(b"host"))

    def _may_be_forwarded(self, scope: Scope, headers: _Headers) -> bool:
        """Return whether a proxy may have sent a request; a configured proxy need not add any header."""
        return is_forwarded(scope, headers) or (self._has_proxy and not is_on_socket(scope))

    async def _bearer(self, authorization: bytes) -> Key:
        scheme, _, token = authorization.partition(b" ")
        key = await self._keys.find(token.decode("latin-1")) if scheme.lower() == b"bearer" else None
        if key is None:
            raise problems.unauthorized("the key is unknown; check that all of it was copied")
        if not self._keys.is_active(key):
            ended = "expired" if key.revoked is None else "was revoked"
            raise problems.unauthorized(f"the key {ended}; ask for a new one")
        return key

    async def _session(self, route: ServedRoute, headers: _Headers, scope: Scope) -> Key:
        token = session_token(headers.get(b"cookie"), scope["scheme"] == "https")
        key = None if token is None else await self._keys.find(token, session=True)
        if key is not None and self._keys.is_active(key):
            return key
        if route.method == "GET" and b"text/html" in headers.get(b"accept", b""):
            raise ProblemError(
                303, "Log in", "log in with a key that has the scope 'read'", headers={"Location": "/login"}
            )
        raise problems.unauthorized(
            f"a key with the scope {route.scope!r} is needed: send Authorization: Bearer KEY; "
            f"`fairbandits keys create --scope {route.scope} --name NAME` creates one"
        )

    # -- size limits -----------------------------------------------------------------------------------

    def _check_body(self, kind: str, headers: _Headers) -> None:
        media_type = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        # Browsers send other media types, or none, to other sites without first asking for permission.
        if media_type != _MEDIA_TYPES[kind] or b"content-encoding" in headers:
            raise problems.unsupported_type(_MEDIA_TYPES[kind].decode())
        length = headers.get(b"content-length")
        if length is None:
            raise problems.length_required()
        if int(length) > self._max_body:
            raise problems.too_large(self._max_body)


class _ResponseSender:
    """Sends a response with the common headers, and ends a stream when its key is revoked."""

    __slots__ = ("_is_ended", "_is_secure", "_is_started", "_send", "headers", "may_continue", "status")

    def __init__(self, send: Send, is_secure: bool) -> None:
        self._send = send
        self._is_secure = is_secure
        self._is_started = self._is_ended = False
        self.status = 500
        self.headers = COMMON
        self.may_continue: Callable[[], bool] | None = None

    async def send(self, message: Message) -> None:
        """Send a message of the application."""
        if message["type"] == "http.response.start":
            self._is_started = True
            self.status = message["status"]
            headers = [*message.get("headers", ()), *self.headers]
            for name, _ in headers:
                if name == b"cache-control":
                    break
            else:
                headers.append(NO_STORE)
            if self._is_secure:
                headers.append(HSTS)
            message["headers"] = headers
        elif self._is_ended:
            return
        elif message.get("more_body") and self.may_continue is not None and not self.may_continue():
            self._is_ended = True
            message = {"type": "http.response.body"}
        await self._send(message)

    async def send_problem(self, problem: ProblemError) -> None:
        """Send a problem, unless a response has already begun, which then remains incomplete."""
        if self._is_started:
            return
        body = problem.to_body()
        headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in problem.headers.items()]
        headers += [(b"content-type", PROBLEM_TYPE.encode()), (b"content-length", b"%d" % len(body))]
        await self.send({"type": "http.response.start", "status": problem.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})


def _take(limiter: RateLimiter, client: str, cost: int) -> None:
    wait = limiter.take(client, cost)
    if wait:
        raise problems.too_many_requests(wait)
