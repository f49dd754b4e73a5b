"""Group commit: while one batch of requests goes to disk, the next one gathers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fairbandits.service.http.problems import RefusedError, UnavailableError, where_of
from fairbandits.service.log import Answer, LogLostError, Store, StoreDownError, Write
from fairbandits.service.log.appender import append
from fairbandits.service.log.events import Entry

_log = logging.getLogger(__name__)

# So many requests go into one transaction at most, and so many may wait.
_MOST_IN_BATCH = 1000
_MOST_WAITING = 20_000
# So long, in seconds, nobody looks whether a store that is down is back, unless there is something to write.
_PAUSE = 0.5

_Waiting = tuple[Write, asyncio.Future[Answer]]


class Writer:
    """Appends to the log, and hands out its entries once they are on disk. All of it runs in one event loop.

    Parameters
    ----------
    store : Store
        Where the log is.
    prepare : callable
        Takes the requests of a batch, just before they go to the store.
    known : callable
        Gives the last entry that was applied.
    apply : callable
        Takes the next entries, as soon as they are on disk: ours and those of other workers.
    """

    def __init__(
        self,
        store: Store,
        prepare: Callable[[Sequence[Write]], None],
        known: Callable[[], int],
        apply: Callable[[Sequence[Entry]], None],
    ) -> None:
        self._store = store
        self._prepare = prepare
        self._known = known
        self._apply = apply
        # The one thread that uses the store.
        self._thread = ThreadPoolExecutor(1, "store")
        self._waiting: list[_Waiting] = []
        self._wake = asyncio.Event()
        self._is_open = True
        #: Why the store cannot be used; None where it can.
        self.down: str | None = None
        #: Why nothing can be applied any more; None where all is well.
        self.broken: str | None = None

    async def write(self, write: Write) -> Answer:
        """Append what a request wants, and give its answer once that is on disk and applied."""
        if self.broken is not None:
            raise RefusedError(500, "Internal error", "the log could not be applied; the server's log says why")
        if not self._is_open:
            raise UnavailableError("this server is stopping; try another")
        if len(self._waiting) >= _MOST_WAITING:
            raise UnavailableError("too many requests wait for the log; try again")
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((write, future))
        self._wake.set()
        return await future

    async def run(self, poll: float) -> None:
        """Write batches until closed; where nothing comes, look every `poll` seconds what others wrote."""
        while self._is_open or self._waiting:
            try:
                await asyncio.wait_for(self._wake.wait(), poll)
            except TimeoutError:
                if self.broken is None:
                    await self._follow()
                continue
            self._wake.clear()
            while self._waiting:
                batch, self._waiting = self._waiting[:_MOST_IN_BATCH], self._waiting[_MOST_IN_BATCH:]
                await self._write(batch)

    def close(self) -> None:
        """Take no more; `run` ends when all that waits is written."""
        self._is_open = False
        self._wake.set()

    async def stop(self) -> None:
        """Let go of the store."""
        await self.in_store(self._store.close)
        self._thread.shutdown()

    async def in_store(self, work: Callable[..., Any], *args: Any) -> Any:
        """Run something in the thread that uses the store."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work, *args)
        except StoreDownError as error:
            if self.down is None:
                _log.error("the store is down: %s", error)
            self.down = str(error)
            raise

    def _is_up(self) -> None:
        if self.down is not None:
            _log.warning("the store is back")
            self.down = None

    async def _write(self, batch: list[_Waiting]) -> None:
        failed: Exception | None = None
        writes = [write for write, _ in batch]
        try:
            self._prepare(writes)
            entries = await self.in_store(append, self._store, writes, self._known())
            self._is_up()
            self._hand_out(entries)
        except StoreDownError:
            # Whether a commit that was cut off took place will be seen when the log is read again.
            failed = UnavailableError("the log cannot be written right now; try again")
        except Exception as error:
            _log.error("a batch of %d request(s) failed: %s", len(batch), where_of(error))
            failed = error
            if isinstance(error, LogLostError):
                self.broken = str(error)
        for write, future in batch:
            answer: Any = failed or write.answer
            if future.done():
                continue  # whoever asked has gone
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)

    async def _follow(self) -> None:
        try:
            if self.down is not None:
                # A disk that is full can be read; nobody may be sent here to try whether it can be written to.
                await self.in_store(self._store.probe)
                self._is_up()
            self._hand_out(await self.in_store(self._store.read, self._known()))
        except StoreDownError:
            await asyncio.sleep(_PAUSE)  # noted; the next look will tell
        except Exception as error:
            _log.error("the log could not be followed: %s", where_of(error))
            # What cannot be read or applied now cannot be so a moment later.
            self.broken = self.broken or f"{type(error).__name__}: {error}"

    def _hand_out(self, entries: Sequence[Entry]) -> None:
        try:
            self._apply(entries)
        except Exception as error:
            self.broken = f"{type(error).__name__}: {error}"
            raise
