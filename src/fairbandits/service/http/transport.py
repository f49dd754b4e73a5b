"""A transport that sends the head and the body of a response together."""

from __future__ import annotations

import asyncio
from typing import Any


class CoalescingTransport(asyncio.Transport):
    """Sends everything that is written in one turn of the event loop as one write.

    Uvicorn writes the head and the body of a response one after the other, which takes two system calls and two
    packets, and makes the client wait for the second packet.

    Parameters
    ----------
    transport : asyncio.Transport
        The transport of the connection.
    loop : asyncio.AbstractEventLoop
        The event loop of the connection.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport = transport
        self._loop = loop
        self._written: list[bytes] = []

    def write(self, data: Any) -> None:
        """Send data at the end of this turn."""
        if not self._written:
            self._loop.call_soon(self._flush)
        self._written.append(data)

    def _flush(self) -> None:
        if self._written:
            self._transport.write(b"".join(self._written))
            self._written.clear()

    def close(self) -> None:
        """Close the connection once everything is sent."""
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        """Close the connection at once."""
        self._transport.abort()

    def is_closing(self) -> bool:
        """Return whether the connection is being closed."""
        return self._transport.is_closing()

    def pause_reading(self) -> None:
        """Stop reading."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Resume reading."""
        self._transport.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return information about the connection."""
        return self._transport.get_extra_info(name, default)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Replace the protocol of the connection."""
        self._transport.set_protocol(protocol)
