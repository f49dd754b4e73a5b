"""The live feed: the current findings, computed once for all visitors, in a separate thread."""

from __future__ import annotations

import asyncio
import math
import signal
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from pydantic_core import to_json

from fairbandits.service.config import Config
from fairbandits.service.engine import Engine
from fairbandits.service.shared_result import SharedResult
from fairbandits.service.state.findings import Findings
from fairbandits.service.state.monitor import Monitor

# The minimum number of seconds between two events of a stream, and the number between two heartbeats while nothing
# changes.
_INTERVAL = 1.0
_HEARTBEAT = 5.0
_MAX_STREAMS = 100
#: The number of seconds between two readers, because sending findings takes time that decisions need.
READ_SECONDS = 0.02
# The maximum number of seconds for which a reader waits.
_MAX_WAIT = 2.0


class TooManyReadersError(RuntimeError):
    """The worker is already serving as many readers or streams as it can."""


@dataclass(frozen=True)
class FairnessView:
    """The findings at one moment.

    Attributes
    ----------
    seq : int
        The last log entry that the findings include.
    findings : Findings
        The findings.
    body : bytes
        The findings as JSON.
    """

    seq: int
    findings: Findings
    body: bytes


class LiveFeed:
    """The current findings, and streams of their changes.

    Parameters
    ----------
    engine : Engine
        The engine whose monitor is watched.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._view = SharedResult(self._compute, lambda view: view.seq == engine.follower.seq)
        self._next_turn = 0.0
        self._stopping = asyncio.Event()
        self.streams = 0

    async def current(self) -> FairnessView:
        """Return the findings as of the last applied entry, to a limited number of readers per second."""
        now = time.monotonic()
        turn = max(now, self._next_turn)
        if turn - now > _MAX_WAIT:
            raise TooManyReadersError("too many readers are waiting; ask less often, or use GET /v1/stream")
        self._next_turn = turn + READ_SECONDS
        if turn > now:
            await asyncio.sleep(turn - now)
        return await self._view.get()

    async def last(self) -> FairnessView:
        """Return the last computed findings, even if something has changed since."""
        return await self._view.get(max_age=math.inf)

    async def _compute(self) -> FairnessView:
        config, monitor = self._engine.config, self._engine.monitor.frozen()
        return await asyncio.to_thread(_compute_view, monitor, config)

    def stream(self) -> AsyncIterator[bytes]:
        """Return the findings, now and after every change, as server-sent events until the server stops."""
        if self.streams >= _MAX_STREAMS:
            raise TooManyReadersError(f"{_MAX_STREAMS} streams are open already; use GET /v1/fairness instead")
        return self._events()

    async def _events(self) -> AsyncIterator[bytes]:
        self.streams += 1
        try:
            seen, sent_at = -1, time.monotonic()
            while not self._stopping.is_set():
                view = await self._view.get(max_age=_INTERVAL)
                if view.seq != seen:
                    seen, sent_at = view.seq, time.monotonic()
                    yield _event(view)
                elif time.monotonic() - sent_at >= _HEARTBEAT:
                    sent_at = time.monotonic()
                    yield b": still here\n\n"
                await self._pause()
        finally:
            self.streams -= 1

    async def _pause(self) -> None:
        try:
            await asyncio.wait_for(self._stopping.wait(), _INTERVAL)
        except TimeoutError:
            return

    def end_with_process(self) -> None:
        """End all streams when the process is signalled to stop, because the server waits for open responses."""
        if threading.current_thread() is not threading.main_thread():
            return  # only the main thread can handle signals
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            previous = signal.getsignal(number)

            def handle(given: int, frame: FrameType | None, previous: Any = previous) -> None:
                loop.call_soon_threadsafe(self._stopping.set)
                if callable(previous):
                    previous(given, frame)

            signal.signal(number, handle)


def _compute_view(monitor: Monitor, config: Config) -> FairnessView:
    findings = Findings(monitor, config)
    return FairnessView(monitor.seq, findings, to_json(findings.to_dict()))


def _event(view: FairnessView) -> bytes:
    # The JSON has no line breaks, so it fits into one `data` line.
    return b"id: %d\ndata: %b\n\n" % (view.seq, view.body)
