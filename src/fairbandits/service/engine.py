"""The engine: the log, the state that follows from it, and the tasks that keep both running."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from contextlib import closing, suppress
from functools import partial
from typing import cast

from fairbandits.service.config import Config
from fairbandits.service.lifecycle.background import LifecycleTasks
from fairbandits.service.lifecycle.replay import make_folds, new_follower
from fairbandits.service.log.appender import AppendEvents, append
from fairbandits.service.log.errors import StoreDownError
from fairbandits.service.log.events import ArmAdded
from fairbandits.service.log.snapshot_rows import Pace
from fairbandits.service.log.store import Store
from fairbandits.service.log.store_thread import StoreThread
from fairbandits.service.log.writer import Writer
from fairbandits.service.state.decider import Decider, warm_up
from fairbandits.service.state.monitor import Monitor
from fairbandits.service.state.recommender import ServedRecommender
from fairbandits.service.tracebacks import traceback_without_message

_log = logging.getLogger(__name__)

# The number of seconds between two reads of the log by a worker that has nothing to write.
_POLL_SECONDS = 0.1
# The number of seconds for which a checksum of the state is reused.
_CHECKSUM_SECONDS = 1.0
# The number of seconds within which the database must answer a statement that saves a snapshot.
_SNAPSHOT_TIMEOUT = 60.0
# The number of seconds for which a stopping server waits for its last snapshot. Together with the seconds for open
# responses, this is less than the time that a server may take to stop.
_LAST_SNAPSHOT_SECONDS = 2.5


class Engine:
    """Everything behind the API, in one event loop.

    Parameters
    ----------
    config : Config
        The configuration.

    Attributes
    ----------
    store : Store
        The store of the log.
    follower : Follower
        The state.
    writer : Writer
        The writer of the log.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.store = Store(config.store.url, config.store.timeout_seconds)
        self.follower = new_follower(config)
        self.writer = Writer(self.store, self.follower, Decider(self.follower).prepare)
        # Saving a snapshot takes time, during which requests are written.
        self._snapshot_store = Store(config.store.url, _SNAPSHOT_TIMEOUT)
        self._snapshot_thread = StoreThread(self._snapshot_store, "snapshots")
        self._is_opened = False
        self._writing: asyncio.Task[None] | None = None
        self._snapshotting: asyncio.Task[None] | None = None
        self._lifecycle = LifecycleTasks(config, self.follower)
        self._snapshot_lock = asyncio.Lock()
        self._pace = Pace()
        self._checksum: tuple[float, int, int, str] = (-math.inf, -1, -1, "")
        self._checksum_lock = asyncio.Lock()

    @property
    def recommender(self) -> ServedRecommender:
        """The policy and its catalogue, as of the last applied entry."""
        return cast(ServedRecommender, self.follower.folds["recommender"])

    @property
    def monitor(self) -> Monitor:
        """The sums by group, as of the last applied entry."""
        return cast(Monitor, self.follower.folds["monitor"])

    # -- start and stop --------------------------------------------------------------------------------

    async def start(self) -> None:
        """Open the log, apply all of it, and begin to write."""
        if not self._is_opened:
            await asyncio.to_thread(self.open)
        self._writing = asyncio.create_task(self.writer.run(_POLL_SECONDS))
        self._snapshotting = asyncio.create_task(self._save_snapshots())
        self._lifecycle.start()
        _log.info("following the log from entry %d", self.follower.seq)

    def open(self) -> None:
        """Open the log and apply all of it; raise ValueError if that is not possible.

        `start` also does this, but within a web server, which reports errors with a traceback.
        """
        try:
            self._open()
        except StoreDownError as error:
            raise ValueError(f"the store cannot be used: {error}") from error
        self._is_opened = True

    def _open(self) -> None:
        # Migrations, the newest snapshot and the rest of the log may take longer than a request may wait.
        with closing(Store(self.config.store.url)) as store:
            is_continued = self._read_log(store)
        if is_continued:
            # Only the first worker of a new log continues the random numbers of a saved recommender, because no
            # two workers may draw the same numbers.
            self.recommender.policy.set_params(random_state=None)
        self.recommender.catalogue.check()
        warm_up(self.recommender.config)

    def _start_following(self, store: Store) -> None:
        """Apply the whole log, with the policy that the log names, if it names one."""
        change = store.read_change()
        served = change.served_config(self.config)
        if served.policy != self.config.policy:
            _log.warning(
                "using %s, the policy in the log, instead of the configured %s; change it with "
                "`fairbandits replace`",
                served.policy,
                self.config.policy,
            )
        self.follower.begin_with(lambda: make_folds(served), change.seq)
        self.follower.start(store)

    def _read_log(self, store: Store) -> bool:
        """Apply the whole log; return whether it continues a saved recommender that another worker has read."""
        store.open(self.config.log_schema())
        start = self.config.start
        is_continued = start is not None and not store.save_start(start.content)
        if not store.last_seq():
            append(store, [self._first_arms()], 0)
        self._start_following(store)
        return is_continued

    def _first_arms(self) -> AppendEvents:
        now = time.time()
        arms = [
            ArmAdded(arm["arm"], 1, now, arm.get("features", {}), arm.get("matches", {}))
            for arm in self.config.arms
        ]
        # If several workers start on an empty log, the first one fills it.
        return AppendEvents(events=arms, depends_on=[arm.key for arm in arms[:1]])

    async def stop(self) -> None:
        """Write the waiting requests, and a snapshot if that does not take too long."""
        self._lifecycle.stop()
        self._pace.hurry()
        self.writer.close()
        if self._writing is not None:
            await self._writing
        if self.writer.is_ready:  # otherwise, do not wait for the store
            await self._save_last_snapshot()
        if self._snapshotting is not None:
            self._snapshotting.cancel()
        await self.writer.stop()
        await self._lifecycle.wait()

    async def _save_last_snapshot(self) -> None:
        """Save a snapshot, unless the newest is up to date or time is short; the log has everything anyway."""
        try:
            async with asyncio.timeout(_LAST_SNAPSHOT_SECONDS), self._snapshot_lock:
                if self.follower.seq > self.follower.snapshot_seq:
                    await self._save_snapshot()
                with suppress(StoreDownError):
                    await self._snapshot_thread.call(self._snapshot_store.close)
        except TimeoutError:
            self._pace.give_up()
            _log.warning(
                "the last snapshot did not finish within %g s; the next start may have to read more of the log",
                _LAST_SNAPSHOT_SECONDS,
            )

    # -- snapshots and checksums -----------------------------------------------------------------------

    async def _save_snapshots(self) -> None:
        """Save a snapshot whenever one is due."""
        while True:
            await self.follower.snapshot_due.wait()
            self.follower.snapshot_due.clear()
            try:
                async with self._snapshot_lock:
                    await self._save_snapshot_if_due()
            except Exception as error:
                _log.error("a snapshot could not be saved: %s", traceback_without_message(error))

    async def _save_snapshot_if_due(self) -> None:
        with suppress(StoreDownError):  # logged by the writer; the next entry brings another attempt
            # Another worker may have saved a snapshot.
            store, call = self._snapshot_store, self._snapshot_thread.call
            saved = await call(store.last_snapshot_seq)
            if saved > self.follower.snapshot_seq:
                seq, applied = self.follower.seq, self.follower.applied
                since = await call(partial(store.count, saved, seq))
                self.follower.note_snapshot(saved, applied - since)
            if self.follower.is_snapshot_due:
                await self._save_snapshot()

    async def _save_snapshot(self) -> None:
        with suppress(StoreDownError):  # logged by the writer; the log alone is enough to start from
            applied, change_seq = self.follower.applied, self.follower.change_seq
            seq, serialise = self.follower.snapshot()
            save = self._snapshot_store.save_snapshot
            await self._snapshot_thread.call(serialise, lambda parts: save(seq, parts, change_seq, self._pace))
            self.follower.note_snapshot(seq, applied)

    async def checksum(self) -> tuple[int, str]:
        """Return a checksum of the state, at most a second old, and the entry to which it belongs."""
        async with self._checksum_lock:
            computed_at, seq, change_seq, checksum = self._checksum
            reached = self.follower.seq, self.follower.change_seq
            if (seq, change_seq) != reached and time.monotonic() - computed_at >= _CHECKSUM_SECONDS:
                seq, compute = self.follower.seq, self.recommender.checksum()
                checksum = await asyncio.to_thread(compute)
                self._checksum = (time.monotonic(), *reached, checksum)
            return seq, checksum
