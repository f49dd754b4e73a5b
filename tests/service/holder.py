"""Keys for tests, made and revoked beside a server that runs."""

import time

from fairbandits.service.auth import key_store
from fairbandits.service.auth.keys import make_key
from fairbandits.service.log.opening import opened


class Holder:
    """The keys in the store of a configuration."""

    def __init__(self, config):
        self._config = config

    def make(self, *scopes):
        """Make a key; give its id, and what its owner sends."""
        key, token = make_key("test", scopes, time.time())
        with opened(self._config) as store:
            key_store.keep_key(store, key)
        return key.id, token

    def revoke(self, identity):
        """Revoke a key."""
        with opened(self._config) as store:
            assert key_store.revoke_key(store, identity)


def bearer(token):
    """Give the header that shows a key."""
    return {"Authorization": f"Bearer {token}"}
