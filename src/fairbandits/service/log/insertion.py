"""Insertion of entries and replies: all of them or none, in one statement on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection

from fairbandits.service.log.digests import ChainHead, SealedEvent, chain_value, new_salts, seal
from fairbandits.service.log.errors import LogLostError
from fairbandits.service.log.order import BASE_SQL, IS_NEXT_SQL, MAX_ENTRIES
from fairbandits.service.log.reading import MAX_ROWS

# Only replies of accepted requests are stored, so the column `status` has one value in every row.
_STATUS = 200

# The id of the transaction is assigned in this statement, after everything on which the entries depend has been
# read. The transaction never waits for the client, so a client that is stopped midway does not hold up anybody
# else. Arrays are sent in binary (%b), because the driver would take longer to escape a body than the policy takes
# to decide.
_INSERT = f"""
WITH base AS (
  SELECT {BASE_SQL} AS seq
  WHERE %s = 0 OR EXISTS (SELECT FROM events WHERE seq = %s)
), reply AS (
  INSERT INTO answers (key, time, digest, status, body)
  SELECT each.key, %s, each.digest, {_STATUS}, each.body
  FROM base, unnest(%b::text[], %b::text[], %b::bytea[]) AS each (key, digest, body)
), entry AS (
  INSERT INTO events (seq, time, kind, key, body, writer, n, salt, digest, chain)
  SELECT base.seq + each.place, %s, each.kind, each.key, each.body, %s, %s + each.place, each.salt, each.digest,
         sha256(int8send(base.seq + each.place) || each.link)
  FROM base, unnest(%b::bigint[], %b::text[], %b::text[], %b::text[], %b::bytea[], %b::bytea[], %b::bytea[])
         AS each (place, kind, key, body, salt, digest, link)
)
SELECT seq, {IS_NEXT_SQL} AND NOT EXISTS (SELECT FROM events WHERE events.seq > %s) FROM base
"""  # noqa: S608 - made of constants


class StoredReply(NamedTuple):
    """A reply that is stored under an idempotency key, with the digest of its request."""

    key: str
    digest: str
    body: bytes


class NewEvent(NamedTuple):
    """An event as it is stored."""

    kind: str
    key: str
    body: str


class _Row(NamedTuple):
    """An event with everything that is stored alongside it."""

    kind: str
    key: str
    body: str
    sealed: SealedEvent


class Inserted(NamedTuple):
    """The result of an insertion.

    Attributes
    ----------
    base : int
        The number before the first entry.
    is_next : bool
        Whether the entries are settled, and are the only entries after the last one that the writer has read.
    head : ChainHead
        The new end of the writer's chain.
    """

    base: int
    is_next: bool
    head: ChainHead


def last_seq(connection: Connection) -> int:
    """Return the number of the last entry, whether settled or not; 0 for an empty log."""
    return connection.exec_driver_sql("SELECT max(seq) FROM events").scalar() or 0


def insert_entries(
    connection: Connection,
    head: ChainHead,
    known: int,
    now: float,
    events: Sequence[NewEvent],
    replies: Sequence[StoredReply],
) -> Inserted:
    """Insert events as the next entries of a writer, and replies.

    Parameters
    ----------
    connection : Connection
        The connection: on SQLite in a transaction that may write, on PostgreSQL without a transaction.
    head : ChainHead
        The end of the writer's chain.
    known : int
        The last entry that the writer has read, which must be in the log.
    now : float
        The time.
    events : sequence of NewEvent
        The events.
    replies : sequence of StoredReply
        The replies.
    """
    if len(events) > MAX_ENTRIES:
        raise ValueError(f"a batch must have at most {MAX_ENTRIES:,} entries, got {len(events):,}")
    rows = []
    for salt, (kind, key, body) in zip(new_salts(len(events)), events, strict=True):
        sealed, head = seal(head, salt, kind, key, now, body)
        rows.append(_Row(kind, key, body, sealed))
    insert = _insert_sqlite if connection.dialect.name == "sqlite" else _insert_postgresql
    return Inserted(*insert(connection, head.writer, known, now, rows, replies), head)


def _insert_sqlite(
    connection: Connection,
    writer: str,
    known: int,
    now: float,
    rows: Sequence[_Row],
    replies: Sequence[StoredReply],
) -> tuple[int, bool]:
    base = last_seq(connection)
    if base < known:
        raise _lost(base, known)
    entries = [
        (seq, now, kind, key, body, writer, sealed.n, sealed.salt, sealed.digest, chain_value(seq, sealed.link))
        for seq, (kind, key, body, sealed) in enumerate(rows, base + 1)
    ]
    _insert_rows(connection, "events", entries)
    _insert_rows(connection, "answers", [(key, now, digest, _STATUS, body) for key, digest, body in replies])
    return base, base == known


def _insert_rows(connection: Connection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows, many per statement, because the thread may lose the interpreter lock after every statement."""
    for at in range(0, len(rows), MAX_ROWS):
        batch = rows[at : at + MAX_ROWS]
        marks = ",".join([f"({','.join('?' * len(batch[0]))})"] * len(batch))
        values = tuple(value for row in batch for value in row)
        connection.exec_driver_sql(f"INSERT INTO {table} VALUES {marks}", values)  # noqa: S608


def _insert_postgresql(
    connection: Connection,
    writer: str,
    known: int,
    now: float,
    rows: Sequence[_Row],
    replies: Sequence[StoredReply],
) -> tuple[int, bool]:
    # Rows are in the order of keys: two writers that insert the same keys in different orders could deadlock.
    replies = sorted(replies)
    placed = sorted(enumerate(rows, 1), key=lambda each: each[1].key)
    before = rows[0].sealed.n - 1 if rows else 0
    values = (
        known,
        known,
        now,
        *([reply[field] for reply in replies] for field in range(3)),
        now,
        writer,
        before,
        [place for place, _ in placed],
        *([row[field] for _, row in placed] for field in range(3)),
        *([row.sealed[field] for _, row in placed] for field in range(1, 4)),
        known,
    )
    found = connection.exec_driver_sql(_INSERT, values).first()
    if found is None:
        raise _lost(last_seq(connection), known)
    return found[0], found[1]


def _lost(last: int, known: int) -> LogLostError:
    return LogLostError(
        f"the log ends at entry {last}, but it was read up to entry {known}; was an older copy restored?"
    )
