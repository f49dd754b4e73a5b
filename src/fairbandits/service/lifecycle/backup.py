"""Backups: the whole store in one SQLite file, whichever database it comes from or will be restored to."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, create_engine, delete, func, select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from fairbandits.service.config import Config
from fairbandits.service.lifecycle.table_copy import (
    RowSum,
    TableSummary,
    read_rows,
    summarise_table,
    write_rows,
)
from fairbandits.service.log import migrations
from fairbandits.service.log.store import Store, open_store
from fairbandits.service.log.tables import events, metadata
from fairbandits.storage import private_file, remove_abandoned

_FORMAT = 1
# The table that a backup has in addition to those of a store.
_MANIFEST = "backup"


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """The contents of a backup.

    Attributes
    ----------
    created : float
        The time at which the backup was made, in seconds since 1970.
    last : int
        The last entry of the log.
    tables : dict of str to TableSummary
        The tables, with their numbers of rows and checksums.
    """

    created: float
    last: int
    tables: Mapping[str, TableSummary]

    @property
    def entries(self) -> int:
        """The number of entries of the log."""
        return self.tables[events.name].rows

    def to_json(self) -> str:
        """Return the manifest as JSON."""
        tables = {name: summary.to_dict() for name, summary in self.tables.items()}
        return json.dumps({"format": _FORMAT, "created": self.created, "last": self.last, "tables": tables})

    @classmethod
    def from_json(cls, content: str) -> BackupManifest:
        """Return a manifest written by `to_json`."""
        plain = json.loads(content)
        if plain["format"] != _FORMAT:
            raise ValueError("it was written by a later release of fairbandits; update fairbandits")
        tables = {name: TableSummary.from_dict(each) for name, each in plain["tables"].items()}
        return cls(plain["created"], plain["last"], tables)


def back_up(config: Config, path: Path) -> BackupManifest:
    """Write everything in a store to a file, while services continue to write to the store; read the file back.

    The backup shows the store at a single moment, that of its first read. Later entries are not included.
    """
    with open_store(config, must_exist=True) as store, private_file(path) as temporary:
        remove_abandoned(path)
        with _at_one_moment(store) as source, _writable(temporary) as copy:
            tables = {name: _copy_out(source, copy, name) for name in metadata.tables}
            last = source.execute(select(func.max(events.c.seq))).scalar() or 0
            manifest = BackupManifest(time.time(), last, tables)
            _write_manifest(copy, manifest)
        with open_backup(temporary):
            return manifest


def _copy_out(source: Connection, copy: Connection, name: str) -> TableSummary:
    table = metadata.tables[name]
    columns = [column.name for column in table.columns]
    passed = RowSum(columns)
    write_rows(copy, table, columns, passed.passing(read_rows(source, name, columns)))
    return passed.summary()


@contextmanager
def _at_one_moment(store: Store) -> Iterator[Connection]:
    """Provide the connection within a transaction that sees no later changes and does not block writers."""
    with store.connection() as connection:
        if store.is_sqlite:
            connection.exec_driver_sql("BEGIN")
        else:
            connection.exec_driver_sql("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
            # Nobody waits for this transaction, and it may take long to write the file to the disk.
            connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
        try:
            yield connection
        finally:
            connection.exec_driver_sql("ROLLBACK")


@contextmanager
def _writable(path: Path) -> Iterator[Connection]:
    """Provide a connection to an empty file with the tables of a store."""
    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool)
    # Nobody reads the file before it is complete, so it needs no journal.
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode=OFF")
        migrations.upgrade(connection)
        for table in metadata.tables.values():  # migrations may fill them
            connection.execute(delete(table))
        yield connection
        connection.commit()


def _write_manifest(copy: Connection, manifest: BackupManifest) -> None:
    content = manifest.to_json()
    copy.exec_driver_sql(f"CREATE TABLE {_MANIFEST} (manifest TEXT NOT NULL, sha256 TEXT NOT NULL)")
    row = {"manifest": content, "sha256": hashlib.sha256(content.encode()).hexdigest()}
    copy.execute(text(f"INSERT INTO {_MANIFEST} VALUES (:manifest, :sha256)"), row)  # noqa: S608 - a constant


@contextmanager
def open_backup(path: Path) -> Iterator[tuple[Connection, BackupManifest]]:
    """Open a backup, and check that it is complete; raise ValueError if it is not."""
    if not path.is_file():
        raise ValueError(f"{path}: no such file; `fairbandits backup` writes one")
    engine = create_engine("sqlite://", creator=lambda: _read_only(path), poolclass=NullPool)
    with engine.connect() as connection:
        try:
            manifest = _read_manifest(connection)
            damaged = [
                name
                for name, summary in manifest.tables.items()
                if summarise_table(connection, name, summary.columns) != summary
            ]
        except (SQLAlchemyError, ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"{path} must be a complete file written by `fairbandits backup`, got {_why(error)}"
            ) from None
        if damaged:
            raise ValueError(
                f"{path} must be a complete file written by `fairbandits backup`, got one with a wrong checksum "
                f"for {', '.join(damaged)}; use another backup"
            )
        yield connection, manifest


def _why(error: Exception) -> str:
    return str(getattr(error, "orig", None) or error) or type(error).__name__


def _read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1", uri=True)


def _read_manifest(connection: Connection) -> BackupManifest:
    content, sha256 = connection.exec_driver_sql(f"SELECT manifest, sha256 FROM {_MANIFEST}").one()  # noqa: S608
    if hashlib.sha256(content.encode()).hexdigest() != sha256:
        raise ValueError("a manifest that does not match its checksum")
    return BackupManifest.from_json(content)
