"""Reading of the log's entries in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from fairbandits.service.log.digests import content_digest
from fairbandits.service.log.errors import LogDamagedError
from fairbandits.service.log.events import Decided, Entry, Rewarded, decision_key, read_event
from fairbandits.service.log.order import SETTLED_SQL
from fairbandits.service.log.stored_decision import StoredDecided

#: The largest number of rows for which one statement may have placeholders.
MAX_ROWS = 500

# The columns that the digest of an entry covers, except the body.
_CONTENT = "key, kind, time, salt, digest"
_NO_ENTRIES: Mapping[int, Entry] = {}


def read(
    connection: Connection,
    after: int,
    upto: int | None = None,
    limit: int = 10_000,
    own: Mapping[int, Entry] = _NO_ENTRIES,
) -> list[Entry]:
    """Read settled entries in order. Rewards come with their decisions.

    Parameters
    ----------
    connection : Connection
        The connection.
    after, upto : int
        The entry before the first one to read, and the last one to read; by default, all entries are read.
    limit : int
        The maximum number of entries.
    own : mapping of int to Entry
        Entries that the caller has in memory, by number. Their content is not read.
    """
    rows = _read_rows(connection, after, upto, limit, own)
    contents = {seq: _content(*content) for seq, _, _, *content in rows if seq not in own}
    keys = [decision_key(each.decision) for each in contents.values() if isinstance(each, Rewarded)]
    decisions = find(connection, keys)
    return [
        own[seq] if seq in own else Entry(seq, *_with_decision(contents[seq], decisions), writer, n)
        for seq, writer, n, *_ in rows
    ]


def _with_decision(event: Any, decisions: Mapping[str, Any]) -> tuple[Any, Decided | None]:
    """Return an event with its decision; both are None if the content of the decision was deleted."""
    if isinstance(event, Rewarded) and decisions.get(decision_key(event.decision), event) is None:
        return None, None
    return event, decision_of(event, decisions)


def _read_rows(
    connection: Connection, after: int, upto: int | None, limit: int, own: Mapping[int, Entry]
) -> Sequence[Any]:
    is_sqlite = connection.dialect.name == "sqlite"
    mark = "?" if is_sqlite else "%s"
    body, values = "body", []
    if own:
        # All entries of this writer, starting with the first of `own`, are in memory.
        first = min(own)
        body = f"CASE WHEN writer = {mark} AND seq >= {mark} THEN NULL ELSE body END"
        values += [own[first].writer, first]
    conditions = [f"seq > {mark}"]
    values.append(after)
    if upto is not None:
        conditions.append(f"seq <= {mark}")
        values.append(upto)
    if not is_sqlite:
        conditions.append(f"seq < {SETTLED_SQL}")
    where = " AND ".join(conditions)
    statement = f"SELECT seq, writer, n, {_CONTENT}, {body} FROM events WHERE {where} ORDER BY seq LIMIT {mark}"  # noqa: S608
    return connection.exec_driver_sql(statement, (*values, limit)).all()


def decision_of(event: Any, found: Mapping[str, Any]) -> Decided | None:
    """Return the decision to which a reward belongs, or None for any other event."""
    return found.get(decision_key(event.decision)) if isinstance(event, Rewarded) else None


def find(connection: Connection, keys: Iterable[str]) -> dict[str, Any]:
    """Find events by their keys, settled or not; events whose content was deleted are None."""
    rows = find_rows(connection, f"{_CONTENT}, body FROM events", [*dict.fromkeys(keys)])
    return {row[0]: _content(*row) for row in rows}


def _content(key: str, kind: str, time: float, salt: bytes | None, digest: bytes, body: str | None) -> Any:
    """Return the event of an entry, or None if its content was deleted."""
    if body is None:
        return None
    if content_digest(salt or b"", kind, key, time, body.encode()) != digest:
        raise LogDamagedError(
            f"the entry with key {key} was changed after it was written; run `fairbandits verify`"
        )
    return StoredDecided(key[2:], body) if kind == Decided.KIND else read_event(kind, body)


def find_rows(connection: Connection, what: str, keys: Sequence[str]) -> Iterator[Any]:
    """Find the rows of a table that have one of the keys."""
    if not keys:
        return
    if connection.dialect.name == "postgresql":
        # One statement for any number of keys, which the driver prepares once.
        yield from connection.exec_driver_sql(f"SELECT {what} WHERE key = ANY(%s)", ([*keys],))
        return
    for at in range(0, len(keys), MAX_ROWS):
        batch = keys[at : at + MAX_ROWS]
        marks = ",".join("?" * len(batch))
        yield from connection.exec_driver_sql(f"SELECT {what} WHERE key IN ({marks})", tuple(batch))
