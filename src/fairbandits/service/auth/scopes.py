"""Who may do what: every route with the scope that it needs. What does not stand here is not served."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from fairbandits.service.http.problems import RefusedError

Body = Literal["json", "form"]


@dataclass(frozen=True, slots=True)
class Access:
    """A way to call the service.

    Attributes
    ----------
    method, path : str
        Of HTTP; `{name}` in a path stands for anything.
    scope : str or None
        What a key must be good for; None for everybody.
    body : str or None
        What comes with it.
    page : bool
        Whether a browser shows the answer, or runs it.
    """

    method: str
    path: str
    scope: str | None
    body: Body | None = None
    page: bool = False


ROUTES = (
    Access("POST", "/v1/decisions", "decide", "json"),
    Access("POST", "/v1/decisions/batch", "decide", "json"),
    Access("POST", "/v1/rewards", "reward", "json"),
    Access("GET", "/v1/arms", "read"),
    Access("POST", "/v1/arms", "admin", "json"),
    Access("PUT", "/v1/arms/{arm}", "admin", "json"),
    Access("DELETE", "/v1/arms/{arm}", "admin"),
    Access("GET", "/v1/fairness", "read"),
    Access("GET", "/v1/stream", "read"),
    Access("GET", "/metrics", "read"),
    Access("GET", "/openapi.json", "read"),
    Access("GET", "/", "read", page=True),
    Access("GET", "/static/{name}", None, page=True),
    Access("GET", "/health", None),
    Access("GET", "/ready", None),
    Access("GET", "/login", None, page=True),
    Access("POST", "/login", None, "form", page=True),
    Access("POST", "/logout", None, "form", page=True),
)


_EXACT = {(access.method, access.path): access for access in ROUTES if "{" not in access.path}
_OTHER = [
    (re.compile(re.sub(r"\{\w+\}", "(.+)", access.path), re.DOTALL), access)
    for access in ROUTES
    if "{" in access.path
]


def access_to(method: str, path: str) -> Access:
    """Give the way to call the service that a request takes; where there is none, it is refused.

    Examples
    --------
    >>> access_to("PUT", "/v1/arms/blue shoes").scope
    'admin'
    """
    found = _EXACT.get((method, path))
    if found is not None:
        return found
    ways = {access.method: access for pattern, access in _OTHER if pattern.fullmatch(path)}
    ways |= {way: access for (way, known), access in _EXACT.items() if known == path}
    if method in ways:
        return ways[method]
    if ways:
        allowed = ", ".join(sorted(ways))
        raise RefusedError(
            405, "Method not allowed", f"this takes {allowed}; got {method[:20]}", headers={"Allow": allowed}
        )
    raise RefusedError(404, "Not found", "there is nothing under this path; /openapi.json says what there is")
