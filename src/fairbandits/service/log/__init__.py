"""Where the log is kept: SQLite or PostgreSQL, through SQLAlchemy."""

from fairbandits.service.log.appender import Answer, Settled, Write, append
from fairbandits.service.log.opening import opened
from fairbandits.service.log.store import LogLostError, Store, StoreDownError

__all__ = ["Answer", "LogLostError", "Settled", "Store", "StoreDownError", "Write", "append", "opened"]
