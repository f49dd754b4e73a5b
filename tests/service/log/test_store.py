"""The store: snapshots, schema, migrations and durability, in SQLite and in PostgreSQL."""

import hashlib

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from fairbandits.service.log import migrations
from fairbandits.service.log.appender import AppendEvents, append
from fairbandits.service.log.errors import StoreDownError
from fairbandits.service.log.events import Rewarded
from fairbandits.service.log.integrity import check_log
from fairbandits.service.log.store import Store
from fairbandits.service.log.tables import metadata
from tests.service.logs import decided


def test_snapshots(store):
    assert list(store.read_snapshots()) == []
    assert store.last_snapshot_seq() == 0
    for seq in (10, 20, 30):
        store.save_snapshot(seq, {"one": b"1" * seq, "two": b""})
    store.save_snapshot(30, {"one": b"another worker's", "two": b""})
    assert store.last_snapshot_seq() == 30
    assert list(store.read_snapshots()) == [
        (30, {"one": b"1" * 30, "two": b""}),
        (20, {"one": b"1" * 20, "two": b""}),
    ]


def test_the_start_is_saved_once_and_kept(store):
    assert store.read_start() is None
    assert store.save_start(b"first")
    assert not store.save_start(b"another worker's")
    for seq in (10, 20, 30):
        store.save_snapshot(seq, {"one": b""})
    assert store.read_start() == b"first"
    assert [seq for seq, _ in store.read_snapshots()] == [30, 20]


def test_whether_a_log_exists(store, store_url, tmp_path):
    assert store.exists()
    assert Store(store_url).exists()
    none = Store(f"sqlite:///{tmp_path}/folder/none.db")
    assert not none.exists()
    assert not (tmp_path / "folder").exists()
    (tmp_path / "empty.db").touch()
    assert not Store(f"sqlite:///{tmp_path}/empty.db").exists()


def test_a_damaged_snapshot_is_logged_and_skipped(store, caplog):
    store.save_snapshot(10, {"one": b"good"})
    store.save_snapshot(20, {"one": b"better"})
    with store.transaction() as connection:
        connection.execute(text("UPDATE snapshots SET body = :body WHERE seq = 20"), {"body": b"bettor"})
    assert list(store.read_snapshots()) == [(10, {"one": b"good"})]
    assert caplog.messages == ["the snapshot at entry 20 is damaged; reading more of the log instead"]


def test_a_log_with_another_schema_is_refused(store, store_url):
    other = Store(store_url)
    with pytest.raises(ValueError, match="different features, columns or reward range"):
        other.open("other columns")
    other.open("columns")
    other.close()


def test_migrations_create_the_declared_tables(store):
    with store.connection() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_the_newest_migration_is_the_declared_one():
    assert ScriptDirectory(migrations.__path__[0]).get_current_head() == migrations.HEAD


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("sqlite://", "store.url must name a file, got sqlite://; a log in memory is lost"),
        (
            "mysql://localhost/log",
            "store.url must be sqlite:///FILE or postgresql://..., got mysql://localhost/log",
        ),
        ("nonsense", "got no database URL"),
        ("postgresql://host:port/", "got no database URL"),
    ],
)
def test_other_databases_are_refused(url, message):
    with pytest.raises(ValueError, match=message):
        Store(url)


def test_sqlite_waits_for_the_disk(tmp_path):
    store = Store(f"sqlite:///{tmp_path}/log.db")
    with store.connection() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA synchronous")).scalar() == 2
    store.close()


def test_postgresql_waits_for_the_disk(postgres):
    store = Store(postgres.new_database())
    with store.connection() as connection:
        assert connection.execute(text("SHOW synchronous_commit")).scalar() == "on"
    store.close()


def test_passwords_are_not_in_errors(tmp_path):
    store = Store(f"sqlite:///{tmp_path}/log.db")
    store.engine.url = store.engine.url.set(password="secret")  # noqa: S106
    store.open("columns")
    with pytest.raises(ValueError, match="holds a log") as error:
        store.open("other")
    assert "secret" not in str(error.value)
    store.close()


def test_the_checksum_of_a_snapshot_is_its_own(store):
    store.save_snapshot(1, {"one": b"body"})
    with store.connection() as connection:
        assert (
            connection.execute(text("SELECT sha256 FROM snapshots")).scalar()
            == hashlib.sha256(b"body").hexdigest()
        )


def test_postgresql_ends_transactions_of_frozen_processes(postgres):
    """Also those of commands and of background tasks, whose statements may take as long as they take."""
    store = Store(postgres.new_database())
    with store.connection() as connection:
        found = {
            name: connection.exec_driver_sql(f"SHOW {name}").scalar()
            for name in ("idle_in_transaction_session_timeout", "statement_timeout", "lock_timeout")
        }
        parameters = connection.connection.dbapi_connection.info.get_parameters()
    store.close()
    assert found == {
        "idle_in_transaction_session_timeout": "1min",
        "statement_timeout": "0",
        "lock_timeout": "0",
    }
    assert parameters["keepalives_idle"] == "60"


def test_a_database_that_accepts_connections_slowly(postgres):
    store = Store(postgres.new_database())
    with postgres.paused(4.0):
        store.open("columns")
    store.close()


# -- errors of the database ------------------------------------------------------------------------------


def test_the_error_of_the_database_is_reported_and_not_that_of_the_rollback(tmp_path):
    """SQLite rolls back by itself when the disk is full, so that a second rollback fails, too."""
    store = Store(f"sqlite:///{tmp_path}/log.db")
    store.open("{}")
    with store.connection() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 20")
    with pytest.raises(StoreDownError, match="OperationalError: database or disk is full"):
        store.save_snapshot(1, {"one": b"1" * 1_000_000})
    assert store.last_snapshot_seq() == 0
    store.close()


def test_errors_do_not_repeat_values(store):
    def write_twice():
        with store.transaction() as connection:
            for _ in range(2):
                connection.execute(text("INSERT INTO facts VALUES (:name, 'x')"), {"name": "quietname"})

    with pytest.raises(StoreDownError, match="IntegrityError: ") as caught:
        write_twice()
    assert "quietname" not in str(caught.value)


def test_a_log_without_digests_is_migrated(store_url):
    """As 0.1.0 and the first releases wrote it, in either database."""
    store = Store(store_url)
    written = [decided(number) for number in range(3)] + [Rewarded(decided(1).id, 5.0, 0.5)]
    with store.transaction() as connection:
        upgrade_to(connection, "0002")
        for seq, event in enumerate(written, 1):
            row = {"seq": seq, "time": 1.5, "kind": event.KIND, "key": event.key, "body": event.to_json()}
            connection.execute(text("INSERT INTO events VALUES (:seq, :time, :kind, :key, :body)"), row)
    store.open("columns")
    assert [entry.event for entry in store.read(0)] == written
    assert [(entry.seq, entry.writer, entry.n) for entry in store.read(0)] == [
        (number, "migrated", number) for number in (1, 2, 3, 4)
    ]
    append(store, [AppendEvents(events=[decided(5)])], 4)
    assert store.read(4)[0].event == decided(5)
    with store.connection() as connection:
        found = check_log(connection)
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    assert (found.entries, found.writers) == (5, 2)
    store.close()


def test_migrations_can_be_undone(store):
    with store.transaction() as connection:
        config = alembic_config(connection)
        command.downgrade(config, "0002")
        command.upgrade(config, "head")
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def alembic_config(connection):
    config = Config()
    config.set_main_option("script_location", migrations.__path__[0])
    config.attributes["connection"] = connection
    return config


def upgrade_to(connection, version):
    command.upgrade(alembic_config(connection), version)


def test_postgresql_finds_entries_of_a_nearly_empty_log_by_an_index(postgres):
    # The plan is kept: one that reads the whole table would make every decision slower than the one before.
    store = Store(postgres.new_database(), 3.0)
    store.open("columns")
    with store.connection() as connection:
        lookup = text("EXPLAIN SELECT EXISTS (SELECT FROM events WHERE seq > 5)")
        plan = "\n".join(connection.execute(lookup).scalars())
    store.close()
    assert "Index Only Scan" in plan, plan
    assert "Seq Scan" not in plan
