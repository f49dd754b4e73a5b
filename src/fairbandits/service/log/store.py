"""The database: one lock around what is written, so that the order of the log is the order of its commits."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, delete, event, func, insert, make_url, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from fairbandits.service.log import migrations
from fairbandits.service.log.events import Decided, Entry, Rewarded, decision_key, read_event
from fairbandits.service.log.tables import answers, events, facts, snapshots

# One lock for all who write to one database; any number, as long as nobody else in that database uses it.
_LOCK = 4_717_321_905
_MEANING, _PROBE = "meaning", "probe"
_BATCH = 500
_KEPT_SNAPSHOTS = 2
# So long a database may take to let us in, or to let us write: on a busy machine that is not at once.
_PATIENCE = 10
_ENGINE: dict[str, Any] = {"isolation_level": "AUTOCOMMIT", "poolclass": NullPool, "hide_parameters": True}


class StoreDownError(RuntimeError):
    """The database cannot be reached, or cannot write."""


class LogLostError(RuntimeError):
    """The log ends before what was read of it: somebody has put an older copy in its place."""


class Store:
    """The log and what belongs to it, in SQLite or PostgreSQL. One thread uses it at a time.

    Parameters
    ----------
    url : str
        Where it is: `sqlite:///FILE` or `postgresql://...`.
    """

    def __init__(self, url: str) -> None:
        self.engine = make_engine(url)
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        self.mark = "?" if self.is_sqlite else "%s"
        self._kept: Connection | None = None

    def open(self, meaning: str) -> None:
        """Make or update the tables, and refuse a log that means something else."""
        with self.transaction() as connection:
            migrations.upgrade(connection)
            found = connection.execute(select(facts.c.value).where(facts.c.name == _MEANING)).scalar()
            if found is None:
                connection.execute(insert(facts).values(name=_MEANING, value=meaning))
            elif found != meaning:
                raise ValueError(
                    f"{self.engine.url!r} holds the log of a service with other features, columns or range of "
                    "rewards, whose numbers mean something else; name another store"
                )

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Give the connection; where something goes wrong, close it, so that the next use opens another."""
        try:
            if self._kept is None:
                self._kept = self.engine.connect()
            yield self._kept
        except SQLAlchemyError as error:
            self.close()
            raise StoreDownError(f"{type(error).__name__}: {error.__cause__ or error}") from error
        except BaseException:
            self.close()
            raise

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Give the connection within a transaction, in which nobody else writes."""
        with self.connection() as connection:
            if self.is_sqlite:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            else:
                connection.exec_driver_sql("BEGIN")
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
            try:
                yield connection
            except BaseException:
                connection.exec_driver_sql("ROLLBACK")
                raise
            connection.exec_driver_sql("COMMIT")

    def close(self) -> None:
        """Close the connection."""
        kept, self._kept = self._kept, None
        if kept is not None:
            with suppress(SQLAlchemyError):  # it may be broken, which is why it is closed
                kept.close()

    def probe(self) -> None:
        """Write something that means nothing, to see whether the store can be written to."""
        with self.transaction() as connection:
            connection.execute(delete(facts).where(facts.c.name == _PROBE))
            connection.execute(insert(facts).values(name=_PROBE, value=str(time.time())))

    # -- the log ---------------------------------------------------------------------------------------

    def last_seq(self) -> int:
        """Give the place of the last entry of the log; 0 where there is none."""
        with self.connection() as connection:
            return last_seq(connection)

    def read(self, after: int, upto: int | None = None, limit: int = 10_000) -> list[Entry]:
        """Read entries in their order; rewards come with their decisions."""
        with self.connection() as connection:
            return read(connection, after, upto, limit)

    # -- snapshots -------------------------------------------------------------------------------------

    def save_snapshot(self, seq: int, parts: Mapping[str, bytes]) -> None:
        """Write down what followed from the log up to an entry, and drop all but the last ones."""
        now = time.time()
        rows = [
            {"seq": seq, "part": part, "time": now, "sha256": hashlib.sha256(body).hexdigest(), "body": body}
            for part, body in parts.items()
        ]
        with self.transaction() as connection:
            known = connection.execute(select(snapshots.c.seq).distinct().order_by(snapshots.c.seq.desc()))
            kept = [*known.scalars()]
            if seq in kept:
                return  # another worker's, and equal to the bit
            connection.execute(insert(snapshots), rows)
            for old in kept[_KEPT_SNAPSHOTS - 1 :]:
                connection.execute(delete(snapshots).where(snapshots.c.seq == old))

    def last_snapshot_seq(self) -> int:
        """Give the entry up to which the last snapshot goes; 0 where there is none."""
        with self.connection() as connection:
            return connection.execute(select(func.max(snapshots.c.seq))).scalar() or 0

    def read_snapshots(self, note: Callable[[str], None]) -> Iterator[tuple[int, dict[str, bytes]]]:
        """Read the snapshots, the last first; those that are damaged are noted and left out."""
        with self.connection() as connection:
            seqs = connection.execute(select(snapshots.c.seq).distinct().order_by(snapshots.c.seq.desc()))
            for seq in seqs.scalars().all():
                rows = connection.execute(select(snapshots).where(snapshots.c.seq == seq)).all()
                if all(hashlib.sha256(row.body).hexdigest() == row.sha256 for row in rows):
                    yield seq, {row.part: row.body for row in rows}
                else:
                    note(f"the snapshot at {seq} is damaged; reading more of the log instead")

    # -- answers ---------------------------------------------------------------------------------------

    def drop_answers(self, before: float) -> None:
        """Drop answers of requests that came before a time."""
        with self.transaction() as connection:
            connection.execute(delete(answers).where(answers.c.time < before))


def make_engine(url: str) -> Engine:
    """Make the engine of a database: transactions are begun by hand, and what is committed is on disk.

    Errors do not repeat what was to be written: it may be sensitive.
    """
    try:
        parsed = make_url(url)
        name = parsed.get_backend_name()
    except (SQLAlchemyError, ValueError):
        raise ValueError("the store is sqlite:///FILE or postgresql://...; got no URL of a database") from None
    if name == "sqlite":
        if not parsed.database or parsed.database == ":memory:":
            raise ValueError(f"{url}: a log in memory is lost with the process; name a file")
        Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
        engine = create_engine(parsed, **_ENGINE, connect_args={"timeout": _PATIENCE})
        event.listen(engine, "connect", _make_durable)
        return engine
    if name != "postgresql":
        raise ValueError(f"{parsed!r}: the store is sqlite:///FILE or postgresql://...; got {name}")
    options = {"connect_timeout": _PATIENCE, "options": "-c synchronous_commit=on"}
    url_with_driver = parsed.set(drivername="postgresql+psycopg")
    return create_engine(url_with_driver, **_ENGINE, connect_args=options)


def _make_durable(connection: Any, _: Any) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")


def last_seq(connection: Connection) -> int:
    """Give the place of the last entry of the log; 0 where there is none."""
    return connection.exec_driver_sql("SELECT max(seq) FROM events").scalar() or 0


def read(connection: Connection, after: int, upto: int | None = None, limit: int = 10_000) -> list[Entry]:
    """Read entries in their order; rewards come with their decisions."""
    query = select(events.c.seq, events.c.kind, events.c.body).where(events.c.seq > after)
    if upto is not None:
        query = query.where(events.c.seq <= upto)
    rows = connection.execute(query.order_by(events.c.seq).limit(limit)).all()
    found = [(seq, read_event(kind, body)) for seq, kind, body in rows]
    wanted = [decision_key(each.decision) for _, each in found if isinstance(each, Rewarded)]
    decisions = find(connection, wanted)
    return [Entry(seq, each, decision_of(each, decisions)) for seq, each in found]


def decision_of(each: Any, found: Mapping[str, Any]) -> Decided | None:
    """Give the decision that an event is the reward of, out of what was found; None of any other event."""
    return found.get(decision_key(each.decision)) if isinstance(each, Rewarded) else None


def find(connection: Connection, keys: Iterable[str]) -> dict[str, Any]:
    """Find events by their keys."""
    found: dict[str, Any] = {}
    for some in _batches([*dict.fromkeys(keys)]):
        query = select(events.c.key, events.c.kind, events.c.body).where(events.c.key.in_(some))
        found |= {key: read_event(kind, body) for key, kind, body in connection.execute(query)}
    return found


def insert_rows(connection: Connection, table: str, mark: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows, many in one statement: a thread that waits for its turn after each of them waits long."""
    for some in _batches(rows):
        one = f"({','.join([mark] * len(some[0]))})"
        values = [value for row in some for value in row]
        connection.exec_driver_sql(f"INSERT INTO {table} VALUES {','.join([one] * len(some))}", tuple(values))  # noqa: S608


def _batches(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (items[at : at + _BATCH] for at in range(0, len(items), _BATCH))
