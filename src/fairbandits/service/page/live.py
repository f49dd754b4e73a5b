"""What is found, kept for all who look: computed once however many they are, and not while decisions wait."""

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
from fairbandits.service.http.problems import UnavailableError
from fairbandits.service.state.findings import Findings
from fairbandits.service.state.monitor import Monitor

# Whoever watches hears of changes at most so often, in seconds; and of nothing new so often.
_PACE = 1.0
_HEARTBEAT = 5.0
# Where findings take long, they are computed less often: this part of a processor at most.
_SHARE = 0.05
_MOST_STREAMS = 100


@dataclass(frozen=True)
class View:
    """What is found at one moment.

    Attributes
    ----------
    seq : int
        The last entry of the log that is in it.
    findings : Findings
        What it is.
    body : bytes
        The same, written as JSON.
    """

    seq: int
    findings: Findings
    body: bytes


class Live:
    """What is found now, and as it changes.

    Parameters
    ----------
    engine : Engine
        Whose log is watched.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._view: View | None = None
        self._next = 0.0
        self._computing = asyncio.Lock()
        self._stopping = asyncio.Event()
        self.streams = 0

    async def now(self) -> View:
        """Give what is found as of the last entry that was applied."""
        async with self._computing:
            if self._view is None or self._view.seq != self._engine.follower.seq:
                self._view = await self._compute()
            return self._view

    async def _at_pace(self) -> View:
        """Give what was found not long ago."""
        if self._view is None or time.monotonic() >= self._next:
            return await self.now()
        return self._view

    async def _compute(self) -> View:
        began = time.monotonic()
        config, monitor = self._engine.config, self._engine.monitor.frozen()
        view = await asyncio.to_thread(_view, monitor, config)
        took = time.monotonic() - began
        self._next = began + max(_PACE, took / _SHARE)
        return view

    def watch(self) -> AsyncIterator[bytes]:
        """Give what is found now and whenever it has changed, as server-sent events, until the server stops."""
        if self.streams >= _MOST_STREAMS:
            raise UnavailableError(f"{_MOST_STREAMS} are watching already; ask GET /v1/fairness instead", 30)
        return self._events()

    async def _events(self) -> AsyncIterator[bytes]:
        self.streams += 1
        try:
            seen, said = -1, time.monotonic()
            while not self._stopping.is_set():
                view = await self._at_pace()
                if view.seq != seen:
                    seen, said = view.seq, time.monotonic()
                    yield _event(view)
                elif time.monotonic() - said >= _HEARTBEAT:
                    said = time.monotonic()
                    yield b": still here\n\n"
                await self._pause()
        finally:
            self.streams -= 1

    async def _pause(self) -> None:
        try:
            await asyncio.wait_for(self._stopping.wait(), _PACE)
        except TimeoutError:
            return

    def end_with_process(self) -> None:
        """End all streams when the process is asked to end: a server waits for open answers before it stops."""
        if threading.current_thread() is not threading.main_thread():
            return  # signals are somebody else's
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            before = signal.getsignal(number)

            def handle(given: int, frame: FrameType | None, before: Any = before) -> None:
                loop.call_soon_threadsafe(self._stopping.set)
                if callable(before):
                    before(given, frame)

            signal.signal(number, handle)


def _view(monitor: Monitor, config: Config) -> View:
    findings = Findings(monitor, config)
    return View(monitor.seq, findings, to_json(findings.to_dict()))


def _event(view: View) -> bytes:
    # JSON as it is written here has no line breaks.
    return b"id: %d\ndata: %b\n\n" % (view.seq, view.body)
