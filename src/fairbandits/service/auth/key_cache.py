"""The keys that a running server knows: in memory, and read from the store again every two seconds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress

from fairbandits.service.auth.keys import Key, hash_secret, parse_token
from fairbandits.service.log.errors import StoreDownError

#: Seconds between two reads of the keys. A revoked key is refused after this time at the latest.
REFRESH_SECONDS = 2.0
# An unknown key may be a new one, so the keys are read again at once, but no more often than this.
_LOOKUP_SECONDS = 0.2

# Verified when an id is unknown, so that unknown and known ids take the same time.
_NO_KEY = Key("", "", frozenset(), hash_secret("nobody"), 0.0)


class KeyCache:
    """The keys of a running server.

    Parameters
    ----------
    read : callable
        Reads all keys from the store. While the store is down, the known keys remain valid.
    clock : callable, optional
        Returns the time in seconds since 1970.
    """

    def __init__(
        self, read: Callable[[], Awaitable[Sequence[Key]]], clock: Callable[[], float] = time.time
    ) -> None:
        self._read = read
        self._clock = clock
        self._keys: dict[str, Key] = {}
        self._is_read = False
        self._reading: asyncio.Task[None] | None = None
        self._looked_up_at = 0.0

    @property
    def is_empty(self) -> bool:
        """Whether no key was ever created, as far as is known for certain; revoked keys count."""
        return self._is_read and not self._keys

    def replace(self, keys: Iterable[Key]) -> None:
        """Replace all keys."""
        self._keys = {key.id: key for key in keys}
        self._is_read = True

    async def refresh(self) -> None:
        """Read the keys from the store again."""
        with suppress(StoreDownError):  # logged where it is raised
            self.replace(await self._read())

    async def refresh_forever(self) -> None:
        """Read the keys from the store again and again."""
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            await self.refresh()

    async def _look_up(self) -> None:
        """Read the keys again, once for all requests that wait for it."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._refresh_soon())
        await asyncio.shield(self._reading)

    async def _refresh_soon(self) -> None:
        await asyncio.sleep(self._looked_up_at + _LOOKUP_SECONDS - time.monotonic())
        self._looked_up_at = time.monotonic()
        await self.refresh()

    async def find(self, token: str, *, session: bool = False) -> Key | None:
        """Return the key, or the session, of a token; None if there is none. It may be revoked or expired."""
        parts = parse_token(token)
        if parts is None:
            return None
        key_id, secret = parts
        if key_id not in self._keys:
            await self._look_up()
        key = self._keys.get(key_id, _NO_KEY)
        # A session is not a key: the cookie that a browser sends by itself must allow nothing but reading.
        return key if key.verify(secret) and (key.parent is not None) is session else None

    def is_active(self, key: Key) -> bool:
        """Return whether a key can be used now. A session ends with the key that opened it."""
        now = self._clock()
        known = self._keys.get(key.id)
        if known is None or not known.is_active(now):
            return False
        if known.parent is None:
            return True
        parent = self._keys.get(known.parent)
        return parent is not None and parent.is_active(now)
