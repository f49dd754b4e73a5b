"""The keys in the store."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from fairbandits.service.auth.keys import Key, rotate_key
from fairbandits.service.log.store import Store
from fairbandits.service.log.tables import keys

#: The maximum number of sessions of one key, beyond which the oldest session ends, and of all keys.
MAX_KEY_SESSIONS = 20
MAX_SESSIONS = 1000


class TooManySessionsError(RuntimeError):
    """The maximum number of sessions has been reached."""


def save_key(store: Store, key: Key) -> None:
    """Save a key or a session, and delete expired sessions; raise TooManySessionsError if too many remain."""
    with store.transaction() as connection:
        # Expired keys remain, because a service whose keys have all expired is not a service without keys.
        is_session = keys.c.parent.is_not(None)
        connection.execute(delete(keys).where(is_session & (keys.c.expires < time.time())))
        if key.parent is not None:
            _make_room(connection, key.parent)
            if (connection.execute(select(func.count()).where(is_session)).scalar() or 0) >= MAX_SESSIONS:
                raise TooManySessionsError(f"{MAX_SESSIONS:,} sessions are open; log out of some, or wait")
        connection.execute(insert(keys).values(_row(key)))


def _make_room(connection: Connection, parent: str) -> None:
    """Delete the oldest sessions of a key, so that there is room for another."""
    newest = select(keys.c.id).where(keys.c.parent == parent).order_by(keys.c.created.desc(), keys.c.id)
    ids = connection.execute(newest).scalars().all()
    connection.execute(delete(keys).where(keys.c.id.in_(ids[MAX_KEY_SESSIONS - 1 :])))


def _row(key: Key) -> dict[str, Any]:
    return asdict(key) | {"scopes": ",".join(sorted(key.scopes))}


def read_keys(store: Store) -> list[Key]:
    """Read all keys and sessions, oldest first."""
    with store.connection() as connection:
        rows = connection.execute(select(keys).order_by(keys.c.created, keys.c.id)).mappings().all()
    return [Key(**{**row, "scopes": frozenset(row["scopes"].split(","))}) for row in rows]


def revoke_key(store: Store, key_id: str) -> bool:
    """Revoke a key; return whether there was a key with this id that had not been revoked."""
    with store.transaction() as connection:
        query = update(keys).where((keys.c.id == key_id) & keys.c.revoked.is_(None)).values(revoked=time.time())
        return connection.execute(query).rowcount > 0


def rotate_secret(store: Store, key_id: str, grace: float) -> str | None:
    """Replace the secret of a key; the old secret remains valid for `grace` seconds.

    Returns
    -------
    str or None
        The new token; None if there is no active key with this id.
    """
    now = time.time()
    found = [key for key in read_keys(store) if key.id == key_id and key.parent is None and key.is_active(now)]
    if not found:
        return None
    key, token = rotate_key(found[0], now, grace)
    with store.transaction() as connection:
        changed = {"digest": key.digest, "old_digest": key.old_digest, "old_until": key.old_until}
        connection.execute(update(keys).where(keys.c.id == key_id).values(changed))
    return token


def save_uses(store: Store, uses: Mapping[str, float]) -> None:
    """Save the times at which keys were used."""
    # There is one statement for each key, without the lock: decisions in the same thread would have to wait for
    # it.
    with store.transaction() if store.is_sqlite else store.connection() as connection:
        for key_id, used in uses.items():
            is_older = keys.c.used.is_(None) | (keys.c.used < used)
            connection.execute(update(keys).where((keys.c.id == key_id) & is_older).values(used=used))


class KeyStore:
    """The keys in the store of a running server.

    Parameters
    ----------
    store : Store
        The store.
    run_in_store_thread : callable
        A function that calls another function in the one thread that uses the store.
    """

    def __init__(self, store: Store, run_in_store_thread: Callable[..., Awaitable[Any]]) -> None:
        self._store = store
        self._run = run_in_store_thread

    async def save(self, key: Key) -> None:
        """Save a key."""
        await self._run(save_key, self._store, key)

    async def read(self) -> list[Key]:
        """Read all keys."""
        found: list[Key] = await self._run(read_keys, self._store)
        return found

    async def revoke(self, key_id: str) -> None:
        """Revoke a key."""
        await self._run(revoke_key, self._store, key_id)

    async def save_uses(self, uses: Mapping[str, float]) -> None:
        """Save the times at which keys were used."""
        await self._run(save_uses, self._store, uses)
