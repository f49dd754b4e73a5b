"""Sessions of the page. A session is a key that can only read, that expires, and that is sent as a cookie."""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie

from fairbandits.service.auth.keys import Key, make_key

_SECONDS = 12 * 3600


def open_session(key: Key, now: float) -> tuple[Key, str]:
    """Create a session for the owner of a key. It ends with that key, or after twelve hours."""
    return make_key("session", ["read"], now, now + _SECONDS, parent=key.id)


def session_token(cookies: bytes | None, is_secure: bool) -> str | None:
    """Return the token of the session among the cookies of a request, if there is one.

    Examples
    --------
    >>> session_token(b"theme=dark; fairbandits=fb_1", is_secure=False)
    'fb_1'
    """
    if not cookies:
        return None
    try:
        found = SimpleCookie(cookies.decode("latin-1")).get(_cookie_name(is_secure))
    except CookieError:
        return None
    return None if found is None else found.value


def session_cookie(token: str, is_secure: bool) -> str:
    """Return the cookie of a session, hidden from scripts and other sites. An empty token ends the session."""
    age = _SECONDS if token else 0
    secure = "; Secure" if is_secure else ""
    return f"{_cookie_name(is_secure)}={token}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}"


def _cookie_name(is_secure: bool) -> str:
    # Browsers accept a cookie with this prefix only from the host itself and over TLS.
    return "__Host-fairbandits" if is_secure else "fairbandits"
