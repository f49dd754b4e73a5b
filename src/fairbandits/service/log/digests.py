"""Digests of entries and chains of their writers, by which `fairbandits verify` detects damage.

Each entry stores a digest of its content and a random salt. Without the salt, the digest reveals nothing about the
content, so content and salt can be deleted while the digest remains. The entries of a writer form a chain over
everything that remains: each link is a hash of the previous link and of the entry. The column `chain` binds the
link to `seq`, which PostgreSQL assigns while it inserts the entry.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import struct
from typing import NamedTuple

SALT_BYTES = 16

_pack_time = struct.Struct(">d").pack
_pack_int = struct.Struct(">q").pack


class ChainHead(NamedTuple):
    """The end of a writer's chain.

    Attributes
    ----------
    writer : str
        The id of the writer.
    n : int
        The number of entries in the chain.
    link : bytes
        The link of the last entry.
    """

    writer: str
    n: int
    link: bytes


class SealedEvent(NamedTuple):
    """The values that are stored alongside an event.

    Attributes
    ----------
    n : int
        The number of the event in the chain.
    salt, digest : bytes
        The salt, and the digest of the event.
    link : bytes
        The event's link in the chain.
    """

    n: int
    salt: bytes
    digest: bytes
    link: bytes


def new_chain(writer: str | None = None) -> ChainHead:
    """Begin the chain of a writer, with a random id by default."""
    writer = writer or secrets.token_hex(8)
    return ChainHead(writer, 0, hashlib.sha256(writer.encode()).digest())


def new_salts(n: int) -> list[bytes]:
    """Return random salts, drawn all at once, because each draw may yield the GIL to another thread."""
    drawn = os.urandom(SALT_BYTES * n)
    return [drawn[at : at + SALT_BYTES] for at in range(0, len(drawn), SALT_BYTES)]


def seal(
    head: ChainHead, salt: bytes, kind: str, key: str, time: float, body: str
) -> tuple[SealedEvent, ChainHead]:
    """Return the values stored alongside the next event of a writer, and the new end of the writer's chain."""
    n = head.n + 1
    columns = _columns(kind, key, time)
    digest = _content_digest(salt, columns, body.encode())
    link = _next_link(head.link, n, columns, digest)
    return SealedEvent(n, salt, digest, link), ChainHead(head.writer, n, link)


def content_digest(salt: bytes, kind: str, key: str, time: float, body: bytes) -> bytes:
    """Return the digest of an event."""
    return _content_digest(salt, _columns(kind, key, time), body)


def next_link(link: bytes, n: int, kind: str, key: str, time: float, digest: bytes) -> bytes:
    """Return the link of an entry, given the link of the same writer's previous entry."""
    return _next_link(link, n, _columns(kind, key, time), digest)


def chain_value(seq: int, link: bytes) -> bytes:
    """Return the value of the column `chain`."""
    return hashlib.sha256(_pack_int(seq) + link).digest()


def _content_digest(salt: bytes, columns: bytes, body: bytes) -> bytes:
    return hashlib.sha256(salt + columns + body).digest()


def _next_link(link: bytes, n: int, columns: bytes, digest: bytes) -> bytes:
    return hashlib.sha256(link + _pack_int(n) + columns + digest).digest()


def _columns(kind: str, key: str, time: float) -> bytes:
    kind_bytes, key_bytes = kind.encode(), key.encode()
    # Lengths are included, because both may contain any characters and different columns must not give equal
    # bytes.
    return b"%d %d %b%b%b" % (len(kind_bytes), len(key_bytes), kind_bytes, key_bytes, _pack_time(time))
