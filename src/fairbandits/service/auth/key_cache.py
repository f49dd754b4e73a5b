"""The keys as a running server knows them: in memory, read again every other second."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress

from fairbandits.service.auth.keys import Key, digest_of, split
from fairbandits.service.log import StoreDownError

#: A key that was revoked is refused at the latest so many seconds later.
READ_EVERY = 2.0
# A key that is not known may be a new one: then they are read again at once, but no more often than this.
_LOOK_EVERY = 0.2

_NOBODY = Key("", "", frozenset(), digest_of("nobody"), 0.0)


class Ring:
    """The keys that can be used.

    Parameters
    ----------
    read : callable
        Reads all keys from the store; where that cannot be reached, those that are known stay.
    clock : callable, optional
        Gives the time in seconds since 1970.
    """

    def __init__(
        self, read: Callable[[], Awaitable[Sequence[Key]]], clock: Callable[[], float] = time.time
    ) -> None:
        self._read = read
        self._clock = clock
        self._keys: dict[str, Key] = {}
        self._is_read = False
        self._reading: asyncio.Task[None] | None = None
        self._looked_at = 0.0

    @property
    def is_empty(self) -> bool:
        """Whether it is known that no key was ever made; revoked ones count."""
        return self._is_read and not self._keys

    def put(self, keys: Iterable[Key]) -> None:
        """Know these keys, and no others."""
        self._keys = {key.id: key for key in keys}
        self._is_read = True

    async def refresh(self) -> None:
        """Read the keys again."""
        with suppress(StoreDownError):  # which is noted where it is found
            self.put(await self._read())

    async def watch(self) -> None:
        """Read the keys again and again."""
        while True:
            await asyncio.sleep(READ_EVERY)
            await self.refresh()

    async def _look_again(self) -> None:
        """Read the keys again, once for all who wait for it."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._refresh_soon())
        await asyncio.shield(self._reading)

    async def _refresh_soon(self) -> None:
        await asyncio.sleep(self._looked_at + _LOOK_EVERY - time.monotonic())
        self._looked_at = time.monotonic()
        await self.refresh()

    async def find(self, token: str, *, session: bool = False) -> Key | None:
        """Find the key, or the session, that somebody shows; it may be revoked or expired."""
        parts = split(token)
        if parts is None:
            return None
        if parts[0] not in self._keys:
            await self._look_again()
        key = self._keys.get(parts[0], _NOBODY)
        # A session is no key: what a browser sends by itself must not be good for more than reading.
        return key if key.opens(parts[1]) and (key.parent is not None) is session else None

    def is_live(self, key: Key) -> bool:
        """Say whether a key can be used now; a session ends with the key that opened it."""
        now = self._clock()
        known = self._keys.get(key.id)
        if known is None or not known.is_live(now):
            return False
        if known.parent is None:
            return True
        parent = self._keys.get(known.parent)
        return parent is not None and parent.is_live(now)
