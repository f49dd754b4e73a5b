"""The keys known to a running server, held in memory and read from the store again every two seconds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from fairbandits.service.auth.keys import Key, hash_secret, parse_token
from fairbandits.service.log.errors import StoreDownError

#: The number of seconds between two reads of the keys. A revoked key is refused after this time at the latest.
REFRESH_SECONDS = 2.0
# An unknown key may be a new one, so the keys are read again at once, but no more often than this.
_LOOKUP_SECONDS = 0.2
# The number of seconds between two writes of the last use of a key.
_USE_SECONDS = 3600.0

# This key is verified if an id is unknown, so that unknown and known ids take the same time.
_NO_KEY = Key("", "", frozenset(), hash_secret("nobody"), 0.0)


class KeyCache:
    """The keys of a running server.

    Parameters
    ----------
    read : callable
        A function that reads all keys from the store. While the store is down, the known keys remain valid.
    clock : callable, optional
        A function that returns the time in seconds since 1970.
    save_uses : callable, optional
        A function that saves the times at which keys were used.
    """

    def __init__(
        self,
        read: Callable[[], Awaitable[Sequence[Key]]],
        clock: Callable[[], float] = time.time,
        save_uses: Callable[[Mapping[str, float]], Awaitable[None]] | None = None,
    ) -> None:
        self._read = read
        self._write_uses = save_uses
        self._clock = clock
        self._keys: dict[str, Key] = {}
        self._used: set[str] = set()
        self._is_read = False
        self._reading: asyncio.Task[None] | None = None
        self._looked_up_at = 0.0

    @property
    def is_empty(self) -> bool:
        """Whether it is certain that no key was ever created; revoked keys count."""
        return self._is_read and not self._keys

    def replace(self, keys: Iterable[Key]) -> None:
        """Replace all keys."""
        self._keys = {key.id: key for key in keys}
        self._is_read = True

    async def refresh(self) -> None:
        """Read the keys from the store again."""
        with suppress(StoreDownError):  # already logged where it is raised
            self.replace(await self._read())

    async def refresh_forever(self) -> None:
        """Read the keys from the store periodically."""
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            await self.refresh()
            await self._save_uses()

    async def _save_uses(self) -> None:
        """Save the times at which keys were last used, at most once an hour per key."""
        now, used = self._clock(), self._used
        self._used = set()
        known = [self._keys[key_id] for key_id in used if key_id in self._keys]
        due = {key.id: now for key in known if key.used is None or now - key.used >= _USE_SECONDS}
        if due and self._write_uses is not None:
            with suppress(StoreDownError):  # another use brings another attempt
                await self._write_uses(due)

    async def _look_up(self) -> None:
        """Read the keys again, once for all requests that are waiting for it."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._refresh_soon())
        await asyncio.shield(self._reading)

    async def _refresh_soon(self) -> None:
        await asyncio.sleep(self._looked_up_at + _LOOKUP_SECONDS - time.monotonic())
        self._looked_up_at = time.monotonic()
        await self.refresh()

    async def find(self, token: str, *, session: bool = False) -> Key | None:
        """Return the key or the session of a token, even if it is revoked or expired; None if there is none."""
        parts = parse_token(token)
        if parts is None:
            return None
        found = self._verified(*parts, session)
        if found is None:  # the key or its secret may be new
            await self._look_up()
            found = self._verified(*parts, session)
        return found

    def find_known(self, token: str) -> Key | None:
        """Return the key of a token, without reading the store if it is unknown."""
        parts = parse_token(token)
        return None if parts is None else self._verified(*parts, False)

    def _verified(self, key_id: str, secret: str, session: bool) -> Key | None:
        key = self._keys.get(key_id, _NO_KEY)
        # A session is not a key: a cookie, which browsers send automatically, must allow nothing but reading.
        is_right = key.verify(secret, self._clock()) and (key.parent is not None) is session
        return key if is_right else None

    def add(self, key: Key) -> None:
        """Add a key that was just saved."""
        self._keys[key.id] = key

    def is_active(self, key: Key) -> bool:
        """Return whether a key can be used now. A session ends with the key that opened it."""
        now = self._clock()
        known = self._keys.get(key.id)
        if known is None or not known.is_active(now):
            return False
        if known.parent is not None:
            parent = self._keys.get(known.parent)
            if parent is None or not parent.is_active(now):
                return False
        self._used.add(known.parent or known.id)
        return True
