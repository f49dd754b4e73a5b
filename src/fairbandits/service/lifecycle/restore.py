"""Restoring a backup into a store that is not used by any service."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, create_engine, delete, func, select, update
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

from fairbandits.service.config import Config
from fairbandits.service.lifecycle.backup import BackupManifest, open_backup
from fairbandits.service.lifecycle.table_copy import read_rows, summarise_table, write_rows
from fairbandits.service.log import migrations
from fairbandits.service.log.errors import StoreDownError
from fairbandits.service.log.integrity import check_log, check_snapshots
from fairbandits.service.log.log_facts import SCHEMA, check_schema, read_fact
from fairbandits.service.log.order import raise_offset
from fairbandits.service.log.store import Store
from fairbandits.service.log.tables import facts, keys, metadata

_IN_USE = "{url!r} must not be in use while a backup is restored, got {who}; stop the service first"


class Restored(NamedTuple):
    """The result of restoring a backup.

    Attributes
    ----------
    manifest : BackupManifest
        The description of the backup.
    kept_revoked : int
        The number of keys that are valid in the backup but had been revoked in the store, and remain revoked.
    """

    manifest: BackupManifest
    kept_revoked: int


def restore(path: Path, config: Config, *, replace: bool = False) -> Restored:
    """Fill a store with the content of a backup: all of it, or nothing if anything is wrong.

    Parameters
    ----------
    path : path
        A file written by `back_up`, possibly from the other kind of database.
    config : Config
        The configuration of the service, whose log must have the same schema.
    replace : bool
        Whether to replace the contents of the store. Keys that have been revoked in the store remain revoked, and
        rotated keys keep their newer secret.

    Raises
    ------
    ValueError
        If the backup is damaged or belongs to another service, or if the store is in use or is not empty.
    """
    with open_backup(path) as (opened, manifest), _migrated(path, opened) as source:
        check_schema(str(path), read_fact(source, SCHEMA), config.log_schema())
        store = Store(config.store.url)
        try:
            if store.is_sqlite:
                store.create()
                _check_unused_file(store)
            with store.transaction() as target:
                migrations.upgrade(target)
                if not store.is_sqlite:
                    _lock_tables(target, store)
                _check_empty(target, store, replace)
                replaced = target.execute(select(keys)).all()
                _copy_in(source, target)
                kept_revoked = _keep_keys(target, replaced)
                check_snapshots(target, check_log(target).last)
                if not store.is_sqlite:
                    raise_offset(target)
        except StoreDownError as error:
            raise ValueError(f"the store cannot be used: {error}") from None
        finally:
            store.close()
    return Restored(manifest, kept_revoked)


@contextmanager
def _migrated(path: Path, source: Connection) -> Iterator[Connection]:
    """Provide the backup with the tables of this release: a migrated copy, if an earlier release wrote it."""
    if migrations.is_newest(source):
        yield source
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "backup.db"
        shutil.copyfile(path, copy)
        with create_engine(f"sqlite:///{copy}", poolclass=NullPool).connect() as connection:
            migrations.upgrade(connection)
            connection.commit()
            yield connection


def _check_unused_file(store: Store) -> None:
    """Raise ValueError if another connection has the SQLite file open."""
    with store.connection() as connection:
        try:
            # The journal can be changed only if there is no other connection to the file.
            connection.exec_driver_sql("PRAGMA busy_timeout=500")
            connection.exec_driver_sql("PRAGMA journal_mode=DELETE")
        except OperationalError:
            raise ValueError(_IN_USE.format(url=store.engine.url, who="another process")) from None
    store.close()  # the next connection opens another journal


def _lock_tables(target: Connection, store: Store) -> None:
    """Lock the tables against others until the transaction ends; raise ValueError if others are connected."""
    others = target.exec_driver_sql(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    ).scalar()
    if others:
        raise ValueError(_IN_USE.format(url=store.engine.url, who=f"{others} other connection(s)"))
    target.exec_driver_sql("SET LOCAL statement_timeout = 0")
    # While a large table of the backup is being read, this transaction is idle, but nobody else waits for it.
    target.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
    target.exec_driver_sql(f"LOCK TABLE {', '.join(metadata.tables)} IN ACCESS EXCLUSIVE MODE")


def _check_empty(target: Connection, store: Store, replace: bool) -> None:
    # Losing nothing but facts does no harm, because merely opening a store writes one.
    held = {
        name: target.execute(select(func.count()).select_from(table)).scalar() or 0
        for name, table in metadata.tables.items()
        if table is not facts
    }
    if not replace and any(held.values()):
        what = ", ".join(f"{n:,} {name}" for name, n in held.items() if n)
        raise ValueError(
            f"{store.engine.url!r} must be empty, got {what}; configure another store, or replace its contents "
            "with --replace"
        )


def _copy_in(source: Connection, target: Connection) -> None:
    """Replace the rows of all tables, and then compare the contents of the target with those of the source."""
    for name, table in metadata.tables.items():
        columns = [column.name for column in table.columns]
        target.execute(delete(table))
        write_rows(target, table, columns, read_rows(source, name, columns))
        copied, given = summarise_table(target, name, columns), summarise_table(source, name, columns)
        if copied != given:
            raise ValueError(
                f"{name} must be identical after copying, got {copied.rows:,} of {given.rows:,} rows or different "
                "values; nothing was restored"
            )


def _keep_keys(target: Connection, replaced: Iterable[Row[Any]]) -> int:
    """Revoke restored keys that the store had revoked, and keep newer secrets; return how many keys stay revoked.

    Keys are revoked and secrets are replaced because somebody else may have them, so a backup must not revive
    them.
    """
    restored = {row.id: row for row in target.execute(select(keys))}
    kept_revoked = 0
    for row in replaced:
        copied = restored.get(row.id)
        if copied is None:
            continue
        changed = {"revoked": copied.revoked if row.revoked is None else row.revoked}
        # An old secret expires shortly after it is replaced, so the row with the later time has the newer secret.
        if (row.old_until or 0.0) > (copied.old_until or 0.0):
            changed |= {name: getattr(row, name) for name in ("digest", "old_digest", "old_until")}
        kept_revoked += copied.revoked is None and row.revoked is not None
        target.execute(update(keys).where(keys.c.id == row.id).values(changed))
    return kept_revoked
