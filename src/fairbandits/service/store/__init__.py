"""Where the log is kept: SQLite or PostgreSQL, through SQLAlchemy."""

from fairbandits.service.store.append import Answer, Settled, Write, append
from fairbandits.service.store.store import Store, StoreDownError

__all__ = ["Answer", "Settled", "Store", "StoreDownError", "Write", "append"]
