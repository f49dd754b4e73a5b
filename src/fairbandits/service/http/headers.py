"""The headers that answers carry."""

from __future__ import annotations

# Everything from this service and nothing from elsewhere; no inline script, no inline style: the page turns the
# style elements that Plotly makes into sheets of the document (`page/static/sheets.js`).
_POLICY = "; ".join(
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

#: Of every answer: it is what it says it is, and no page of another site may take it in.
EVERY: tuple[tuple[bytes, bytes], ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
)

#: Of what a browser shows or runs.
PAGE = (
    *EVERY,
    (b"content-security-policy", _POLICY.encode("ascii")),
    # Not "no-referrer": browsers then do not say either that the form for a key was sent from this site.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)

#: Of answers that do not say themselves whether they may be kept.
FRESH = (b"cache-control", b"no-store")

#: Over TLS: browsers come back by TLS alone.
SECURE = (b"strict-transport-security", b"max-age=31536000")
