"""Keys in the store, and the commands that manage them."""

import re
import sqlite3
from contextlib import closing

import pytest

from fairbandits.cli import main
from fairbandits.service.auth.key_store import read_keys, save_key, save_uses
from fairbandits.service.auth.keys import make_key, parse_token
from fairbandits.service.auth.sessions import open_session
from fairbandits.service.demo import demo_config
from fairbandits.service.log import migrations
from fairbandits.service.log.store import Store, open_store


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_expired_sessions_are_deleted(folder):
    key, _ = make_key("owner", ["read"], 0.0)
    session, _ = open_session(key, 0.0)
    other, _ = make_key("other", ["read"], 1.0)
    with open_store(demo_config()) as store:
        for each in (key, session, other):
            save_key(store, each)
        assert [each.id for each in read_keys(store)] == [key.id, other.id]


def test_a_store_without_the_table_of_keys_is_migrated(folder):
    from alembic import command
    from alembic.config import Config as Alembic

    store = Store("sqlite:///fairbandits.db")
    with store.transaction() as connection:
        alembic = Alembic()
        alembic.set_main_option("script_location", migrations.__path__[0])
        alembic.attributes["connection"] = connection
        command.upgrade(alembic, "0001")
    store.close()
    with open_store(demo_config()) as store:
        assert read_keys(store) == []
    with closing(sqlite3.connect("fairbandits.db")) as connection:
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    assert "keys" in tables


def test_uses_are_saved_while_another_process_holds_the_lock(postgres):
    """Decisions are written by the same thread, and must not wait for a frozen process."""
    url = postgres.new_database()
    store, frozen = Store(url, 1.0), Store(url)
    store.open("columns")
    key, _ = make_key("owner", ["read"], 0.0)
    save_key(store, key)
    with frozen.transaction():
        save_uses(store, {key.id: 5.0, "unknown": 6.0})
        save_uses(store, {key.id: 4.0})
    assert [each.used for each in read_keys(store)] == [5.0]
    store.close()
    frozen.close()


# -- the commands ----------------------------------------------------------------------------------------


def test_keys_are_created_listed_and_revoked_by_command(folder, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")  # cells of a narrower table would be folded
    assert main(["keys", "create", "--scope", "decide, reward", "--name", "shop"]) == 0
    printed = capsys.readouterr()
    token = printed.out.strip()
    assert re.fullmatch("fb_[0-9a-f]{16}_[0-9a-f]{64}", token)
    assert "not be shown again" in printed.err
    key_id, secret = parse_token(token)
    assert main(["keys", "list"]) == 0
    listed = capsys.readouterr().out
    assert key_id in listed
    assert "decide, reward" in listed
    assert secret not in listed
    # Neither the secret nor a large part of it is on disk.
    assert all(secret[:16].encode() not in path.read_bytes() for path in folder.iterdir())
    assert main(["keys", "revoke", key_id]) == 0
    with open_store(demo_config()) as store:
        [key] = read_keys(store)
    assert key.revoked is not None
    capsys.readouterr()
    assert main(["keys", "revoke", key_id]) == 2
    assert f"ID must be the id of an active key, got '{key_id}'" in capsys.readouterr().err


def test_commands_explain_errors(folder, capsys):
    assert main(["keys", "create", "--scope", "everything", "--name", "shop"]) == 2
    assert "scopes must be one or more of decide, reward, read, admin" in capsys.readouterr().err
    for command in (["list"], ["revoke", "x"]):
        assert main(["keys", *command]) == 2
        assert (
            "sqlite:///fairbandits.db holds no log; create one with `fairbandits serve`" in capsys.readouterr().err
        )
    assert main(["serve", "--host", "0.0.0.0"]) == 2  # noqa: S104 - it is refused
    assert "host must be a loopback address" in capsys.readouterr().err
    assert not list(folder.glob("*.db*")), "nothing is left behind"
    with open_store(demo_config()):
        pass
    assert main(["keys", "list"]) == 0
    assert "There are no keys" in capsys.readouterr().out
    assert main(["keys"]) == 2
    assert capsys.readouterr().err == "error: Missing command; try --help\n"
    assert main(["keys", "list", "--config", "none.toml"]) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert main(["serve", "--host", "0.0.0.0"]) == 2  # noqa: S104 - it is refused
    error = capsys.readouterr().err
    assert "host must be a loopback address while there are no keys, got 0.0.0.0" in error
    assert "create a key with `fairbandits keys create" in error
