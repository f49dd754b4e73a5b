"""The service without its API: the log, what follows from it, and what goes into it."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from fairbandits.service.config import Config
from fairbandits.service.http.problems import RefusedError
from fairbandits.service.log import Answer, Settled, Store, StoreDownError, Write
from fairbandits.service.log.appender import append
from fairbandits.service.log.events import ArmAdded, Decided, Entry
from fairbandits.service.log.follower import Fold, Follower
from fairbandits.service.log.writer import Writer
from fairbandits.service.state.monitor import Monitor
from fairbandits.service.state.recommender import Recommender, warm_up

_log = logging.getLogger(__name__)

# How often a worker that has nothing to write looks what others wrote.
_POLL_SECONDS = 0.1
# A fingerprint of everything is computed no more often than this.
_CHECKSUM_SECONDS = 1.0
# Answers are kept this long for requests that come again.
_KEEP_ANSWERS = 7 * 86400.0


@dataclass(slots=True, kw_only=True)
class Decide(Write):
    """A request for decisions, which are made when its batch is about to be written.

    Attributes
    ----------
    requests : sequence of mapping
        What `Recommender.decide_many` takes; all are granted, or none.
    as_answer : callable
        Makes the answer of the decisions.
    refuse : callable
        Makes the answer where one cannot be granted, of its number and what is wrong with it.
    """

    requests: Sequence[Mapping[str, Any]]
    as_answer: Callable[[list[Decided]], Answer]
    refuse: Callable[[int, ValueError], RefusedError]

    def take(self, made: Sequence[Decided | ValueError]) -> None:
        """Take the decisions."""
        settled = self._settled(made)
        self.settle = lambda _: settled

    def _settled(self, made: Sequence[Decided | ValueError]) -> Settled:
        decided: list[Decided] = []
        for number, one in enumerate(made):
            if isinstance(one, ValueError):
                return Settled((), self.refuse(number, one))
            decided.append(one)
        return Settled(decided, self.as_answer(decided))


class Engine:
    """All that runs behind the API, in one event loop.

    Parameters
    ----------
    config : Config
        What it is told.

    Attributes
    ----------
    follower : Follower
        What follows from the log.
    writer : Writer
        What goes into the log.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.store = Store(config.store.url)
        self.follower = Follower(self._folds)
        self.writer = Writer(self.store, self._decide, lambda: self.follower.seq, self._apply)
        self._running: asyncio.Task[None] | None = None
        self._snapshotting: asyncio.Task[None] | None = None
        self._snapshot_at = 0
        self._checked: tuple[float, int, str] = (-math.inf, -1, "")
        self._checking = asyncio.Lock()

    def _folds(self) -> Mapping[str, Fold]:
        return {"recommender": Recommender(self.config), "monitor": Monitor(self.config)}

    @property
    def recommender(self) -> Recommender:
        """The policy and its catalogue, as of the last entry that was applied."""
        return cast(Recommender, self.follower.folds["recommender"])

    @property
    def monitor(self) -> Monitor:
        """What people look at, as of the last entry that was applied."""
        return cast(Monitor, self.follower.folds["monitor"])

    # -- from start to stop ----------------------------------------------------------------------------

    async def start(self) -> None:
        """Open the log, bring everything up to its end, and begin to write."""
        await self.writer.in_store(self._open)
        self._running = asyncio.create_task(self.writer.run(_POLL_SECONDS))
        _log.info("follows the log up to entry %d", self.follower.seq)

    def _open(self) -> None:
        self.store.open(self.config.meaning())
        if not self.store.last_seq():
            append(self.store, [self._first_arms()], 0)
        self._snapshot_at = self.follower.start(self.store)
        self.recommender.shelf.check()
        warm_up(self.config)

    def _first_arms(self) -> Write:
        now = time.time()
        arms = [
            ArmAdded(arm["arm"], 1, now, arm.get("features", {}), arm.get("matches", {}))
            for arm in self.config.arms
        ]
        wanted = [arm.key for arm in arms[:1]]
        # Of several workers that begin on an empty log, the first one fills it.
        return Write(lambda found: Settled([] if found else arms, None), wanted)

    async def stop(self) -> None:
        """Write what waits, and a snapshot."""
        self.writer.close()
        if self._running is not None:
            await self._running
        if self._snapshotting is not None:
            await self._snapshotting
        if self.follower.seq > self._snapshot_at and self.writer.broken is None:
            await self._save_snapshot()
        await self.writer.stop()

    # -- deciding --------------------------------------------------------------------------------------

    def _decide(self, writes: Sequence[Write]) -> None:
        """Decide for all users of a batch at once, which takes much less time than one after the other."""
        asking = [write for write in writes if isinstance(write, Decide)]
        if asking:
            made = self.recommender.decide_many([request for write in asking for request in write.requests])
            at = 0
            for write in asking:
                write.take(made[at : at + len(write.requests)])
                at += len(write.requests)

    # -- following -------------------------------------------------------------------------------------

    def _apply(self, entries: Sequence[Entry]) -> None:
        self.follower.apply(entries)
        is_due = self.follower.seq - self._snapshot_at >= self.config.store.snapshot_every
        if is_due and (self._snapshotting is None or self._snapshotting.done()):
            self._snapshotting = asyncio.create_task(self._snapshot_if_due())

    async def _snapshot_if_due(self) -> None:
        with suppress(StoreDownError):
            # Another worker may have written one.
            self._snapshot_at = await self.writer.in_store(self.store.last_snapshot_seq)
            if self.follower.seq - self._snapshot_at >= self.config.store.snapshot_every:
                await self._save_snapshot()
                await self.writer.in_store(self.store.drop_answers, time.time() - _KEEP_ANSWERS)

    async def _save_snapshot(self) -> None:
        with suppress(StoreDownError):  # which is noted; the log is enough to start from
            seq, make = self.follower.snapshot()
            parts = await asyncio.to_thread(make)
            await self.writer.in_store(self.store.save_snapshot, seq, parts)
            self._snapshot_at = seq

    async def checksum(self) -> tuple[int, str]:
        """Give a fingerprint of what was learned, and the entry up to which that is: a second old at most."""
        async with self._checking:
            when, seq, checksum = self._checked
            if seq != self.follower.seq and time.monotonic() - when >= _CHECKSUM_SECONDS:
                seq, compute = self.follower.seq, self.recommender.checksum()
                checksum = await asyncio.to_thread(compute)
                self._checked = (time.monotonic(), seq, checksum)
            return seq, checksum
