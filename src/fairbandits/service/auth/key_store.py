"""The keys in the store."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

from sqlalchemy import delete, insert, select, update

from fairbandits.service.auth.keys import Key
from fairbandits.service.log import Store
from fairbandits.service.log.tables import keys


def keep_key(store: Store, key: Key) -> None:
    """Keep a key; sessions that have ended are dropped by the way."""
    with store.transaction() as connection:
        connection.execute(delete(keys).where(keys.c.expires < time.time()))
        connection.execute(insert(keys).values(asdict(key) | {"scopes": ",".join(sorted(key.scopes))}))


def read_keys(store: Store) -> list[Key]:
    """Read all keys and sessions, the oldest first."""
    with store.connection() as connection:
        rows = connection.execute(select(keys).order_by(keys.c.created, keys.c.id)).mappings().all()
    return [Key(**{**row, "scopes": frozenset(row["scopes"].split(","))}) for row in rows]


def revoke_key(store: Store, identity: str) -> bool:
    """Revoke a key; say whether there is one of this id that was not revoked before."""
    with store.transaction() as connection:
        wanted = (keys.c.id == identity) & keys.c.revoked.is_(None)
        return connection.execute(update(keys).where(wanted).values(revoked=time.time())).rowcount > 0


class Keys:
    """The keys in the store of a running server, which one thread uses.

    Parameters
    ----------
    store : Store
        Where they are.
    in_store : callable
        Runs something in that thread.
    """

    def __init__(self, store: Store, in_store: Callable[..., Awaitable[Any]]) -> None:
        self._store = store
        self._in_store = in_store

    async def keep(self, key: Key) -> None:
        """Keep a key."""
        await self._in_store(keep_key, self._store, key)

    async def read(self) -> list[Key]:
        """Read all keys."""
        found: list[Key] = await self._in_store(read_keys, self._store)
        return found

    async def revoke(self, identity: str) -> None:
        """Revoke a key."""
        await self._in_store(revoke_key, self._store, identity)
