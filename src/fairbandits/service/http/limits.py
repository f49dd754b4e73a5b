"""How much a service takes: a part of its configuration."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fairbandits.service.features import ConfigPart

_Seconds = Annotated[float, Field(gt=0, le=3600)]
_Rate = Annotated[float, Field(gt=0, le=1e9)]


class Limits(ConfigPart):
    """How much a service takes before it refuses.

    Attributes
    ----------
    body : int
        Bytes of a request's body.
    batch : int
        Decisions, rewards or arms in one request.
    arms : int
        Arms in the catalogue.
    rate, burst : float
        Requests a second of one key, and at once after a rest. A body counts for as many as it has KiB.
    guest_rate, guest_burst : float
        The same, of one address from which requests come without a key that is known.
    head_seconds, request_seconds : float
        How long the head of a request may take to arrive, and all of it.
    connections : int
        Connections at the same time.
    """

    body: Annotated[int, Field(ge=1024, le=1 << 30)] = 1 << 20
    batch: Annotated[int, Field(ge=1, le=100_000)] = 1000
    arms: Annotated[int, Field(ge=1, le=10_000_000)] = 100_000
    rate: _Rate = 5000.0
    burst: Annotated[float, Field(ge=1, le=1e9)] = 10_000.0
    guest_rate: _Rate = 10.0
    guest_burst: Annotated[float, Field(ge=1, le=1e9)] = 100.0
    head_seconds: _Seconds = 10.0
    request_seconds: _Seconds = 30.0
    connections: Annotated[int, Field(ge=1, le=1_000_000)] = 1000
