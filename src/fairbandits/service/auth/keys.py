"""API keys: what they are, and how one is known again without being kept."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass

#: What a key can be good for: decisions, rewards, reading, changing the arms. None implies another.
SCOPES = ("decide", "reward", "read", "admin")

_FORM = re.compile(r"fb_([0-9a-f]{16})_([0-9a-f]{64})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Key:
    """A key, or a session of the page, as it is kept: all but the secret.

    Attributes
    ----------
    id : str
        The part by which it is looked up; no secret.
    name : str
        Whose it is, for people.
    scopes : frozenset of str
        What it is good for.
    digest : str
        The SHA-256 of the secret. The secret is 256 random bits, so nobody finds it by trying, and a slow hash
        would protect nothing.
    created : float
        When, in seconds since 1970.
    expires, revoked : float, optional
        When it ends, and when it was ended.
    parent : str, optional
        Of a session: the id of the key by which it was opened.
    """

    id: str
    name: str
    scopes: frozenset[str]
    digest: str
    created: float
    expires: float | None = None
    revoked: float | None = None
    parent: str | None = None

    def opens(self, secret: str) -> bool:
        """Say whether this is its secret, in a time that does not depend on how much of it is right."""
        return hmac.compare_digest(digest_of(secret), self.digest)

    def is_live(self, now: float) -> bool:
        """Say whether it can be used, as far as it alone can tell."""
        return self.revoked is None and (self.expires is None or now < self.expires)


def make_key(
    name: str, scopes: Iterable[str], now: float, expires: float | None = None, parent: str | None = None
) -> tuple[Key, str]:
    """Make a key; give what is kept of it, and the key itself, which nobody sees again.

    Examples
    --------
    >>> key, token = make_key("shop", ["decide", "reward"], now=0.0)
    >>> identity, secret = split(token)
    >>> identity == key.id, key.opens(secret), key.opens("0" * 64)
    (True, True, False)
    """
    identity, secret = secrets.token_hex(8), secrets.token_hex(32)
    key = Key(identity, name, as_scopes(scopes), digest_of(secret), now, expires, parent=parent)
    return key, f"fb_{identity}_{secret}"


def as_scopes(scopes: Iterable[str]) -> frozenset[str]:
    """Check scopes."""
    wanted = list(scopes)
    unknown = [scope for scope in wanted if scope not in SCOPES]
    if unknown or not wanted:
        came = f"got {', '.join(map(repr, unknown))}" if unknown else "got none"
        raise ValueError(f"scopes are {', '.join(SCOPES)}, one or more; {came}")
    return frozenset(wanted)


def split(token: str) -> tuple[str, str] | None:
    """ConfigPart a key into its id and its secret; None where it has not the form of one."""
    match = _FORM.fullmatch(token)
    return match and (match[1], match[2])


def digest_of(secret: str) -> str:
    """Give what is kept of a secret."""
    return hashlib.sha256(secret.encode("ascii")).hexdigest()
