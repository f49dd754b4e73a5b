"""How often somebody may ask: token buckets, one number each."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from time import monotonic

_MOST = 20_000


class Rates:
    """A token bucket for everybody who comes, in bounded memory.

    Of each is kept when their bucket will be full again; who has a full one is forgotten.

    Parameters
    ----------
    rate : float
        How many requests a second.
    burst : float
        How many at once, after a rest.
    clock : callable, optional
        Gives the time in seconds.

    Examples
    --------
    >>> now = [0.0]
    >>> rates = Rates(rate=2, burst=3, clock=lambda: now[0])
    >>> [rates.take("shop") for _ in range(4)]
    [0.0, 0.0, 0.0, 0.5]
    >>> now[0] = 0.5
    >>> rates.take("shop")
    0.0
    """

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = monotonic) -> None:
        self._each = 1.0 / rate
        # A request is let in where the bucket is short of at most this.
        self._slack = (burst - 1) * self._each
        self._clock = clock
        self._full: dict[str, float] = {}

    def take(self, who: str, cost: int = 1) -> float:
        """Take tokens; give 0, or the seconds to wait where there is none.

        Where there is one but not as many, they are owed.
        """
        now = self._clock()
        full = max(now, self._full.get(who, 0.0))
        # A billionth of a token is rounding.
        wait = full - now - self._slack
        if wait > 1e-9 * self._each:
            return wait
        if len(self._full) >= _MOST:
            self._forget(now)
        self._full[who] = full + cost * self._each
        return 0.0

    def _forget(self, now: float) -> None:
        kept = {who: full for who, full in self._full.items() if full > now}
        # Where so many are still waiting it is an attack from many addresses, and memory comes first.
        self._full = kept if len(kept) < _MOST else {}


def address(client: tuple[str, int] | None) -> str:
    """Give the address that stands for a client; somebody with one address of IPv6 has a whole network of them.

    Examples
    --------
    >>> address(("10.0.0.7", 5000)), address(("2001:db8::17", 5000))
    ('10.0.0.7', '2001:db8::/64')
    """
    host = client[0] if client else ""
    if ":" not in host:
        return host
    try:
        return str(ipaddress.IPv6Network((host.partition("%")[0], 64), strict=False))
    except ValueError:
        return host
