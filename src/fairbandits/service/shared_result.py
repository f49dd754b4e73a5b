"""Results that are computed once for all who wait for them."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

_Result = TypeVar("_Result")


class SharedResult(Generic[_Result]):
    """A result that is computed anew as often as a share of a processor allows, whatever the number of readers.

    A reader who comes too early waits for the next computation, with all others, unless that takes too long: then
    all get the last result.

    Parameters
    ----------
    compute : callable
        Computes the result.
    is_current : callable
        Returns whether a result need not be computed anew.
    max_load : float
        The share of a processor that computing may take.
    patience : float
        The number of seconds that a reader waits for a newer result.
    """

    def __init__(
        self,
        compute: Callable[[], Awaitable[_Result]],
        is_current: Callable[[_Result], bool],
        max_load: float = 0.05,
        patience: float = 1.0,
    ) -> None:
        self._compute = compute
        self._is_current = is_current
        self._max_load = max_load
        self._patience = patience
        self._lock = asyncio.Lock()
        self._began = self._next_at = -math.inf
        self._last: _Result | None = None

    async def get(self, max_age: float = 0.0) -> _Result:
        """Return the result as of now, or a last one of `max_age` seconds, or older if the next comes too late."""
        asked = time.monotonic()
        if self._last is not None and (self._began >= asked - max_age or self._next_at > asked + self._patience):
            return self._last
        async with self._lock:
            # A result that was begun while this reader waited for the lock includes all that was there before.
            if self._last is None or not (self._began >= asked or self._is_current(self._last)):
                await asyncio.sleep(self._next_at - time.monotonic())
                self._began = time.monotonic()
                self._last = await self._compute()
                self._next_at = self._began + (time.monotonic() - self._began) / self._max_load
            return self._last
