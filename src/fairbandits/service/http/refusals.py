"""What the gate says to those whom it does not let through."""

from __future__ import annotations

import logging
import math
import secrets

from fairbandits.service.auth.keys import Key
from fairbandits.service.auth.scopes import Access
from fairbandits.service.http.problems import RefusedError, where_of

_log = logging.getLogger(__name__)


def without_key(access: Access, is_browser: bool) -> RefusedError:
    """Refuse somebody who shows no key; a browser is sent to where one can be shown."""
    if is_browser and access.method == "GET":
        return RefusedError(303, "Log in", "log in with a key that may read", headers={"Location": "/login"})
    return unauthorized(
        f"this needs a key that is good for {access.scope!r}: send Authorization: Bearer KEY; "
        f"`fairbandits keys create --scope {access.scope} --name NAME` makes one"
    )


def unauthorized(detail: str) -> RefusedError:
    """Refuse a key that is none."""
    return RefusedError(401, "Unauthorized", detail, headers={"WWW-Authenticate": 'Bearer realm="fairbandits"'})


def too_narrow(access: Access, key: Key) -> RefusedError:
    """Refuse a key that is not good for this."""
    scopes = ", ".join(sorted(key.scopes))
    return RefusedError(
        403,
        "Forbidden",
        f"{access.method} {access.path} needs the scope {access.scope!r}; this key has {scopes}",
        headers={
            "WWW-Authenticate": f'Bearer realm="fairbandits", error="insufficient_scope", scope="{access.scope}"'
        },
    )


def too_large(most: int) -> RefusedError:
    """Refuse a body that is too large; what is still to come of it is not read."""
    return RefusedError(
        413,
        "Content too large",
        f"a body has at most {most:,} bytes (limits.body); send less at once",
        headers={"Connection": "close"},
    )


def without_length() -> RefusedError:
    """Refuse a body of which nobody says how long it is."""
    return RefusedError(411, "Length required", "send a body with its Content-Length, and not in chunks")


def wrong_type(wanted: str) -> RefusedError:
    """Refuse a body of another kind."""
    return RefusedError(415, "Unsupported media type", f"send it with Content-Type: {wanted}, and not compressed")


def too_often(wait: float) -> RefusedError:
    """Refuse somebody who asks too often."""
    seconds = str(math.ceil(wait))
    return RefusedError(
        429,
        "Too many requests",
        f"more than limits.rate allows; try again after {seconds} s",
        headers={"Retry-After": seconds},
    )


def unexpected(error: Exception) -> RefusedError:
    """Answer an error of ours. The log says where it was; nobody says with which values: they may be sensitive."""
    number = secrets.token_hex(4)
    _log.error("error %s: %s", number, where_of(error))
    return RefusedError(500, "Internal error", f"an error of this service; its log says more under {number}")
