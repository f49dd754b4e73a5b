"""Results that are computed once for all readers that are waiting for them."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

_Result = TypeVar("_Result")


class SharedResult(Generic[_Result]):
    """A result that is recomputed as often as a share of a CPU core allows, whatever the number of readers.

    A reader that comes too early waits for the next computation, together with all others. If that would take too
    long, all of them get the last result.

    Parameters
    ----------
    compute : callable
        A function that computes the result.
    is_current : callable
        A function that returns whether a result is still current and need not be recomputed.
    max_load : float
        The share of a CPU core that the computation may take up.
    patience : float
        The number of seconds for which a reader waits for a newer result.
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
        """Return a current result, or the last if it is at most `max_age` seconds old or the next is late."""
        asked = time.monotonic()
        if self._last is not None and (self._began >= asked - max_age or self._next_at > asked + self._patience):
            return self._last
        async with self._lock:
            # A result whose computation began while this reader waited for the lock includes all earlier changes.
            if self._last is None or not (self._began >= asked or self._is_current(self._last)):
                await asyncio.sleep(self._next_at - time.monotonic())
                self._began = time.monotonic()
                self._last = await self._compute()
                self._next_at = self._began + (time.monotonic() - self._began) / self._max_load
            return self._last
