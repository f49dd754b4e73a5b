"""Keys, the ring that knows them, how often they may ask; the commands."""

import asyncio
import re
import sqlite3
from contextlib import closing

import pytest

from fairbandits.cli import main
from fairbandits.service.auth import key_store
from fairbandits.service.auth.key_cache import Ring
from fairbandits.service.auth.keys import Key, as_scopes, digest_of, make_key, split
from fairbandits.service.auth.rate_limit import Rates
from fairbandits.service.auth.sessions import as_cookie, open_session, session_in
from fairbandits.service.demo import demo_config
from fairbandits.service.log import StoreDownError
from fairbandits.service.log.opening import opened


def find(ring, token, **options):
    return asyncio.run(ring.find(token, **options))


def ring_of(*keys, clock=lambda: 100.0):
    async def read():
        return keys

    ring = Ring(read, clock)
    asyncio.run(ring.refresh())
    return ring


def test_a_key_is_long_random_and_not_kept():
    made = [make_key("shop", ["decide"], 0.0) for _ in range(50)]
    tokens = {token for _, token in made}
    assert len(tokens) == 50
    for key, token in made:
        identity, secret = split(token)
        assert identity == key.id
        assert len(secret) == 64  # 256 bits
        assert secret not in repr(key)
        assert key.digest == digest_of(secret)


@pytest.mark.parametrize(
    "token",
    ["", "fb_", "x" * 84, "fb_0123456789abcdef_" + "g" * 64, "fb_0123456789abcdef_" + "a" * 63, "fb_" + "é" * 81],
)
def test_what_is_no_key_is_not_looked_up(token):
    assert split(token) is None
    assert find(ring_of(), token) is None


def test_what_a_key_is_good_for():
    assert as_scopes(["read", "admin", "read"]) == {"read", "admin"}
    with pytest.raises(ValueError, match="scopes are decide, reward, read, admin, one or more; got 'root'"):
        as_scopes(["read", "root"])
    with pytest.raises(ValueError, match="got none"):
        as_scopes([])


def test_a_ring_finds_a_key_by_its_secret_alone():
    key, token = make_key("shop", ["decide"], 0.0)
    other, _ = make_key("other", ["admin"], 0.0)
    ring = ring_of(key, other)
    assert find(ring, token) == key
    assert find(ring, token[:-1] + ("0" if token[-1] != "0" else "1")) is None
    # The right secret under another's id, and an id that nobody has.
    assert find(ring, f"fb_{other.id}_{split(token)[1]}") is None
    assert find(ring, f"fb_{'0' * 16}_{split(token)[1]}") is None


def test_revoked_and_expired_keys_are_not_live():
    key, _ = make_key("shop", ["read"], 0.0)
    ended = Key(key.id, key.name, key.scopes, key.digest, 0.0, revoked=50.0)
    late = Key(key.id, key.name, key.scopes, key.digest, 0.0, expires=100.0)
    assert ring_of(key).is_live(key)
    assert not ring_of(ended).is_live(key)
    assert not ring_of(late).is_live(late)
    assert not ring_of().is_live(key)


def test_a_session_only_reads_and_ends_with_its_key():
    key, token = make_key("owner", ["read", "admin"], 0.0)
    session, cookie = open_session(key, 99.0)
    assert session.scopes == {"read"}
    ring = ring_of(key, session)
    assert find(ring, cookie, session=True) == session
    assert ring.is_live(session)
    # Neither stands in for the other.
    assert find(ring, cookie) is None
    assert find(ring, token, session=True) is None
    revoked = Key(key.id, key.name, key.scopes, key.digest, 0.0, revoked=99.5)
    assert not ring_of(revoked, session).is_live(session)
    assert not ring_of(session).is_live(session)
    assert not ring_of(key, session, clock=lambda: 99.0 + 12 * 3600).is_live(session)


def test_a_ring_is_open_only_where_it_is_known_that_no_key_was_ever_made():
    async def down():
        raise StoreDownError("gone")

    ring = Ring(down)
    asyncio.run(ring.refresh())
    assert not ring.is_empty
    assert ring_of().is_empty
    key, _ = make_key("shop", ["read"], 0.0)
    assert not ring_of(Key(key.id, key.name, key.scopes, key.digest, 0.0, revoked=1.0)).is_empty


def test_a_ring_keeps_what_it_knows_while_the_store_is_away():
    key, token = make_key("shop", ["read"], 0.0)
    answers = [[key], StoreDownError("gone")]

    async def read():
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    ring = Ring(read, lambda: 1.0)
    asyncio.run(ring.refresh())
    asyncio.run(ring.refresh())
    assert not answers
    assert find(ring, token) == key


def test_guessing_ids_does_not_make_the_store_read_without_end():
    reads = []

    async def read():
        reads.append(1)
        return []

    async def guess():
        for _ in range(3):
            await asyncio.gather(*(ring.find(f"fb_{number:016x}_{'0' * 64}") for number in range(1000)))

    ring = Ring(read)
    asyncio.run(guess())
    assert len(reads) == 3


def test_rates_fill_again_and_remember_what_is_owed():
    now = [0.0]
    rates = Rates(rate=10, burst=5, clock=lambda: now[0])
    assert [rates.take("a") for _ in range(5)] == [0.0] * 5
    assert rates.take("a") == pytest.approx(0.1)
    assert rates.take("b") == 0.0  # others are not concerned
    now[0] = 0.1
    assert rates.take("a") == 0.0
    now[0] = 100.0
    assert rates.take("a", cost=25) == 0.0
    assert rates.take("a") == pytest.approx(2.1)


def test_rates_hold_their_memory():
    now = [0.0]
    rates = Rates(rate=1, burst=1, clock=lambda: now[0])
    for number in range(60_000):
        rates.take(str(number))
    assert len(rates._full) <= 20_000


def test_cookies():
    cookie = as_cookie("fb_x", is_secure=True)
    assert cookie == "__Host-fairbandits=fb_x; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure"
    assert session_in(cookie.split(";")[0].encode(), is_secure=True) == "fb_x"
    assert session_in(cookie.split(";")[0].encode(), is_secure=False) is None
    assert session_in(b"\xff; = ;;", is_secure=False) is None
    assert "Max-Age=0" in as_cookie("", is_secure=False)


# -- the commands ----------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_keys_are_made_listed_and_revoked_by_command(folder, capsys):
    assert main(["keys", "create", "--scope", "decide, reward", "--name", "shop"]) == 0
    said = capsys.readouterr()
    token = said.out.strip()
    assert re.fullmatch("fb_[0-9a-f]{16}_[0-9a-f]{64}", token)
    assert "not shown again" in said.err
    identity, secret = split(token)
    assert main(["keys", "list"]) == 0
    listed = capsys.readouterr().out
    assert identity in listed
    assert "decide, reward" in listed
    assert secret not in listed
    # Nowhere on disk is the secret, or any large part of it.
    assert all(secret[:16].encode() not in path.read_bytes() for path in folder.iterdir())
    assert main(["keys", "revoke", identity]) == 0
    with opened(demo_config()) as store:
        [key] = key_store.read_keys(store)
    assert key.revoked is not None
    capsys.readouterr()
    assert main(["keys", "revoke", identity]) == 2
    assert "there is no key" in capsys.readouterr().err


def test_commands_say_what_is_wrong(folder, capsys):
    assert main(["keys", "create", "--scope", "everything", "--name", "shop"]) == 2
    assert "scopes are decide, reward, read, admin" in capsys.readouterr().err
    assert main(["keys", "list"]) == 0
    assert "There are no keys" in capsys.readouterr().out
    assert main(["keys", "list", "--config", "none.toml"]) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert main(["serve", "--host", "0.0.0.0"]) == 2  # noqa: S104 - it is refused
    assert "there is no key yet: make one with `fairbandits keys create" in capsys.readouterr().err


def test_sessions_that_have_ended_are_dropped(folder):
    key, _ = make_key("owner", ["read"], 0.0)
    session, _ = open_session(key, 0.0)
    other, _ = make_key("other", ["read"], 1.0)
    with opened(demo_config()) as store:
        for each in (key, session, other):
            key_store.keep_key(store, each)
        assert [each.id for each in key_store.read_keys(store)] == [key.id, other.id]


def test_a_store_of_before_there_were_keys_is_brought_up_to_date(folder):
    from alembic import command
    from alembic.config import Config as Alembic

    from fairbandits.service.log import Store, migrations

    store = Store("sqlite:///fairbandits.db")
    with store.transaction() as connection:
        alembic = Alembic()
        alembic.set_main_option("script_location", migrations.__path__[0])
        alembic.attributes["connection"] = connection
        command.upgrade(alembic, "0001")
    store.close()
    with opened(demo_config()) as store:
        assert key_store.read_keys(store) == []
    with closing(sqlite3.connect("fairbandits.db")) as connection:
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    assert "keys" in tables
