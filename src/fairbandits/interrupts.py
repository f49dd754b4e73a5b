"""Keyboard interrupts that wait until a block of code is done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Defer Ctrl-C to the end of the block; Python interrupts only the main thread.

    Otherwise, an interrupt that arrives while a kernel runs would be raised right after the kernel, before its
    effects are recorded.
    """
    handle = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handle):
        yield
        return
    waiting: list[tuple[Any, ...]] = []
    signal.signal(signal.SIGINT, lambda *signals: waiting.append(signals))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handle)
        if waiting:
            handle(*waiting[0])
