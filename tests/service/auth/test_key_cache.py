"""The keys that a running server knows."""

import asyncio

import pytest

from fairbandits.service.auth.key_cache import KeyCache
from fairbandits.service.auth.keys import Key, make_key, parse_token
from fairbandits.service.auth.sessions import open_session
from fairbandits.service.log.errors import StoreDownError


def find(cache, token, **options):
    return asyncio.run(cache.find(token, **options))


def cache_of(*keys, clock=lambda: 100.0):
    async def read():
        return keys

    cache = KeyCache(read, clock)
    asyncio.run(cache.refresh())
    return cache


@pytest.mark.parametrize("token", ["", "fb_", "fb_" + "é" * 81])
def test_texts_that_are_not_tokens_are_not_found(token):
    assert find(cache_of(), token) is None


def test_a_key_is_found_by_its_secret_alone():
    key, token = make_key("shop", ["decide"], 0.0)
    other, _ = make_key("other", ["admin"], 0.0)
    cache = cache_of(key, other)
    assert find(cache, token) == key
    assert find(cache, token[:-1] + ("0" if token[-1] != "0" else "1")) is None
    # The right secret with the id of another key, and with an unknown id.
    assert find(cache, f"fb_{other.id}_{parse_token(token)[1]}") is None
    assert find(cache, f"fb_{'0' * 16}_{parse_token(token)[1]}") is None


def test_revoked_and_expired_keys_are_not_active():
    key, _ = make_key("shop", ["read"], 0.0)
    revoked = Key(key.id, key.name, key.scopes, key.digest, 0.0, revoked=50.0)
    expired = Key(key.id, key.name, key.scopes, key.digest, 0.0, expires=100.0)
    assert cache_of(key).is_active(key)
    assert not cache_of(revoked).is_active(key)
    assert not cache_of(expired).is_active(expired)
    assert not cache_of().is_active(key)


def test_a_session_only_reads_and_ends_with_its_key():
    key, token = make_key("owner", ["read", "admin"], 0.0)
    session, cookie = open_session(key, 99.0)
    assert session.scopes == {"read"}
    cache = cache_of(key, session)
    assert find(cache, cookie, session=True) == session
    assert cache.is_active(session)
    # A session cannot be used as a key, nor a key as a session.
    assert find(cache, cookie) is None
    assert find(cache, token, session=True) is None
    revoked = Key(key.id, key.name, key.scopes, key.digest, 0.0, revoked=99.5)
    assert not cache_of(revoked, session).is_active(session)
    assert not cache_of(session).is_active(session)
    assert not cache_of(key, session, clock=lambda: 99.0 + 12 * 3600).is_active(session)


def test_a_cache_is_empty_only_if_it_is_certain_that_no_key_was_ever_created():
    async def down():
        raise StoreDownError("gone")

    cache = KeyCache(down)
    asyncio.run(cache.refresh())
    assert not cache.is_empty
    assert cache_of().is_empty
    key, _ = make_key("shop", ["read"], 0.0)
    assert not cache_of(Key(key.id, key.name, key.scopes, key.digest, 0.0, revoked=1.0)).is_empty


def test_known_keys_remain_while_the_store_is_down():
    key, token = make_key("shop", ["read"], 0.0)
    results = [[key], StoreDownError("gone")]

    async def read():
        result = results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    cache = KeyCache(read, lambda: 1.0)
    asyncio.run(cache.refresh())
    asyncio.run(cache.refresh())
    assert not results
    assert find(cache, token) == key


def test_guessing_ids_does_not_make_the_store_read_without_end():
    reads = []

    async def read():
        reads.append(1)
        return []

    async def guess():
        for _ in range(3):
            await asyncio.gather(*(cache.find(f"fb_{number:016x}_{'0' * 64}") for number in range(1000)))

    cache = KeyCache(read)
    asyncio.run(guess())
    assert len(reads) == 3
