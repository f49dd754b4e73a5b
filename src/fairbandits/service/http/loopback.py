"""Detection of requests from this machine, and of requests that only appear to be."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from functools import lru_cache

from starlette.types import Scope

_LOCAL_NAMES = re.compile(rb"(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")
# Headers that proxies add.
_FORWARDING = re.compile(
    rb"forwarded|via|cdn-loop|x-(forwarded|original|envoy)-.*|x-forwarded|"
    rb"x-(real|client|cluster-client|originating)-ip|true-client-ip|cf-connecting-ip"
)


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

    The name in the Host header matters because another site can make one of its own names point to this machine.
    """
    client, server = scope.get("client"), scope.get("server")
    return client is not None and server is not None and _is_local(client[0], server[0], host or b"")


@lru_cache(100)
def _is_local(client: str, server: str, host: bytes) -> bool:
    return is_loopback(client) and is_loopback(server) and _LOCAL_NAMES.fullmatch(host) is not None


def is_on_socket(scope: Scope) -> bool:
    """Return whether a request came through a local socket, to which only permitted processes can connect."""
    server = scope.get("server")
    return server is not None and server[1] is None


def is_forwarded(scope: Scope, headers: Mapping[bytes, bytes]) -> bool:
    """Return whether a request shows signs of a proxy: headers that proxies add, or HTTP/1.0.

    Many proxies use HTTP/1.0 for the servers behind them, and add no header, unless they are configured otherwise.

    Examples
    --------
    >>> is_forwarded({"http_version": "1.1"}, {b"x-forwarded-for": b"192.0.2.7"})
    True
    >>> is_forwarded({"http_version": "1.1"}, {b"host": b"localhost"})
    False
    """
    return scope.get("http_version") == "1.0" or any(map(_FORWARDING.fullmatch, headers))
