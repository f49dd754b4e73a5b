"""Checks of the whole store: the digest of every entry, the chain of every writer, snapshots, and the start."""

from __future__ import annotations

import hashlib
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, RowMapping, select

from fairbandits.service.log import snapshot_rows
from fairbandits.service.log.digests import ChainHead, chain_value, content_digest, new_chain, next_link
from fairbandits.service.log.errors import LogDamagedError
from fairbandits.service.log.insertion import last_seq
from fairbandits.service.log.tables import snapshots

_ROWS = 2000
_COLUMNS = "seq, time, n, salt, digest, chain"
# Text is read as bytes, because damaged text may not be valid UTF-8, and drivers would refuse to read it.
_TEXTS = ("kind", "key", "body", "writer")
_LONELY_REWARD = """
SELECT min(reward.seq) FROM events AS reward
WHERE reward.kind = 'rewarded' AND reward.seq <= {last} AND NOT EXISTS (
  SELECT 1 FROM events AS decision WHERE decision.key = 'd:' || substr(reward.key, 3) AND decision.seq < reward.seq
)
"""


class CheckedLog(NamedTuple):
    """A summary of the log that was checked.

    Attributes
    ----------
    last : int
        The last entry.
    entries, deleted : int
        The number of entries, and the number of entries whose content was deleted.
    kinds : mapping of str to int
        The number of entries by kind.
    writers : int
        The number of writers.
    """

    last: int
    entries: int
    deleted: int
    kinds: Mapping[str, int]
    writers: int


def check_log(connection: Connection) -> CheckedLog:
    """Check all entries; raise LogDamagedError for the first damaged entry."""
    if connection.dialect.name == "sqlite":
        found = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar()
        if found != "ok":
            raise LogDamagedError(f"the database file is damaged: {found}")
    last = last_seq(connection)
    heads: dict[str, ChainHead] = {}
    kinds: Counter[str] = Counter()
    deleted = 0
    for row in _rows(connection, last):
        try:
            kind, key, writer = (row[name].decode() for name in ("kind", "key", "writer"))
            _check_content(row, kind, key)
            heads[writer] = _check_chain(row, kind, key, heads.get(writer) or new_chain(writer))
        except (AttributeError, TypeError, UnicodeDecodeError, struct.error):
            raise LogDamagedError(f"entry {row['seq']}: a column has no valid value") from None
        kinds[kind] += 1
        deleted += row["body"] is None
    lonely = connection.exec_driver_sql(_LONELY_REWARD.format(last=last)).scalar()
    if lonely is not None:
        raise LogDamagedError(f"entry {lonely}: a reward without its decision")
    return CheckedLog(last, sum(kinds.values()), deleted, dict(kinds), len(heads))


def _rows(connection: Connection, last: int) -> Iterator[RowMapping]:
    if connection.dialect.name == "sqlite":
        texts = ", ".join(f"CAST({name} AS BLOB) AS {name}" for name in _TEXTS)
    else:
        texts = ", ".join(f"convert_to({name}, 'UTF8') AS {name}" for name in _TEXTS)
    # A damaged entry number may be lower than all others.
    after = connection.exec_driver_sql("SELECT min(seq) - 1 FROM events").scalar()
    while after is not None and after < last:
        statement = f"SELECT {_COLUMNS}, {texts} FROM events WHERE seq > {after} ORDER BY seq LIMIT {_ROWS}"  # noqa: S608
        rows = connection.exec_driver_sql(statement).mappings().all()
        yield from (row for row in rows if row["seq"] <= last)
        after = rows[-1]["seq"]


def _check_content(row: RowMapping, kind: str, key: str) -> None:
    body, salt = row["body"], row["salt"]
    if (body is None) != (salt is None):
        raise LogDamagedError(f"entry {row['seq']}: only a part of its content was deleted")
    if body is None:
        return  # without content, the digest is covered only by the chain
    if content_digest(_bytes(salt), kind, key, row["time"], _bytes(body)) != row["digest"]:
        raise LogDamagedError(f"entry {row['seq']}: its content does not match its digest")


def _check_chain(row: RowMapping, kind: str, key: str, head: ChainHead) -> ChainHead:
    seq, n = row["seq"], row["n"]
    if n != head.n + 1:
        raise LogDamagedError(
            f"entry {seq}: number {n} of writer {head.writer} follows number {head.n}; entries are missing, or "
            "this one was changed"
        )
    link = next_link(head.link, n, kind, key, row["time"], _bytes(row["digest"]))
    if chain_value(seq, link) != row["chain"]:
        raise LogDamagedError(f"entry {seq}: it does not match the chain of writer {head.writer}")
    return ChainHead(head.writer, n, link)


def _bytes(value: Any) -> bytes:
    """Return bytes; raise TypeError for any other type, which `bytes` might convert."""
    if not isinstance(value, bytes | memoryview):
        raise TypeError
    return bytes(value)


def check_snapshots(connection: Connection, last: int) -> list[int]:
    """Verify the checksums of the snapshots and of the start; return the snapshots' entries, newest first."""
    start = connection.execute(select(snapshots).where(snapshots.c.seq == 0)).first()
    if start is not None and hashlib.sha256(start.body).hexdigest() != start.sha256:
        raise LogDamagedError("the recommender that the log starts with does not match its checksum")
    found = []
    for seq, parts in snapshot_rows.read(connection):
        if parts is None:
            raise LogDamagedError(f"the snapshot at entry {seq} does not match its checksum")
        if seq > last:
            raise LogDamagedError(f"the log ends at entry {last}, before the snapshot at entry {seq}")
        found.append(seq)
    return found
