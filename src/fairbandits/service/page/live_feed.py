"""The live feed: the current findings, computed once for all visitors, in a thread of their own."""

from __future__ import annotations

import asyncio
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

# Seconds between two events of a stream at least, and between two signs of life while nothing changes.
_INTERVAL = 1.0
_HEARTBEAT = 5.0
_MAX_STREAMS = 100


class TooManyStreamsError(RuntimeError):
    """The worker serves as many streams as it can."""


@dataclass(frozen=True)
class FairnessView:
    """The findings at one moment.

    Attributes
    ----------
    seq : int
        The last log entry that they include.
    findings : Findings
        The findings.
    body : bytes
        The same as JSON.
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
        self._stopping = asyncio.Event()
        self.streams = 0

    async def current(self, max_age: float = 0.0) -> FairnessView:
        """Return the findings as of the last applied entry, or those of a few seconds ago."""
        return await self._view.get(max_age)

    async def _compute(self) -> FairnessView:
        config, monitor = self._engine.config, self._engine.monitor.frozen()
        return await asyncio.to_thread(_compute_view, monitor, config)

    def stream(self) -> AsyncIterator[bytes]:
        """Return the findings, now and after every change, as server-sent events until the server stops."""
        if self.streams >= _MAX_STREAMS:
            raise TooManyStreamsError(f"{_MAX_STREAMS} streams are open already; use GET /v1/fairness instead")
        return self._events()

    async def _events(self) -> AsyncIterator[bytes]:
        self.streams += 1
        try:
            seen, sent_at = -1, time.monotonic()
            while not self._stopping.is_set():
                view = await self.current(_INTERVAL)
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
        """End all streams when the process receives a signal to stop: the server waits for open responses."""
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
    # The JSON has no line breaks, so it is one `data` line.
    return b"id: %d\ndata: %b\n\n" % (view.seq, view.body)
