"""The recommender that a log starts with, for the case that its file is gone."""

from __future__ import annotations

from fairbandits.service.config import Config
from fairbandits.service.log.errors import StoreDownError
from fairbandits.service.log.store import Store
from fairbandits.service.start import StartState


def with_stored_start(config: Config) -> Config:
    """Return the configuration with the recommender from its store, if the file that it names does not exist."""
    if config.recommender is None or config.recommender.is_file():
        return config
    store = Store(config.store.url)
    try:
        content = store.read_start() if store.exists() else None
    except StoreDownError as error:
        raise ValueError(f"the store cannot be used: {error}") from None
    finally:
        store.close()
    if content is None:
        raise ValueError(f"{config.recommender}: no such file; `fairbandits fit` writes one")
    return config.starting_from(StartState(str(config.recommender), content))
