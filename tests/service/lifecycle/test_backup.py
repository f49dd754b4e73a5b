"""Backups of either database, restored into either."""

import hashlib
import json
import os
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from contextlib import closing

import numpy as np
import pytest
from sqlalchemy import text

from fairbandits.cli import main
from fairbandits.service.auth.key_store import read_keys, rotate_secret
from fairbandits.service.lifecycle import restore as restoring
from fairbandits.service.lifecycle.backup import back_up, open_backup
from fairbandits.service.lifecycle.restore import restore
from fairbandits.service.log.store import Store, open_store
from tests.service.conftest import write_toml
from tests.service.key_issuer import KeyIssuer
from tests.service.lifecycle.services import checksum, fill, opened, save_snapshot, visit
from tests.service.small import PLAIN, small_config


@pytest.fixture(params=["sqlite", "postgres"])
def other_url(request, tmp_path):
    """The URL of another empty store of either kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/folder/other.db"
    return request.getfixturevalue("postgres").new_database()


def content(url):
    """All that a store holds."""
    store = Store(url)
    with store.connection() as connection:
        rows = {
            name: sorted(map(repr, connection.execute(text(f"SELECT * FROM {name}")).all()))  # noqa: S608
            for name in ("events", "answers", "snapshots", "keys")
        }
    store.close()
    return rows


def test_a_log_moves_between_databases_and_goes_on(store_url, other_url, tmp_path):
    path = tmp_path / "log.backup"
    with opened(store_url) as engine:
        fill(engine, 30)
        save_snapshot(engine)
        fill(engine, 10, seed=1)
        manifest = back_up(engine.config, path)
        expected = engine.follower.seq, checksum(engine)
        assert manifest.last == engine.follower.seq
        assert manifest.entries == 3 + 40 + 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path).count("log.backup") == 1
    assert restore(path, small_config(store={"url": other_url})) == (manifest, 0)
    assert content(other_url) == content(store_url)
    with opened(other_url) as engine:
        assert (engine.follower.seq, checksum(engine)) == expected
        before = engine.follower.seq
        fill(engine, 5, seed=2)
        assert engine.follower.seq > before, "new entries sort after the restored ones"
        after = checksum(engine)
    with opened(other_url) as engine:
        assert checksum(engine) == after


def test_the_files_of_a_restored_store_are_private(backup, tmp_path, monkeypatch):
    """Also while the rows are copied."""
    seen = {}

    def look_and_write(*given):
        seen.update((each.name, stat.S_IMODE(each.stat().st_mode)) for each in (tmp_path / "new").iterdir())
        return wrote(*given)

    wrote = restoring.write_rows
    monkeypatch.setattr(restoring, "write_rows", look_and_write)
    mask = os.umask(0o022)
    try:
        restore(backup, small_config(store={"url": f"sqlite:///{tmp_path}/new/log.db"}))
    finally:
        os.umask(mask)
    assert seen == {"log.db": 0o600, "log.db-wal": 0o600, "log.db-shm": 0o600}
    assert {stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "new").iterdir()} == {0o600}


def test_files_of_a_killed_backup_are_removed_by_the_next_one(backup, tmp_path):
    killed = (
        "import os, signal, sys; from pathlib import Path; from fairbandits.storage import private_file\n"
        "with private_file(Path(sys.argv[1])) as file:\n"
        "    file.write_bytes(b'half'); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", killed, str(backup)], check=False)
    left = [each for each in os.listdir(tmp_path) if each.startswith(".log.backup.")]
    assert len(left) == 1
    back_up(small_config(store={"url": f"sqlite:///{tmp_path}/source.db"}), backup)
    assert not [each for each in os.listdir(tmp_path) if each.startswith(".log.backup.")]


def test_a_backup_is_of_one_moment_while_others_write(store_url, tmp_path):
    """The copy of one table must not be newer than that of another."""
    stop = threading.Event()
    with opened(store_url) as engine:
        fill(engine, 3)

    def go_on():
        with opened(store_url) as engine:
            rng = np.random.default_rng(3)
            while not stop.is_set():
                visit(engine, 1, rng)
                save_snapshot(engine)

    writing = threading.Thread(target=go_on)
    writing.start()
    try:
        for number in range(5):
            path = tmp_path / f"{number}.backup"
            manifest = back_up(small_config(store={"url": store_url}), path)
            with open_backup(path) as (connection, _):
                last, newest = connection.execute(
                    text("SELECT (SELECT max(seq) FROM events), (SELECT max(seq) FROM snapshots)")
                ).one()
            assert (newest or 0) <= last == manifest.last
    finally:
        stop.set()
        writing.join()


def test_a_failed_backup_leaves_no_file(store_url, tmp_path):
    config = small_config(store={"url": store_url})
    with pytest.raises(ValueError, match="holds no log"):
        back_up(config, tmp_path / "log.backup")
    with opened(store_url):
        pass
    with pytest.raises(OSError, match="No such file"):
        back_up(config, tmp_path / "none" / "log.backup")
    assert not [name for name in os.listdir(tmp_path) if "backup" in name]


@pytest.fixture
def backup(tmp_path):
    """A backup, and the URL of the store that it was made of."""
    url = f"sqlite:///{tmp_path}/source.db"
    with opened(url) as engine:
        fill(engine, 10)
        back_up(engine.config, tmp_path / "log.backup")
    return tmp_path / "log.backup"


def test_a_store_that_is_not_empty_is_only_replaced_on_demand(store_url, backup, tmp_path):
    with opened(store_url) as engine:
        fill(engine, 2)
        config = engine.config
    with pytest.raises(ValueError, match=r"must be empty, got 6 events; configure another store, or .* --replace"):
        restore(backup, config)
    restore(backup, config, replace=True)
    assert content(store_url) == content(f"sqlite:///{tmp_path}/source.db")


def test_a_backup_does_not_revive_keys(store_url, tmp_path, capsys):
    path, config = tmp_path / "log.backup", small_config(store={"url": store_url})
    issuer = KeyIssuer(config)
    revoked, rotated, unchanged = (issuer.make("admin")[0] for _ in range(3))
    back_up(config, path)
    issuer.revoke(revoked)
    with open_store(config) as store:
        rotate_secret(store, rotated, 0.0)
        expected = {key.id: key for key in read_keys(store)}
    later, _ = issuer.make("read")
    service = write_toml(tmp_path / "config.toml", PLAIN | {"store": {"url": store_url}})
    assert main(["restore", str(path), str(service), "--replace"]) == 0
    assert "1 key(s) remain revoked: they were revoked after the backup was written" in capsys.readouterr().out
    with open_store(config) as store:
        found = {key.id: key for key in read_keys(store)}
    assert found == expected, f"without {later}, which the backup does not have"
    assert found[unchanged].is_active(time.time())
    assert not found[revoked].is_active(time.time())


@pytest.mark.parametrize("replace", [True, False])
def test_a_store_in_use_is_never_restored_to(store_url, backup, replace):
    with opened(store_url) as engine:
        engine.store.probe()  # as a service does every second
        with pytest.raises(
            ValueError, match=r"must not be in use while a backup is restored, got .*; stop the service"
        ):
            restore(backup, engine.config, replace=replace)
        fill(engine, 1)
        expected = engine.follower.seq, checksum(engine)
    with opened(store_url) as engine:
        assert (engine.follower.seq, checksum(engine)) == expected


def test_a_backup_of_another_service_is_refused(backup, tmp_path):
    config = small_config(store={"url": f"sqlite:///{tmp_path}/new.db"}, reward={"low": 0, "high": 5})
    with pytest.raises(
        ValueError, match=r"log\.backup holds a log with different features, columns or reward range"
    ):
        restore(backup, config)
    assert not (tmp_path / "new.db").exists()


def test_files_that_are_no_backups_are_refused(tmp_path, backup):
    config = small_config(store={"url": f"sqlite:///{tmp_path}/new.db"})
    with pytest.raises(ValueError, match=r"none: no such file; `fairbandits backup` writes one"):
        restore(tmp_path / "none", config)
    (tmp_path / "text").write_text("no database " * 100)
    with pytest.raises(
        ValueError, match=r"text must be a complete file written by `fairbandits backup`, got file is not a da"
    ):
        restore(tmp_path / "text", config)
    with pytest.raises(ValueError, match=r"source\.db must be a complete file .*, got no such table: backup"):
        restore(tmp_path / "source.db", config)


def change(path, statement, *values):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement, values)
        connection.commit()


def test_a_damaged_backup_is_refused(backup, tmp_path):
    config = small_config(store={"url": f"sqlite:///{tmp_path}/new.db"})
    with closing(sqlite3.connect(backup)) as connection:
        manifest = connection.execute("SELECT manifest FROM backup").fetchone()[0]
    change(backup, "UPDATE backup SET manifest = ?", manifest.replace('"last"', '"lost"'))
    with pytest.raises(ValueError, match="got a manifest that does not match its checksum"):
        restore(backup, config)
    change(backup, "UPDATE backup SET manifest = ?", manifest)
    change(backup, "UPDATE events SET time = time + 1e-6 WHERE seq = 5")
    with pytest.raises(ValueError, match="got one with a wrong checksum for events; use another backup"):
        restore(backup, config)
    assert not (tmp_path / "new.db").exists()


def test_a_backup_of_a_later_release_is_refused(backup, tmp_path):
    with closing(sqlite3.connect(backup)) as connection:
        plain = json.loads(connection.execute("SELECT manifest FROM backup").fetchone()[0])
    later = json.dumps(plain | {"format": 2})
    change(backup, "UPDATE backup SET manifest = ?, sha256 = ?", later, hashlib.sha256(later.encode()).hexdigest())
    with pytest.raises(ValueError, match="it was written by a later release of fairbandits; update fairbandits"):
        restore(backup, small_config(store={"url": f"sqlite:///{tmp_path}/new.db"}))
