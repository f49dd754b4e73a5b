"""Group commit: while one batch of requests is written to disk, the next batch accumulates."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from fairbandits.service.log.appender import Appended, AppendRequest, append
from fairbandits.service.log.errors import LogBrokenError, LogLostError, LogUnavailableError, StoreDownError
from fairbandits.service.log.events import Entry
from fairbandits.service.log.follower import Follower
from fairbandits.service.log.requests import LogRequest, Outcome
from fairbandits.service.log.store import Store
from fairbandits.service.log.store_thread import StoreThread
from fairbandits.service.tracebacks import traceback_without_message

_log = logging.getLogger(__name__)

# Limits on the number of items in one transaction, and on the number of waiting requests.
_MAX_BATCH = 1000
_MAX_WAITING = 20_000
# The share of the store's timeout for which a request may wait for its turn while the store is down. Including its
# own batch, it is answered within one and a half timeouts.
_MAX_WAIT = 0.25
# The number of seconds between two checks of whether a store that is down is back, while there is nothing to
# write.
_RETRY_SECONDS = 0.5
# The number of seconds after which a store that was not written to is probed, and by which the probe may be late.
_PROBE_SECONDS = 1.0
_LATE_SECONDS = 0.5
# The number of entries that are applied before the event loop gets a turn.
_MAX_APPLIED = 100
# The number of seconds between two reads of the log while entries written by this process are not settled.
_SETTLE_SECONDS = 0.01

_UNAVAILABLE = "the log cannot be written at the moment; try again later"


class _Waiting(NamedTuple):
    """A request that waits for its batch."""

    request: LogRequest
    outcome: asyncio.Future[Outcome]
    since: float


class Writer:
    """Writes batches of requests to the log, and applies the entries once they are on disk.

    Batches are prepared and written in the store's thread, and applied in the event loop, so code that reads the
    state there sees it as of an entry of the log.

    Parameters
    ----------
    store : Store
        The store of the log.
    follower : Follower
        The state to which new entries, those of this writer and of other workers, are applied.
    prepare : callable
        A function that turns the requests of a batch into requests to append, just before the batch is written.

    Attributes
    ----------
    down : str or None
        The reason why the store cannot be used at the moment.
    broken : str or None
        The reason why entries can no longer be applied.
    """

    def __init__(
        self,
        store: Store,
        follower: Follower,
        prepare: Callable[[Sequence[LogRequest]], Sequence[AppendRequest]],
    ) -> None:
        self._store = store
        self._follower = follower
        self._prepare = prepare
        self._thread = StoreThread(store)
        self._waiting: list[_Waiting] = []
        # The number of batches and, while more requests wait than fit into one batch, the last batch with a
        # request of each client.
        self._n_batches = 0
        self._served: dict[str, int] = {}
        self._wake = asyncio.Event()
        self._is_open = True
        # The time of the last write to the store, and of the last attempt.
        self._written_at = self._tried_at = time.monotonic()
        self.down: str | None = None
        self.broken: str | None = None

    async def write(self, request: LogRequest) -> Outcome:
        """Return the outcome of a request, once its events are on disk and applied.

        Raises
        ------
        LogUnavailableError
            If the log cannot be written at the moment.
        LogBrokenError
            If the log can no longer be applied.
        """
        if self.broken is not None:
            raise LogBrokenError("the log could not be applied; see the server's log")
        if not self._is_open:
            raise LogUnavailableError("this server is stopping; try another one")
        if len(self._waiting) >= _MAX_WAITING:
            raise LogUnavailableError("too many requests are waiting for the log; try again later")
        outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(request, outcome, time.monotonic()))
        self._wake.set()
        return await outcome

    async def run(self, poll_seconds: float) -> None:
        """Write batches until closed. While there is nothing to write, read the entries of other workers."""
        while self._is_open or self._waiting:
            try:
                # Entries of this process that are not settled yet will be settled in a moment.
                is_settled = self._store.last_own <= self._follower.seq
                await asyncio.wait_for(self._wake.wait(), poll_seconds if is_settled else _SETTLE_SECONDS)
            except TimeoutError:
                if self.broken is None:
                    await self._poll()
                continue
            self._wake.clear()
            while self._waiting:
                await self._write_batch(self._still_wanted(self._next_batch()))
                await self._probe_after_batch()

    def _next_batch(self) -> list[_Waiting]:
        """Return the requests that share the next transaction: at least one, but not several large ones."""
        if sum(each.request.size for each in self._waiting) > _MAX_BATCH:
            self._take_turns()
        else:
            self._served.clear()
        size = n = 0
        while n < len(self._waiting) and size < _MAX_BATCH:
            size += self._waiting[n].request.size
            n += 1
        batch, self._waiting = self._waiting[:n], self._waiting[n:]
        self._n_batches += 1
        if self._waiting:
            self._served |= {each.request.client: self._n_batches for each in batch}
        return batch

    def _take_turns(self) -> None:
        """Order the requests so that each client gets one turn before any gets two, the last served coming last.

        However many requests of one client are waiting, another client waits for at most one of them.
        """
        n_before: Counter[str] = Counter()
        turns: list[tuple[int, int]] = []
        for each in self._waiting:
            client = each.request.client
            turns.append((n_before[client], self._served.get(client, 0)))
            n_before[client] += 1
        self._waiting = [self._waiting[at] for at in sorted(range(len(turns)), key=turns.__getitem__)]
        self._served = {client: self._served[client] for client in n_before if client in self._served}

    def _still_wanted(self, batch: list[_Waiting]) -> list[_Waiting]:
        """Refuse requests that wait for a store that is down; leave out those whose clients have disconnected."""
        limit = self._store.timeout
        if self.down is not None and limit is not None:
            latest = time.monotonic() - _MAX_WAIT * limit
            _fail([each for each in batch if each.since < latest], LogUnavailableError(_UNAVAILABLE))
        return [each for each in batch if not each.outcome.done()]

    @property
    def is_ready(self) -> bool:
        """Whether the log was recently written, by a request or by a probe."""
        age = time.monotonic() - self._written_at
        limit = _PROBE_SECONDS + (self._store.timeout or math.inf) + _LATE_SECONDS
        return self.broken is None and self.down is None and age < limit

    def close(self) -> None:
        """Accept no more requests; `run` ends when all waiting requests are written."""
        self._is_open = False
        self._wake.set()

    async def stop(self) -> None:
        """Close the store, unless it hangs."""
        with suppress(StoreDownError):
            await self._thread.call(self._store.close)

    async def run_in_store_thread(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function in the thread that uses the store; raise StoreDownError if the call takes too long."""
        return await self._call(partial(function, *args))

    async def _call(self, *functions: Callable[..., Any]) -> Any:
        try:
            return await self._thread.call(*functions)
        except StoreDownError as error:
            self._tried_at = time.monotonic()
            if self.down is None:
                _log.error("the store is down: %s", error)
            self.down = str(error)
            raise

    def _mark_up(self) -> None:
        self._written_at = self._tried_at = time.monotonic()
        if self.down is not None:
            _log.warning("the store is available again")
            self.down = None

    async def _write_batch(self, batch: list[_Waiting]) -> None:
        """Write a batch, and pass each request its outcome or the error."""
        if not batch:
            return
        try:
            outcomes = await self._commit([each.request for each in batch])
        except StoreDownError:
            # A commit that was cut off may have succeeded. Reading the log will show whether it did.
            _fail(batch, LogUnavailableError(_UNAVAILABLE))
        except Exception as error:
            _log.error("a batch of %d request(s) failed: %s", len(batch), traceback_without_message(error))
            if isinstance(error, LogLostError):
                self.broken = str(error)
            _fail(batch, error)
        else:
            for each, outcome in zip(batch, outcomes, strict=True):
                if not each.outcome.done():  # a client that has disconnected has cancelled it
                    each.outcome.set_result(outcome)

    async def _commit(self, requests: Sequence[LogRequest]) -> Sequence[Outcome]:
        """Prepare requests, append their events, and apply the new entries; return the outcomes."""
        # Making decisions takes time, during which the event loop answers other requests.
        prepare = partial(self._prepare, requests)
        appended: Appended = await self._call(prepare, partial(append, self._store, known=self._follower.seq))
        if appended.has_written:
            self._mark_up()
        await self._apply(appended.entries)
        return appended.outcomes

    async def _poll(self) -> None:
        """Apply the entries that other workers have written."""
        try:
            await self._probe_if_due()
            await self._apply(await self.run_in_store_thread(self._store.read, self._follower.seq))
        except StoreDownError:
            await asyncio.sleep(_RETRY_SECONDS)
        except Exception as error:
            # An entry that cannot be read or applied now cannot be a moment later either.
            self._break("the log could not be followed", error)

    async def _probe_after_batch(self) -> None:
        try:
            await self._probe_if_due()
        except StoreDownError:
            pass  # the next batch fails, or finds the store back
        except Exception as error:
            # The writer must not end, or requests would wait forever.
            self._break("the store could not be probed", error)

    def _break(self, what: str, error: Exception) -> None:
        _log.error("%s: %s", what, traceback_without_message(error))
        self.broken = self.broken or f"{type(error).__name__}: {error}"

    async def _probe_if_due(self) -> None:
        """Probe the store with a write, unless one was attempted recently; a full disk could still be read."""
        seconds = _PROBE_SECONDS if self.down is None else _RETRY_SECONDS
        if time.monotonic() - self._tried_at >= seconds:
            await self.run_in_store_thread(self._store.probe)
            self._mark_up()

    async def _apply(self, entries: Sequence[Entry]) -> None:
        """Apply new entries, a limited number at a time."""
        try:
            for at in range(0, len(entries), _MAX_APPLIED):
                if at:
                    await asyncio.sleep(0)
                self._follower.apply(entries[at : at + _MAX_APPLIED])
        except Exception as error:
            self.broken = f"{type(error).__name__}: {error}"
            raise


def _fail(batch: Sequence[_Waiting], error: Exception) -> None:
    for each in batch:
        if not each.outcome.done():
            each.outcome.set_exception(error)
