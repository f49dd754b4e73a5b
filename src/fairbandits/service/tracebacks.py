"""Tracebacks that are safe to log: without the error's message, which may contain a user's values."""

from __future__ import annotations

import traceback


def traceback_without_message(error: BaseException) -> str:
    """Return the type of an error and the place where it was raised, but not its message."""
    return f"{type(error).__name__}\n{''.join(traceback.format_tb(error.__traceback__))}"
