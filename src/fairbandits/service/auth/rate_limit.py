"""Rate limits, with one token bucket for each client."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from time import monotonic

_MAX_CLIENTS = 20_000


class RateLimiter:
    """Token buckets by client, in bounded memory.

    Only the time at which each bucket will be full again is stored. Clients with a full bucket are dropped.

    Parameters
    ----------
    rate : float
        The number of requests per second.
    burst : float
        The number of requests that are allowed at once, after a pause.
    clock : callable, optional
        A function that returns the time in seconds.

    Examples
    --------
    >>> now = [0.0]
    >>> limiter = RateLimiter(rate=2, burst=3, clock=lambda: now[0])
    >>> [limiter.take("shop") for _ in range(4)]
    [0.0, 0.0, 0.0, 0.5]
    >>> now[0] = 0.5
    >>> limiter.take("shop")
    0.0
    """

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = monotonic) -> None:
        self._interval = 1.0 / rate
        # A request is allowed while its bucket is at most this many seconds from being full.
        self._slack = (burst - 1) * self._interval
        self._clock = clock
        self._full_at: dict[str, float] = {}

    def take(self, client: str, cost: int = 1) -> float:
        """Spend tokens; return 0.0, or the seconds to wait if the bucket is empty.

        A bucket that is not empty may go into debt.
        """
        now = self._clock()
        full_at = max(now, self._full_at.get(client, 0.0))
        wait = full_at - now - self._slack
        if wait > 1e-9 * self._interval:  # less than a billionth of a token is a rounding error
            return wait
        if len(self._full_at) >= _MAX_CLIENTS:
            self._drop_full(now)
        self._full_at[client] = full_at + cost * self._interval
        return 0.0

    def charge(self, client: str, cost: int) -> None:
        """Spend tokens, even from an empty bucket, for work whose amount was not known in advance."""
        self._full_at[client] = max(self._clock(), self._full_at.get(client, 0.0)) + cost * self._interval

    def _drop_full(self, now: float) -> None:
        limited = {client: full_at for client, full_at in self._full_at.items() if full_at > now}
        # This many simultaneous clients indicate an attack from many addresses, and bounded memory takes priority.
        self._full_at = limited if len(limited) < _MAX_CLIENTS else {}


def client_address(client: tuple[str, int] | None) -> str:
    """Return the address by which a client is limited; for IPv6, the /64 network, which belongs to one subscriber.

    Examples
    --------
    >>> client_address(("10.0.0.7", 5000)), client_address(("2001:db8::17", 5000))
    ('10.0.0.7', '2001:db8::/64')
    """
    host = client[0] if client else ""
    if ":" not in host:
        return host
    try:
        return str(ipaddress.IPv6Network((host.partition("%")[0], 64), strict=False))
    except ValueError:
        return host
