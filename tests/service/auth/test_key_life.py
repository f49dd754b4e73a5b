"""The life of a key: it expires, gets a new secret, shows when it was used, and is named in the log."""

import asyncio
import re
import time
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from sqlalchemy import update

from fairbandits.cli import main
from fairbandits.service.auth import key_cache
from fairbandits.service.auth.key_cache import KeyCache
from fairbandits.service.auth.key_store import (
    MAX_KEY_SESSIONS,
    KeyStore,
    TooManySessionsError,
    read_keys,
    rotate_secret,
    save_key,
    save_uses,
)
from fairbandits.service.auth.keys import make_key, parse_token, rotate_key
from fairbandits.service.auth.sessions import open_session
from fairbandits.service.demo import demo_config
from fairbandits.service.export import export
from fairbandits.service.log.events import Decided
from fairbandits.service.log.store import open_store
from fairbandits.service.log.tables import keys
from tests.polling import wait_until
from tests.service.key_issuer import bearer

DAY = 86400.0


@pytest.fixture
def store(tmp_path):
    with open_store(demo_config(store={"url": f"sqlite:///{tmp_path}/log.db"})) as store:
        yield store


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


# -- in the store ----------------------------------------------------------------------------------------


def test_a_rotated_key_has_two_secrets_for_a_while():
    key, token = make_key("shop", ["decide"], 0.0)
    rotated, new = rotate_key(key, 100.0, grace=50.0)
    old_secret, new_secret = parse_token(token)[1], parse_token(new)[1]
    assert rotated.id == key.id == parse_token(new)[0]
    assert rotated.verify(new_secret, 1e9)
    assert rotated.verify(old_secret, 149.0)
    assert not rotated.verify(old_secret, 150.0)
    # The one before the last is gone at once.
    again, _ = rotate_key(rotated, 120.0, grace=50.0)
    assert not again.verify(old_secret, 121.0)
    assert again.verify(new_secret, 121.0)


def test_expired_keys_remain_in_the_store(store):
    """Otherwise a service whose keys have all expired would be one without keys, and open."""
    key, _ = make_key("shop", ["read"], 0.0, expires=1.0)
    other, _ = make_key("other", ["read"], 2.0)
    save_key(store, key)
    save_key(store, other)
    assert {each.id for each in read_keys(store)} == {key.id, other.id}


def test_only_active_keys_can_be_rotated(store):
    expired, _ = make_key("shop", ["read"], 0.0, expires=1.0)
    owner, _ = make_key("owner", ["read"], 0.0)
    session, _ = open_session(owner, time.time())
    for key in (expired, owner, session):
        save_key(store, key)
    assert rotate_secret(store, expired.id, 60.0) is None
    assert rotate_secret(store, session.id, 60.0) is None
    assert rotate_secret(store, "nothing", 60.0) is None
    token = rotate_secret(store, owner.id, 60.0)
    [found] = [key for key in read_keys(store) if key.id == owner.id]
    assert found.verify(parse_token(token)[1], time.time())


def test_the_oldest_sessions_of_a_key_end(store):
    now = time.time()
    owner, _ = make_key("owner", ["read"], now)
    save_key(store, owner)
    sessions = [open_session(owner, now + number)[0] for number in range(MAX_KEY_SESSIONS + 3)]
    for session in sessions:
        save_key(store, session)
    left = {key.id for key in read_keys(store) if key.parent is not None}
    assert left == {session.id for session in sessions[3:]}


def test_there_are_so_many_sessions_and_no_more(store, monkeypatch):
    monkeypatch.setattr("fairbandits.service.auth.key_store.MAX_SESSIONS", 3)
    owners = [make_key(f"owner {number}", ["read"], time.time())[0] for number in range(4)]
    for owner in owners:
        save_key(store, owner)
    for owner in owners[:3]:
        save_key(store, open_session(owner, time.time())[0])
    with pytest.raises(TooManySessionsError, match="3 sessions are open"):
        save_key(store, open_session(owners[3], time.time())[0])


# -- the last use ----------------------------------------------------------------------------------------


def test_the_last_use_is_saved_once_an_hour(store, monkeypatch):
    monkeypatch.setattr(key_cache, "REFRESH_SECONDS", 0.001)
    now = [1000.0]
    saved = []
    key, token = make_key("shop", ["read"], 0.0)
    save_key(store, key)

    async def run(function, *args):
        return function(*args)

    key_store = KeyStore(store, run)

    async def save(uses):
        saved.append(dict(uses))
        await key_store.save_uses(uses)

    async def use():
        cache = KeyCache(key_store.read, lambda: now[0], save)
        await cache.refresh()
        refreshing = asyncio.create_task(cache.refresh_forever())
        for seconds in (1000.0, 1500.0, 4599.0, 4600.0, 4700.0):
            now[0] = seconds
            assert cache.is_active(await cache.find(token))
            await asyncio.sleep(0.05)  # many refreshes
        refreshing.cancel()

    asyncio.run(use())
    assert saved == [{key.id: 1000.0}, {key.id: 4600.0}]
    assert [each.used for each in read_keys(store)] == [4600.0]
    save_uses(store, {key.id: 1.0})  # of a worker that is late
    assert [each.used for each in read_keys(store)] == [4600.0]


# -- commands and a running server -----------------------------------------------------------------------


def create(capsys, *arguments):
    assert main(["keys", "create", "--name", "shop", *arguments]) == 0
    return capsys.readouterr().out.strip()


def test_keys_expire_and_are_rotated_by_command(folder, capsys):
    token = create(capsys, "--scope", "decide", "--expires", "90d")
    key_id = parse_token(token)[0]
    with open_store(demo_config()) as store:
        [key] = read_keys(store)
    assert key.expires - key.created == 90 * DAY
    assert main(["keys", "rotate", key_id, "--grace", "2 hours"]) == 0
    printed = capsys.readouterr()
    assert parse_token(printed.out.strip())[0] == key_id
    assert re.search("the old one is valid until .* UTC", printed.err)
    with open_store(demo_config()) as store:
        [key] = read_keys(store)
        save_uses(store, {key_id: 1_800_000_000.0})
    assert key.verify(parse_token(printed.out.strip())[1], time.time())
    assert key.verify(parse_token(token)[1], time.time())
    assert key.old_until - time.time() == pytest.approx(7200.0, abs=60)
    assert main(["keys", "list"]) == 0
    listed = capsys.readouterr().out
    assert all(title in listed for title in ("last used", "expires", "2027-01-15"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["create", "--scope", "read", "--name", "a\nb"], "name must not contain control characters, invisible"),
        (["create", "--scope", "read", "--name", "a\u200bb"], "got U+200B"),
        (["create", "--scope", "read", "--name", ""], "name must have 1 to 200 characters, got 0"),
        (["create", "--scope", "read", "--name", " a"], "name must not begin or end with a space"),
        (
            ["create", "--scope", "read", "--name", "a", "--expires", "soon"],
            "--expires must be a duration such as",
        ),
        (["rotate", "nothing"], "ID must be the id of an active key, got 'nothing'"),
        (["rotate", "nothing", "--grace", "-1d"], "--grace must be a duration such as 90d, 12h or '2 weeks'"),
    ],
)
def test_commands_refuse(folder, capsys, arguments, message):
    with open_store(demo_config()):
        pass
    assert main(["keys", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_names_of_earlier_releases_are_listed_on_one_line(folder, capsys):
    with open_store(demo_config()) as store:
        save_key(store, replace(make_key("shop", ["read"], 0.0)[0], name="two\nlines"))
    assert main(["keys", "list"]) == 0
    assert "two?lines" in capsys.readouterr().out


def test_a_running_server_and_its_log(serving, tmp_path, students):
    config = demo_config(store={"url": f"sqlite:///{tmp_path}/log.db"})
    key, token = make_key("shop", ["decide", "read"], time.time())
    short, short_token = make_key("short", ["read"], time.time(), expires=time.time() + 3600)
    with open_store(config) as store:
        save_key(store, key)
        save_key(store, short)
    server = serving(store={"url": f"sqlite:///{tmp_path}/log.db"})
    with server.client(headers=bearer(token)) as client:
        decision = client.post("/v1/decisions", json=students.request(0)).json()["decision"]
        # The old secret and the new one, for a while.
        with open_store(config) as store:
            new = rotate_secret(store, key.id, 3600.0)
        assert client.get("/v1/arms", headers=bearer(new)).status_code == 200  # at once
        assert client.get("/v1/arms").status_code == 200
        with open_store(config) as store:
            rotate_secret(store, key.id, 3600.0)
        wait_until(lambda: client.get("/v1/arms").status_code == 401)
        # A key that expires.
        assert client.get("/v1/arms", headers=bearer(short_token)).status_code == 200
        with open_store(config) as store, store.transaction() as connection:
            connection.execute(update(keys).where(keys.c.id == short.id).values(expires=1.0))
        wait_until(lambda: client.get("/v1/arms", headers=bearer(short_token)).status_code == 401)
        assert "the key expired" in client.get("/v1/arms", headers=bearer(short_token)).json()["detail"]

        def used():
            with open_store(config) as store:
                return all(each.used is not None for each in read_keys(store))

        wait_until(used)
    with open_store(config) as store:
        [decided] = [entry.event for entry in store.read(0) if isinstance(entry.event, Decided)]
    assert (decided.id, decided.key_id) == (decision, key.id)
    export(config, tmp_path / "log.parquet")
    assert pq.read_table(tmp_path / "log.parquet")["key_id"].to_pylist() == [key.id]
    export(config, tmp_path / "log.csv")
    assert key.id in (tmp_path / "log.csv").read_text()
