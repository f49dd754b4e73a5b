"""Errors of the log."""

from __future__ import annotations


class StoreDownError(RuntimeError):
    """The database cannot be reached or written to."""


class KeyTakenError(StoreDownError):
    """Another writer has appended an event or stored a reply with the same key; nothing was appended."""


class StoreReplacedError(StoreDownError):
    """Another database has taken the place of the open one."""


class LogLostError(RuntimeError):
    """The log ends before the last entry that was read: an older copy of the database was put in its place."""


class LogUnavailableError(RuntimeError):
    """A request cannot be written at the moment; it may be sent again later."""


class LogBrokenError(RuntimeError):
    """The log cannot be applied to the state, so no request can be served until the cause is removed."""


class LogDamagedError(ValueError):
    """Some content of the store is not as it was written."""


class NoLogError(ValueError):
    """The store holds no log."""
