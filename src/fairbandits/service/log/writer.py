"""Group commit: while one batch of requests is written to disk, the next one gathers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fairbandits.service.log.appender import AppendRequest, append
from fairbandits.service.log.errors import LogBrokenError, LogLostError, LogUnavailableError, StoreDownError
from fairbandits.service.log.events import Entry
from fairbandits.service.log.follower import Follower
from fairbandits.service.log.requests import LogRequest, Outcome
from fairbandits.service.log.store import Store
from fairbandits.service.tracebacks import traceback_without_message

_log = logging.getLogger(__name__)

# Limits on the requests of one transaction, and on those that wait.
_MAX_BATCH = 1000
_MAX_WAITING = 20_000
# Seconds between two checks whether a store that is down is back, while there is nothing to write.
_RETRY_SECONDS = 0.5
# Seconds between two reads of the log while entries that were written here are not settled.
_SETTLE_SECONDS = 0.01

_Waiting = tuple[LogRequest, asyncio.Future[Outcome]]


class Writer:
    """Writes batches of requests to the log, and applies the entries once they are on disk.

    Everything but the store runs in one event loop; the store has a thread of its own.

    Parameters
    ----------
    store : Store
        The store of the log.
    follower : Follower
        The state, to which new entries are applied: those of this writer and of other workers.
    prepare : callable
        Turns the requests of a batch into requests to append, just before the batch is written.

    Attributes
    ----------
    down : str or None
        The reason why the store cannot be used at the moment.
    broken : str or None
        The reason why entries cannot be applied any more.
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
        self._thread = ThreadPoolExecutor(1, "store")
        self._waiting: list[_Waiting] = []
        self._wake = asyncio.Event()
        self._is_open = True
        self.down: str | None = None
        self.broken: str | None = None

    async def write(self, request: LogRequest) -> Outcome:
        """Return the outcome of a request, once its events are on disk and applied.

        Raises
        ------
        LogUnavailableError
            If the log cannot be written at the moment.
        LogBrokenError
            If the log cannot be applied any more.
        """
        if self.broken is not None:
            raise LogBrokenError("the log could not be applied; the server's log says why")
        if not self._is_open:
            raise LogUnavailableError("this server is stopping; try another one")
        if len(self._waiting) >= _MAX_WAITING:
            raise LogUnavailableError("too many requests are waiting for the log; try again later")
        outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, outcome))
        self._wake.set()
        return await outcome

    async def run(self, poll_seconds: float) -> None:
        """Write batches until closed. While there is nothing to write, read the entries of other workers."""
        while self._is_open or self._waiting:
            try:
                # Entries of this process that are not settled yet will be in a moment.
                is_settled = self._store.last_own <= self._follower.seq
                await asyncio.wait_for(self._wake.wait(), poll_seconds if is_settled else _SETTLE_SECONDS)
            except TimeoutError:
                if self.broken is None:
                    await self._poll()
                continue
            self._wake.clear()
            while self._waiting:
                batch, self._waiting = self._waiting[:_MAX_BATCH], self._waiting[_MAX_BATCH:]
                await self._write_batch(batch)

    def close(self) -> None:
        """Accept no more requests; `run` ends when all that wait are written."""
        self._is_open = False
        self._wake.set()

    async def stop(self) -> None:
        """Close the store and end its thread."""
        await self.run_in_store_thread(self._store.close)
        self._thread.shutdown()

    async def run_in_store_thread(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function in the thread that uses the store."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, function, *args)
        except StoreDownError as error:
            if self.down is None:
                _log.error("the store is down: %s", error)
            self.down = str(error)
            raise

    def _mark_up(self) -> None:
        if self.down is not None:
            _log.warning("the store is back")
            self.down = None

    async def _write_batch(self, batch: list[_Waiting]) -> None:
        """Write a batch, and hand each request its outcome or the error."""
        try:
            outcomes = await self._commit([request for request, _ in batch])
        except StoreDownError:
            # A commit that was cut off may have succeeded. Reading the log will tell.
            _fail(batch, LogUnavailableError("the log cannot be written at the moment; try again later"))
        except Exception as error:
            _log.error("a batch of %d request(s) failed: %s", len(batch), traceback_without_message(error))
            if isinstance(error, LogLostError):
                self.broken = str(error)
            _fail(batch, error)
        else:
            for (_, future), outcome in zip(batch, outcomes, strict=True):
                if not future.done():  # a client that has gone has cancelled it
                    future.set_result(outcome)

    async def _commit(self, requests: Sequence[LogRequest]) -> Sequence[Outcome]:
        """Prepare requests, append their events, apply the new entries; return the outcomes."""
        prepared = self._prepare(requests)
        appended = await self.run_in_store_thread(append, self._store, prepared, self._follower.seq)
        self._mark_up()
        self._apply(appended.entries)
        outcomes: Sequence[Outcome] = appended.outcomes
        return outcomes

    async def _poll(self) -> None:
        """Apply what other workers have written."""
        try:
            if self.down is not None:
                # A full disk can still be read, so only writing shows whether it is back.
                await self.run_in_store_thread(self._store.probe)
                self._mark_up()
            self._apply(await self.run_in_store_thread(self._store.read, self._follower.seq))
        except StoreDownError:
            await asyncio.sleep(_RETRY_SECONDS)
        except Exception as error:
            _log.error("the log could not be followed: %s", traceback_without_message(error))
            # An entry that cannot be read or applied now cannot be a moment later.
            self.broken = self.broken or f"{type(error).__name__}: {error}"

    def _apply(self, entries: Sequence[Entry]) -> None:
        try:
            self._follower.apply(entries)
        except Exception as error:
            self.broken = f"{type(error).__name__}: {error}"
            raise


def _fail(batch: Sequence[_Waiting], error: Exception) -> None:
    for _, future in batch:
        if not future.done():
            future.set_exception(error)
