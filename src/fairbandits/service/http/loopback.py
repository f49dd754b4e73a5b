"""Requests from this machine."""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache

from starlette.types import Scope

_LOCAL_NAMES = re.compile(rb"(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine only.

    Examples
    --------
    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "::", "example.org")]
    [True, True, True, False, False, False]
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_local(scope: Scope, host: bytes | None) -> bool:
    """Return whether a request comes from this machine and names it as such.

    The name in the Host header matters because another site can let a name of its own point to this machine.
    """
    client, server = scope.get("client"), scope.get("server")
    return client is not None and server is not None and _is_local(client[0], server[0], host or b"")


@lru_cache(100)
def _is_local(client: str, server: str, host: bytes) -> bool:
    return is_loopback(client) and is_loopback(server) and _LOCAL_NAMES.fullmatch(host) is not None
