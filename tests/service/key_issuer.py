"""Keys for tests, created and revoked while a server is running."""

import time

from fairbandits.service.auth.key_store import revoke_key, save_key
from fairbandits.service.auth.keys import make_key
from fairbandits.service.log.store import open_store


class KeyIssuer:
    """Creates and revokes keys in the store of a configuration."""

    def __init__(self, config):
        self._config = config

    def make(self, *scopes):
        """Create a key; return its id and its token."""
        key, token = make_key("test", scopes, time.time())
        with open_store(self._config) as store:
            save_key(store, key)
        return key.id, token

    def revoke(self, key_id):
        """Revoke a key."""
        with open_store(self._config) as store:
            assert revoke_key(store, key_id)


def bearer(token):
    """The header that carries a token."""
    return {"Authorization": f"Bearer {token}"}
