"""Connections by address: no address can use up those of others, and a few are reserved for health checks."""

from __future__ import annotations

from collections import Counter

from fairbandits.service.config import Limits

# The number of connections beyond the limit that health checks may use, in total and from one address.
_RESERVE, _ADDRESS_RESERVE = 50, 4
# One in this many of an address's connections may wait long for the rest of a request.
_SLOW_SHARE = 5


class ConnectionCounts:
    """The numbers of open connections, by address.

    Parameters
    ----------
    limits : Limits
        The limits.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._open: Counter[str] = Counter()
        self._slow: Counter[str] = Counter()
        self._reserved: Counter[str] = Counter()

    def open(self, address: str) -> bool:
        """Count a connection; return whether the address may have it."""
        self._open[address] += 1
        return self._open[address] <= self.limits.address_connections

    def close(self, address: str) -> None:
        """Forget a connection."""
        _decrease(self._open, address)

    def reserve(self, address: str) -> bool:
        """Count a connection beyond the limits; return whether it may be used for a health check."""
        if self._reserved.total() >= _RESERVE or self._reserved[address] >= _ADDRESS_RESERVE:
            return False
        self._reserved[address] += 1
        return True

    def release(self, address: str) -> None:
        """Forget a connection that was reserved."""
        _decrease(self._reserved, address)

    def mark_slow(self, address: str) -> bool:
        """Count a connection on which a request arrives slowly; return whether the address may have it."""
        self._slow[address] += 1
        return self._slow[address] <= max(1, self.limits.address_connections // _SLOW_SHARE)

    def unmark_slow(self, address: str) -> None:
        """Stop counting a request as slow."""
        _decrease(self._slow, address)


def _decrease(counts: Counter[str], address: str) -> None:
    counts[address] -= 1
    if counts[address] <= 0:
        del counts[address]  # addresses come and go
