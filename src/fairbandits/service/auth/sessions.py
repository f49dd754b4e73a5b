"""Sessions of the page: a session is a key that only reads, ends by itself, and travels in a cookie."""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie

from fairbandits.service.auth.keys import Key, make_key

_SECONDS = 12 * 3600


def open_session(key: Key, now: float) -> tuple[Key, str]:
    """Open a session for somebody who showed a key; it ends with that key, or after half a day."""
    return make_key(f"session of {key.name}", ["read"], now, now + _SECONDS, parent=key.id)


def session_in(cookies: bytes | None, is_secure: bool) -> str | None:
    """Find the session among the cookies of a request.

    Examples
    --------
    >>> session_in(b"theme=dark; fairbandits=fb_1", is_secure=False)
    'fb_1'
    """
    if not cookies:
        return None
    try:
        found = SimpleCookie(cookies.decode("latin-1")).get(_name(is_secure))
    except CookieError:
        return None
    return None if found is None else found.value


def as_cookie(session: str, is_secure: bool) -> str:
    """Write the cookie of a session, unread by scripts and unsent from other sites; an empty one ends it."""
    age = _SECONDS if session else 0
    ending = "; Secure" if is_secure else ""
    return f"{_name(is_secure)}={session}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{ending}"


def _name(is_secure: bool) -> str:
    # Browsers take a cookie with this prefix from the very host alone, and over TLS alone.
    return "__Host-fairbandits" if is_secure else "fairbandits"
