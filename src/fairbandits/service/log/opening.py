"""The store of a service, opened by a command beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fairbandits.service.config import Config
from fairbandits.service.log.store import Store, StoreDownError


@contextmanager
def opened(config: Config) -> Iterator[Store]:
    """Open the store of a service, which need not run; where it cannot be used, a ValueError says why."""
    store = Store(config.store.url)
    try:
        store.open(config.meaning())
        yield store
    except StoreDownError as error:
        raise ValueError(f"the store cannot be used: {error}") from None
    finally:
        store.close()
