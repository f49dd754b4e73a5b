"""The headers of responses."""

from __future__ import annotations

# Everything is loaded from this service. No inline scripts or styles: `page/static/sheets.js` turns the style
# elements that Plotly creates into style sheets of the document.
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
    # With "no-referrer" browsers would send "Origin: null" with the login form.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)

#: Added to responses without a Cache-Control of their own.
NO_STORE = (b"cache-control", b"no-store")

#: Added over TLS, so that browsers return over TLS only.
HSTS = (b"strict-transport-security", b"max-age=31536000")
