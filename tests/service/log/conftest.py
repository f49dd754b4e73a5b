"""A store, of either kind."""

import pytest

from fairbandits.service.log.store import Store


@pytest.fixture
def store(store_url):
    store = Store(store_url)
    store.open("columns")
    yield store
    store.close()
