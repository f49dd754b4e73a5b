"""The database of the log: its connection, its transactions, the snapshots and the initial state."""

from __future__ import annotations

import hashlib
import logging
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, delete, event, func, make_url, select
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from fairbandits.service.config import Config
from fairbandits.service.log import deadlines, migrations, snapshot_rows
from fairbandits.service.log.digests import ChainHead, new_chain
from fairbandits.service.log.errors import KeyTakenError, NoLogError, StoreDownError, StoreReplacedError
from fairbandits.service.log.events import Entry
from fairbandits.service.log.insertion import last_seq
from fairbandits.service.log.log_facts import (
    SCHEMA,
    PrunedContent,
    StateChange,
    check_schema,
    read_fact,
    write_fact,
)
from fairbandits.service.log.order import raise_offset
from fairbandits.service.log.reading import read
from fairbandits.service.log.sqlite_files import SqliteFiles
from fairbandits.service.log.tables import answers, events, snapshots

_log = logging.getLogger(__name__)

# The advisory lock that all transactions except appends take in a PostgreSQL database. The number is arbitrary.
_LOCK = 4_717_321_905
# Every execution of this statement writes to the disk.
_PROBE_SQL = (
    "INSERT INTO facts (name, value) VALUES ('probe', CAST(random() AS text)) "
    "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)
# The number of seconds that a busy database may take to accept a connection or to grant the lock.
_TIMEOUT = 10
# The name under which the state before the first entry is saved. This state is the file that the service started
# with, if there was one.
_START = "start"
# The error codes of SQLite and PostgreSQL for a duplicate key, or for a deadlock between two writers over keys.
_KEY_TAKEN = {"SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY", "23505", "40P01"}
_ENGINE: dict[str, Any] = {"isolation_level": "AUTOCOMMIT", "poolclass": NullPool, "hide_parameters": True}


@contextmanager
def open_store(config: Config, *, must_exist: bool = False) -> Iterator[Store]:
    """Open the store of a service, whether or not the service is running.

    Parameters
    ----------
    config : Config
        The configuration.
    must_exist : bool
        Whether to refuse a store without a log, instead of creating the log.

    Raises
    ------
    ValueError
        If the store cannot be used.
    """
    store = Store(config.store.url)
    try:
        if must_exist and not store.exists():
            raise NoLogError(
                f"{store.engine.url!r} holds no log; create one with `fairbandits serve`, or name the "
                "configuration of a service that has one"
            )
        store.open(config.log_schema())
        yield store
    except StoreDownError as error:
        raise ValueError(f"the store cannot be used: {error}") from None
    finally:
        store.close()


class Store:
    """The log, its snapshots and the stored replies, in SQLite or PostgreSQL. Not thread-safe.

    Parameters
    ----------
    url : str
        `sqlite:///FILE` or `postgresql://...`.
    timeout : float, optional
        The number of seconds after which an unanswered statement fails. Without a timeout, a busy database may
        take 10 s to accept a connection, and arbitrarily long to answer a statement. PostgreSQL ends a transaction
        that is idle between two statements for longer than the timeout, or for longer than 60 s if no timeout is
        set.

    Attributes
    ----------
    engine : sqlalchemy.Engine
        The engine of the database.
    head : ChainHead
        The end of the chain of all entries appended through this store.
    last_own : int
        The number of the last entry of this chain.
    read_at : float
        The time, on the monotonic clock, at which the entries of other writers were last read.
    """

    def __init__(self, url: str, timeout: float | None = None) -> None:
        self.engine = make_engine(url, timeout)
        self.timeout = timeout
        self._busy_since: float | None = None
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        self.placeholder = "?" if self.is_sqlite else "%s"
        self._connection: Connection | None = None
        self.head = new_chain()
        self.last_own = 0
        self.read_at = -math.inf
        self._own: dict[int, Entry] = {}
        self._files = SqliteFiles(self.engine.url.database or "") if self.is_sqlite else None
        self._is_new = True  # whether the connection has not been used for a transaction yet

    def exists(self) -> bool:
        """Return whether the store holds a log, without creating anything."""
        if self.is_sqlite and not Path(self.engine.url.database or "").is_file():
            return False
        with self.connection() as connection:
            return migrations.are_there(connection)

    def create(self) -> None:
        """Create the file of an SQLite database if it is missing; only its owner can read it."""
        if self._files is not None:
            self._files.create()

    def open(self, schema: str) -> None:
        """Create or migrate the tables; raise ValueError if the log has another schema (`Config.log_schema`)."""
        self.create()
        with self.transaction() as connection:
            migrations.upgrade(connection)
            if not self.is_sqlite:
                raise_offset(connection)
            stored = read_fact(connection, SCHEMA)
            if stored is None:
                write_fact(connection, SCHEMA, schema)
            else:
                check_schema(repr(self.engine.url), stored, schema)

    @property
    def busy_seconds(self) -> float:
        """The number of seconds for which the database has been in use without a pause; any thread can read it."""
        since = self._busy_since
        return 0.0 if since is None else time.monotonic() - since

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Provide the connection, and close it after an error, so that the next use opens a new one."""
        self._busy_since = time.monotonic()
        try:
            if self._connection is None:
                if self._files is not None:
                    self._files.check_database()
                self._connection, self._is_new = self.engine.connect(), True
            yield self._connection
        except StoreReplacedError:
            raise  # the connection may be the last way to access the content of the files
        except SQLAlchemyError as error:
            message = describe(error)
            if isinstance(error, DBAPIError) and _is_key_taken(error):
                raise KeyTakenError(message) from error
            self.close()
            raise StoreDownError(message) from error
        except BaseException:
            self.close()
            raise
        finally:
            self._busy_since = None

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Provide the connection within a transaction; only appends to PostgreSQL can run concurrently."""
        with self.connection() as connection:
            if self.is_sqlite:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            else:
                connection.exec_driver_sql("BEGIN")
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
            try:
                self._remember_files()
                yield connection
                self._check_files()
            except BaseException:
                with suppress(SQLAlchemyError):  # the connection is closed anyway; the original error is raised
                    connection.exec_driver_sql("ROLLBACK")
                raise
            connection.exec_driver_sql("COMMIT")
            self._check_files()

    def _remember_files(self) -> None:
        # Called within the first transaction of a connection, because that transaction creates missing files.
        if self._files is not None and self._is_new:
            self._files.remember()
            self._is_new = False

    def _check_files(self) -> None:
        if self._files is not None:
            self._files.check()

    @contextmanager
    def appending(self) -> Iterator[Connection]:
        """Provide the connection for an append, in a transaction on SQLite and without one on PostgreSQL.

        A failed append may nevertheless have added its entries to the log, so the next append begins a new chain.
        """
        try:
            with self.transaction() if self.is_sqlite else self.connection() as connection:
                yield connection
        except KeyTakenError:
            raise
        except BaseException:
            self.head, self.last_own, self._own = new_chain(), 0, {}
            raise

    def keep_own(self, head: ChainHead, entries: Sequence[Entry]) -> None:
        """Keep appended entries until they are settled and applied, so that they need not be read back."""
        self.head = head
        if entries:
            self.last_own = entries[-1].seq
            self._own |= {entry.seq: entry for entry in entries}

    def own_entries(self, after: int) -> Mapping[int, Entry]:
        """Return the entries with numbers above `after` that were appended through this store; drop the others."""
        self._own = {seq: entry for seq, entry in self._own.items() if seq > after}
        return self._own

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(SQLAlchemyError):  # a broken connection is one reason to close it
                connection.close()

    def probe(self) -> None:
        """Raise `StoreDownError` if the store cannot be written to."""
        # On PostgreSQL, this is one statement without the lock, because a frozen worker may hold the lock.
        with self.transaction() if self.is_sqlite else self.connection() as connection:
            connection.exec_driver_sql(_PROBE_SQL)

    # -- entries ---------------------------------------------------------------------------------------

    def last_seq(self) -> int:
        """Return the number of the last entry, or 0 for an empty log."""
        with self.connection() as connection:
            return last_seq(connection)

    def read(self, after: int, upto: int | None = None, limit: int = 10_000) -> list[Entry]:
        """Read entries in order. The entry of a reward includes the decision."""
        with self.connection() as connection:
            return read(connection, after, upto, limit, self.own_entries(after))

    def count(self, after: int, upto: int) -> int:
        """Count the entries with numbers above `after`, up to and including `upto`."""
        query = select(func.count()).where(events.c.seq > after, events.c.seq <= upto)
        with self.connection() as connection:
            return connection.execute(query).scalar_one()

    # -- snapshots -------------------------------------------------------------------------------------

    def save_snapshot(
        self, seq: int, parts: Mapping[str, bytes], change_seq: int = 0, pace: snapshot_rows.Pace | None = None
    ) -> None:
        """Save the state after an entry; see `snapshot_rows.save`."""
        snapshot_rows.save(self, seq, parts, change_seq, pace)

    def last_snapshot_seq(self) -> int:
        """Return the number of the entry at which the newest snapshot was taken, or 0 if there is none."""
        with self.connection() as connection:
            return snapshot_rows.last_seq(connection)

    def read_snapshots(self) -> Iterator[tuple[int, dict[str, bytes]]]:
        """Read the snapshots, newest first. Damaged ones are logged and skipped."""
        with self.connection() as connection:
            for seq, parts in snapshot_rows.read(connection):
                if parts is not None:
                    yield seq, parts
                else:
                    _log.warning("the snapshot at entry %d is damaged; reading more of the log instead", seq)

    def read_pruned(self) -> PrunedContent:
        """Return a description of the content that was deleted because of its age."""
        with self.connection() as connection:
            return PrunedContent.read(connection)

    def read_change(self) -> StateChange:
        """Return the last change of the state."""
        with self.connection() as connection:
            return StateChange.read(connection)

    # -- the start -------------------------------------------------------------------------------------

    def save_start(self, content: bytes) -> bool:
        """Save the recommender that the log starts with; return False if another worker has already done so."""
        with self.transaction() as connection:
            if connection.execute(select(snapshots.c.part).where(snapshots.c.seq == 0)).first() is not None:
                return False
            snapshot_rows.insert_whole(connection, 0, {_START: content})
            return True

    def read_start(self) -> bytes | None:
        """Return the recommender that the log starts with, or None if it starts without one."""
        with self.connection() as connection:
            row = connection.execute(select(snapshots).where(snapshots.c.seq == 0)).first()
        if row is None:
            return None
        if hashlib.sha256(row.body).hexdigest() != row.sha256:
            raise ValueError(f"{self.engine.url!r}: the recommender that the log starts with is damaged")
        return bytes(row.body)

    # -- replies ---------------------------------------------------------------------------------------

    def drop_replies(self, before: float, limit: int = 1000) -> int:
        """Drop the oldest replies stored before a given time, at most `limit` of them; return their number."""
        old = select(answers.c.key).where(answers.c.time < before).order_by(answers.c.time).limit(limit)
        with self.transaction() as connection:
            return connection.execute(delete(answers).where(answers.c.key.in_(old))).rowcount


def make_engine(url: str, timeout: float | None = None) -> Engine:
    """Create the engine of a database. Transactions are begun explicitly, and a commit waits for the disk.

    Error messages omit the parameters of statements, which may be sensitive. `timeout` is as in `Store`.
    """
    try:
        parsed = make_url(url)
        name = parsed.get_backend_name()
    except (SQLAlchemyError, ValueError):
        raise ValueError("store.url must be sqlite:///FILE or postgresql://..., got no database URL") from None
    if name == "sqlite":
        if not parsed.database or parsed.database == ":memory:":
            raise ValueError(f"store.url must name a file, got {url}; a log in memory is lost with the process")
        engine = create_engine(parsed, **_ENGINE, connect_args={"timeout": timeout or _TIMEOUT})
        event.listen(engine, "connect", _make_durable)
        return engine
    if name != "postgresql":
        raise ValueError(f"store.url must be sqlite:///FILE or postgresql://..., got {parsed!r}")
    url_with_driver = parsed.set(drivername="postgresql+psycopg")
    if timeout is None:
        return create_engine(url_with_driver, **_ENGINE, connect_args=deadlines.patient_connect_args(_TIMEOUT))
    engine = create_engine(url_with_driver, **_ENGINE, connect_args=deadlines.connect_args(timeout))
    event.listen(engine, "do_connect", deadlines.connector(timeout))
    return engine


def _make_durable(connection: Any, _: Any) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    # Connections that write entries checkpoint rarely; the one that saves snapshots does so more often.
    connection.execute("PRAGMA wal_autocheckpoint=4000")
    # Deleted content, such as that of forgotten users, is overwritten with zeros.
    connection.execute("PRAGMA secure_delete=ON")


def _is_key_taken(error: DBAPIError) -> bool:
    code = getattr(error.orig, "sqlite_errorname", None) or getattr(error.orig, "sqlstate", None)
    return code in _KEY_TAKEN


def describe(error: SQLAlchemyError) -> str:
    """Return the database's error message, without the details, in which PostgreSQL repeats values."""
    cause = error.__cause__ or error
    diagnosis = getattr(cause, "diag", None)
    message = getattr(diagnosis, "message_primary", None) or str(cause)
    state = getattr(cause, "sqlstate", None)
    return f"{type(error).__name__}: {message.strip()}{f' (SQLSTATE {state})' if state else ''}"
