"""Background tasks of a running service: following changes of the state, pruning, and dropping old replies."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

from fairbandits.service.config import Config
from fairbandits.service.lifecycle.replay import catch_up, new_follower, replay
from fairbandits.service.lifecycle.retention import prune, prune_period
from fairbandits.service.log.errors import StoreDownError
from fairbandits.service.log.follower import Follower
from fairbandits.service.log.store import Store
from fairbandits.service.tracebacks import traceback_without_message

_log = logging.getLogger(__name__)

# The number of entries by which a new state may lag behind when it takes over; they are applied all at once.
_CLOSE = 200
# The number of seconds before a failed attempt is repeated.
_RETRY_SECONDS = 1.0
_POLL_SECONDS = 0.05
# The share of its time during which a replay rests, so that decisions do not wait for it.
_REST = 0.9
# The number of seconds for which replies are stored for repeated requests, and between two searches for older
# replies.
_REPLY_SECONDS = 7 * 86400.0
_REPLY_PERIOD = 3600.0


class LifecycleTasks:
    """The tasks of one worker.

    Parameters
    ----------
    config : Config
        The configuration.
    follower : Follower
        The state of the worker.
    """

    def __init__(self, config: Config, follower: Follower) -> None:
        self._config = config
        self._follower = follower
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = threading.Event()

    def start(self) -> None:
        """Start the tasks."""
        self._tasks.append(asyncio.create_task(self._follow_changes()))
        self._repeat(self._drop_replies, _REPLY_PERIOD, "old replies could not be dropped")
        if self._config.retention.seconds is not None:
            self._repeat(self._prune, prune_period(self._config.retention.seconds), "the log could not be pruned")

    def stop(self) -> None:
        """Stop soon: work that has begun in a thread continues until its next pause."""
        self._stopping.set()
        for task in self._tasks:
            task.cancel()

    async def wait(self) -> None:
        """Wait for the end of the tasks and of their threads."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _step(self, _: int) -> None:
        """Raise `_StoppingError` between two pieces of a replay if the service is stopping."""
        if self._stopping.is_set():
            raise _StoppingError

    def _repeat(self, function: Callable[[], None], seconds: float, failure: str) -> None:
        """Call a function in a thread, immediately and then regularly; log a message if it fails."""

        async def repeat() -> None:
            while True:
                try:
                    await _in_thread(function)
                except StoreDownError as error:
                    _log.warning("%s, and will be tried again later: %s", failure, error)
                except Exception as error:
                    _log.error("%s: %s", failure, traceback_without_message(error))
                await asyncio.sleep(seconds)

        self._tasks.append(asyncio.create_task(repeat()))

    # -- changes of the state --------------------------------------------------------------------------

    async def _follow_changes(self) -> None:
        """Load the new state whenever an entry announces one; until then, the old state makes the decisions."""
        while True:
            await self._follower.rebuild_due.wait()
            self._follower.rebuild_due.clear()
            try:
                await self._take_new_state()
            except Exception as error:
                # The old state continues to make decisions, but its snapshots are no longer saved.
                _log.error("the new state could not be loaded: %s", traceback_without_message(error))
                await asyncio.sleep(_RETRY_SECONDS)
                self._follower.rebuild_due.set()

    async def _take_new_state(self) -> None:
        store = Store(self._config.store.url)
        try:
            new = await _in_thread(self._load, store)
            while new.seq > self._follower.seq:  # another worker is ahead, and has saved a snapshot
                await asyncio.sleep(_POLL_SECONDS)
            while self._follower.seq - new.seq > _CLOSE and await self._catches_up(store, new):
                pass
            with self._follower.recording() as recorded:
                await _in_thread(self._catch_up, store, new)
                new.apply([entry for entry in recorded if entry.seq > new.seq])
                self._follower.take_over(new)
        finally:
            await asyncio.to_thread(store.close)
        _log.info("the new state took effect at entry %d", self._follower.seq)

    async def _catches_up(self, store: Store, new: Follower) -> bool:
        """Apply the entries that the old state has applied in the meantime; return whether there were any."""
        before = new.seq
        await _in_thread(self._catch_up, store, new)
        return new.seq > before

    def _catch_up(self, store: Store, new: Follower) -> None:
        catch_up(store, new, upto=self._follower.seq, step=self._step)

    def _load(self, store: Store) -> Follower:
        change = store.read_change()
        config = change.served_config(self._config)
        new = new_follower(config)
        new.change_seq = change.seq
        replay(store, new, upto=self._follower.seq, step=self._step)
        return new

    # -- retention -------------------------------------------------------------------------------------

    def _drop_replies(self) -> None:
        age = min(_REPLY_SECONDS, self._config.retention.seconds or math.inf)
        # A stopping server does not wait for a database that does not answer.
        with closing(Store(self._config.store.url, self._config.store.timeout_seconds)) as store:
            step = _Resting(self._stopping)
            while store.drop_replies(time.time() - age):
                step(0)

    def _prune(self) -> None:
        store = Store(self._config.store.url)
        try:
            pruned = prune(store, self._config, time.time(), step=_Resting(self._stopping))
        finally:
            store.close()
        if pruned is not None:
            _log.info("the content of %d decisions was pruned", pruned.decisions)


class _StoppingError(Exception):
    """The service is stopping before its thread has finished."""


class _Resting:
    """Rests after every piece of work; raises `_StoppingError` once the service is stopping."""

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping = stopping
        self._since = time.monotonic()

    def __call__(self, _: int) -> None:
        worked = time.monotonic() - self._since
        if self._stopping.wait(worked * _REST / (1.0 - _REST)):
            raise _StoppingError
        self._since = time.monotonic()


async def _in_thread(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function in a thread. A cancelled caller waits until it ends, because the function uses a store."""
    call = asyncio.create_task(asyncio.to_thread(function, *args))
    try:
        await asyncio.wait([call])
    except asyncio.CancelledError:
        await asyncio.wait([call])
        call.exception()  # retrieved so that it is not reported, because nobody needs it any longer
        raise
    return call.result()
