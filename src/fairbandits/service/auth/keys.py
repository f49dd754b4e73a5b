"""API keys: their creation, and their verification without storing the secret."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace

from fairbandits.service.auth.scopes import parse_scopes
from fairbandits.service.names import check_name

_TOKEN = re.compile(r"fb_([0-9a-f]{16})_([0-9a-f]{64})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Key:
    """A key, or a session of the page, as it is stored: everything except the secret.

    Attributes
    ----------
    id : str
        The part by which the key is looked up. It is not secret.
    name : str
        The human-readable name of the key's owner.
    scopes : frozenset of str
        The scopes of the key.
    digest : str
        The SHA-256 hash of the secret. The secret has 256 random bits and cannot be guessed, so a slow hash would
        offer no additional protection.
    created : float
        The time of creation, in seconds since 1970.
    expires, revoked : float, optional
        The time at which the key expires, and at which it was revoked.
    parent : str, optional
        For a session, the id of the key that opened it.
    used : float, optional
        The time of the last use, which may be up to an hour too early.
    old_digest : str, optional
        The digest of the secret that was replaced most recently.
    old_until : float, optional
        The time until which the replaced secret remains valid.
    """

    id: str
    name: str
    scopes: frozenset[str]
    digest: str
    created: float
    expires: float | None = None
    revoked: float | None = None
    parent: str | None = None
    used: float | None = None
    old_digest: str | None = None
    old_until: float | None = None

    def verify(self, secret: str, now: float) -> bool:
        """Return whether this is the key's secret, in a time that does not depend on how much of it is correct."""
        digest = hash_secret(secret)
        if hmac.compare_digest(digest, self.digest):
            return True
        if self.old_digest is None or self.old_until is None or now >= self.old_until:
            return False
        return hmac.compare_digest(digest, self.old_digest)

    def is_active(self, now: float) -> bool:
        """Return whether the key is neither revoked nor expired."""
        return self.revoked is None and (self.expires is None or now < self.expires)


def make_key(
    name: str, scopes: Iterable[str], now: float, expires: float | None = None, parent: str | None = None
) -> tuple[Key, str]:
    """Create a key; return the part that is stored, and the token, which cannot be recovered later.

    Examples
    --------
    >>> key, token = make_key("shop", ["decide", "reward"], now=0.0)
    >>> key_id, secret = parse_token(token)
    >>> key_id == key.id, key.verify(secret, now=0.0), key.verify("0" * 64, now=0.0)
    (True, True, False)
    """
    key_id, secret = secrets.token_hex(8), secrets.token_hex(32)
    key = Key(key_id, check_name(name), parse_scopes(scopes), hash_secret(secret), now, expires, parent=parent)
    return key, f"fb_{key_id}_{secret}"


def rotate_key(key: Key, now: float, grace: float) -> tuple[Key, str]:
    """Replace the secret of a key, as `make_key` creates it; the old one remains valid for `grace` seconds."""
    secret = secrets.token_hex(32)
    rotated = replace(key, digest=hash_secret(secret), old_digest=key.digest, old_until=now + grace)
    return rotated, f"fb_{key.id}_{secret}"


def parse_token(token: str) -> tuple[str, str] | None:
    """Split a token into the id and the secret of its key; return None if it does not have the form of a token."""
    match = _TOKEN.fullmatch(token)
    return match and (match[1], match[2])


def hash_secret(secret: str) -> str:
    """Return the digest under which a secret is stored."""
    return hashlib.sha256(secret.encode("ascii")).hexdigest()
