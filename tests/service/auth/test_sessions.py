"""Sessions of the page."""

from fairbandits.service.auth.sessions import session_cookie, session_token


def test_cookies():
    cookie = session_cookie("fb_x", is_secure=True)
    assert cookie == "__Host-fairbandits=fb_x; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure"
    assert session_token(cookie.split(";")[0].encode(), is_secure=True) == "fb_x"
    assert session_token(cookie.split(";")[0].encode(), is_secure=False) is None
    assert session_token(b"\xff; = ;;", is_secure=False) is None
    assert session_token(b"fairbandits=fb_x; a@b=1", is_secure=False) is None
    assert "Max-Age=0" in session_cookie("", is_secure=False)
