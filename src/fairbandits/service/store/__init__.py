"""Where the log is kept: SQLite or PostgreSQL, through SQLAlchemy."""

from fairbandits.service.store.append import Answer, Settled, Write, append
from fairbandits.service.store.opened import opened
from fairbandits.service.store.store import LogLostError, Store, StoreDownError

__all__ = ["Answer", "LogLostError", "Settled", "Store", "StoreDownError", "Write", "append", "opened"]
