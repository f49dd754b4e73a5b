"""The headers of responses."""

from __future__ import annotations

# Everything is loaded from this service. Inline scripts and styles are not allowed: `page/static/sheets.js` turns
# the style elements that Plotly creates into style sheets of the document.
_CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)

#: Headers of every response.
COMMON: tuple[tuple[bytes, bytes], ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
)

#: Headers of responses that a browser displays or runs.
PAGE = (
    *COMMON,
    (b"content-security-policy", _CONTENT_SECURITY_POLICY.encode("ascii")),
    # With "no-referrer", browsers would send "Origin: null" with the login form.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)

#: Header that is added to responses without their own Cache-Control.
NO_STORE = (b"cache-control", b"no-store")

#: Header that is added over TLS, so that browsers return over TLS only.
HSTS = (b"strict-transport-security", b"max-age=31536000")
