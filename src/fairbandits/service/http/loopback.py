"""What is on this machine alone."""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache

from starlette.types import Scope

_NAMES = re.compile(rb"(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")


def is_loopback(host: str) -> bool:
    """Say whether an address is of this machine alone.

    Examples
    --------
    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "::", "example.org")]
    [True, True, True, False, False, False]
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_local(scope: Scope, name: bytes | None) -> bool:
    """Say whether a request stays on this machine, and calls it by its name.

    A page of another site can have a name of its own point here, and then call us by that.
    """
    client, server = scope.get("client"), scope.get("server")
    return client is not None and server is not None and _is_local(client[0], server[0], name or b"")


@lru_cache(100)
def _is_local(client: str, server: str, name: bytes) -> bool:
    return is_loopback(client) and is_loopback(server) and _NAMES.fullmatch(name) is not None
