"""Snapshots as rows of a table: large ones are divided into pieces, so that entries can be written in between.

A part is stored under its name. Content that does not fit into that row comes before it, in rows named
`PART#HASH#000000` and so on. The row with the name is written last and contains the checksum of the whole part; a
snapshot without it is unfinished.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, delete, func, insert, select

from fairbandits.service.log.log_facts import PrunedContent, StateChange
from fairbandits.service.log.tables import snapshots

if TYPE_CHECKING:
    from fairbandits.service.log.store import Store

# The number of bytes in a row, which one transaction writes in a few milliseconds.
_PIECE = 1 << 18
# After a piece has been written or deleted, the database is left to others for this many times as long as that
# took.
_PAUSE = 2.0
_KEPT = 2
_MARK = "#"
# The number of pages of the write-ahead log after which this connection checkpoints them, so that connections that
# write entries need not do so.
_CHECKPOINT_PAGES = 250

_IS_PIECE = snapshots.c.part.contains(_MARK)
_FINISHED = select(snapshots.c.seq).where(snapshots.c.seq > 0, ~_IS_PIECE)


class Pace:
    """The pace at which a snapshot is written, at first with pauses. Any thread can change it."""

    def __init__(self) -> None:
        self._is_hurried = threading.Event()
        self._is_given_up = threading.Event()

    @property
    def is_given_up(self) -> bool:
        """Whether nobody is waiting for the snapshot any longer."""
        return self._is_given_up.is_set()

    def hurry(self) -> None:
        """Make no more pauses."""
        self._is_hurried.set()

    def give_up(self) -> None:
        """Write no more pieces."""
        self._is_given_up.set()

    def pause(self, seconds: float) -> None:
        """Wait, unless somebody is waiting for the snapshot."""
        self._is_hurried.wait(seconds)


def save(
    store: Store, seq: int, parts: Mapping[str, bytes], change_seq: int = 0, pace: Pace | None = None
) -> None:
    """Save a snapshot, and drop all snapshots except the newest ones and the base of a pruned log.

    Parameters
    ----------
    store : Store
        The store.
    seq : int
        The last entry that the snapshot contains.
    parts : mapping of str to bytes
        The parts.
    change_seq : int
        The last change of the state that the snapshot reflects. The snapshot is not saved if there has been
        another change since.
    pace : Pace, optional
        The pace. By default, there are no pauses between the pieces.
    """
    with store.connection() as connection:
        # Another worker may have saved a bitwise identical snapshot.
        if seq in _finished(connection) or StateChange.read(connection).seq != change_seq:
            return
        if store.is_sqlite:
            connection.exec_driver_sql(f"PRAGMA wal_autocheckpoint={_CHECKPOINT_PAGES}")
    pieces = [row for part, body in parts.items() for row in _pieces(seq, part, body)]
    for row in pieces:
        if pace is not None and pace.is_given_up:
            return
        with _transaction(store, pace) as connection:
            if StateChange.read(connection).seq != change_seq:
                # No state to which a forgotten user contributed may be saved; the change has deleted earlier
                # pieces.
                return
            _insert(store, connection, row)
    with store.transaction() as connection:
        there = select(func.count()).where(
            snapshots.c.seq == seq, snapshots.c.part.in_([row[1] for row in pieces])
        )
        # Another worker, with a newer snapshot, may have deleted the pieces as remains of a process that was
        # killed.
        is_there = connection.execute(there).scalar() == len(pieces)
        if is_there and StateChange.read(connection).seq == change_seq:
            for part, body in parts.items():
                _insert(store, connection, _last_row(seq, part, body))
    _drop_old(store, pace)


@contextmanager
def _transaction(store: Store, pace: Pace | None) -> Iterator[Connection]:
    """Open a transaction, and leave the database to others afterwards."""
    began = time.monotonic()
    with store.transaction() as connection:
        yield connection
    if pace is not None:
        pace.pause(_PAUSE * (time.monotonic() - began))


def insert_whole(connection: Connection, seq: int, parts: Mapping[str, bytes]) -> None:
    """Insert a snapshot in one piece, within a larger transaction."""
    rows = [
        {"seq": seq, "part": part, "time": time.time(), "sha256": hashlib.sha256(body).hexdigest(), "body": body}
        for part, body in parts.items()
    ]
    connection.execute(insert(snapshots), rows)


def _insert(store: Store, connection: Connection, row: tuple[Any, ...]) -> None:
    values = ",".join([store.placeholder] * len(row))
    # Another worker may be saving the same snapshot.
    connection.exec_driver_sql(f"INSERT INTO snapshots VALUES ({values}) ON CONFLICT DO NOTHING", row)  # noqa: S608


def _pieces(seq: int, part: str, body: bytes) -> Iterator[tuple[Any, ...]]:
    prefix = _piece_prefix(part, hashlib.sha256(body).hexdigest())
    for index, at in enumerate(range(0, len(body) - _PIECE, _PIECE)):
        piece = body[at : at + _PIECE]
        yield (seq, f"{prefix}{index:06d}", time.time(), hashlib.sha256(piece).hexdigest(), piece)


def _piece_prefix(part: str, sha256: str) -> str:
    """Return the prefix of the names of a part's pieces.

    Two workers may save the same state as different bytes, whose pieces must not be mixed.
    """
    return f"{part}{_MARK}{sha256[:8]}{_MARK}"


def _last_row(seq: int, part: str, body: bytes) -> tuple[Any, ...]:
    rest = body[len(range(0, len(body) - _PIECE, _PIECE)) * _PIECE :]
    return (seq, part, time.time(), hashlib.sha256(body).hexdigest(), rest)


def _drop_old(store: Store, pace: Pace | None) -> None:
    """Drop all snapshots except the newest and the base, including unfinished ones, one row at a time."""
    with store.connection() as connection:
        kept = _finished(connection)[:_KEPT]
        if len(kept) < _KEPT:
            return
        # Replays of a pruned log start at its base.
        old = (snapshots.c.seq > PrunedContent.read(connection).base) & (snapshots.c.seq < kept[-1])
        # Rows with the names of parts come first, so that no snapshot ever appears finished while pieces are
        # missing.
        rows = connection.execute(select(snapshots.c.seq, snapshots.c.part).where(old).order_by(_IS_PIECE)).all()
    for seq, part in rows:
        if pace is not None and pace.is_given_up:
            return  # the next snapshot deletes the rest
        # `secure_delete` overwrites the pages of a deleted row, so deleting a row takes as long as inserting it.
        with _transaction(store, pace) as connection:
            connection.execute(delete(snapshots).where(snapshots.c.seq == seq, snapshots.c.part == part))


def _finished(connection: Connection) -> list[int]:
    """Return the entries of all finished snapshots, newest first."""
    return [*connection.execute(_FINISHED.distinct().order_by(snapshots.c.seq.desc())).scalars()]


def last_seq(connection: Connection) -> int:
    """Return the number of the entry of the newest snapshot, or 0 if there is none."""
    return next(iter(_finished(connection)), 0)


def read(connection: Connection) -> Iterator[tuple[int, dict[str, bytes] | None]]:
    """Read the snapshots, newest first, with None in place of a damaged snapshot."""
    for seq in _finished(connection):
        rows = connection.execute(select(snapshots).where(snapshots.c.seq == seq).order_by(snapshots.c.part)).all()
        bodies: dict[str, bytes] = {}
        is_whole = True
        for named in rows:
            if _MARK not in named.part:
                prefix = _piece_prefix(named.part, named.sha256)
                pieces = [bytes(row.body) for row in rows if row.part.startswith(prefix)]
                bodies[named.part] = b"".join([*pieces, bytes(named.body)])
                is_whole &= hashlib.sha256(bodies[named.part]).hexdigest() == named.sha256
        yield seq, bodies if is_whole else None
