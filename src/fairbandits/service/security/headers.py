"""The headers that every answer carries."""

from __future__ import annotations

# Everything from this service and nothing from elsewhere; no inline script. Plotly positions what it draws by
# style attributes, and makes one style element that is empty (its hash is that of nothing) to put rules into.
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src-elem 'self' 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='",
        "style-src-attr 'unsafe-inline'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)

HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", _POLICY.encode("ascii")),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)

#: Of answers that do not say themselves whether they may be kept.
FRESH = (b"cache-control", b"no-store")

#: Over TLS: browsers come back by TLS alone.
SECURE = (b"strict-transport-security", b"max-age=31536000")
