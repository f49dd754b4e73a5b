"""The keys in the store."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

from sqlalchemy import delete, insert, select, update

from fairbandits.service.auth.keys import Key
from fairbandits.service.log.store import Store
from fairbandits.service.log.tables import keys


def save_key(store: Store, key: Key) -> None:
    """Save a key, and delete sessions that have expired."""
    with store.transaction() as connection:
        connection.execute(delete(keys).where(keys.c.expires < time.time()))
        connection.execute(insert(keys).values(asdict(key) | {"scopes": ",".join(sorted(key.scopes))}))


def read_keys(store: Store) -> list[Key]:
    """Read all keys and sessions, oldest first."""
    with store.connection() as connection:
        rows = connection.execute(select(keys).order_by(keys.c.created, keys.c.id)).mappings().all()
    return [Key(**{**row, "scopes": frozenset(row["scopes"].split(","))}) for row in rows]


def revoke_key(store: Store, key_id: str) -> bool:
    """Revoke a key; return whether there was one of this id that had not been revoked."""
    with store.transaction() as connection:
        query = update(keys).where((keys.c.id == key_id) & keys.c.revoked.is_(None)).values(revoked=time.time())
        return connection.execute(query).rowcount > 0


class KeyStore:
    """The keys in the store of a running server.

    Parameters
    ----------
    store : Store
        The store.
    run_in_store_thread : callable
        Calls a function in the one thread that uses the store.
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
