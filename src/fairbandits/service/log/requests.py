"""Requests to append to the log, and their outcomes: a reply, or a refusal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from fairbandits.service.log.events import Event


class RefusalReason(StrEnum):
    """Reason for which a request is refused."""

    INVALID = "invalid"
    EMPTY_CATALOGUE = "empty catalogue"
    CATALOGUE_FULL = "catalogue full"
    ARM_EXISTS = "arm exists"
    UNKNOWN_ARM = "unknown arm"
    UNKNOWN_DECISION = "unknown decision"
    REWARD_DIFFERS = "reward differs"
    REWARD_TOO_LATE = "reward too late"
    CONFLICT = "conflict"
    IDEMPOTENCY_KEY_REUSED = "idempotency key reused"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that was refused; nothing was appended for it.

    Attributes
    ----------
    reason : RefusalReason
        The reason, for programs.
    detail : str
        The reason, for people.
    item : int
        The index of the refused item, in a request that has several.
    """

    reason: RefusalReason
    detail: str
    item: int = 0


#: The reply of an accepted request, as JSON; or its refusal.
Outcome = bytes | Refusal


class IdempotencyKey(NamedTuple):
    """The key under which the reply of a request is stored, and the digest of the request."""

    key: str
    digest: str


@dataclass(frozen=True, slots=True)
class Settlement:
    """Decision on a request: the events to append, and the outcome once they are on disk."""

    events: Sequence[Event]
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRequest:
    """A request that the writer accepts.

    Attributes
    ----------
    idempotency : IdempotencyKey, optional
        A request that is repeated with the same key has one effect and one reply.
    """

    idempotency: IdempotencyKey | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendRequest(LogRequest):
    """A request to append events.

    Attributes
    ----------
    depends_on : sequence of str
        The keys of the events that the request must see to be settled.
    """

    depends_on: Sequence[str] = ()

    def settle(self, found: Mapping[str, Any]) -> Settlement:
        """Decide which events are appended, given the events of `depends_on` that exist.

        The appender calls this while it holds the lock of the log, so `found` cannot change before the commit.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendEvents(AppendRequest):
    """A request to append events, unless one of `depends_on` exists.

    Attributes
    ----------
    events : sequence of Event
        The events.
    reply : bytes
        The reply, once they are on disk.
    """

    events: Sequence[Event]
    reply: bytes = b""

    def settle(self, found: Mapping[str, Any]) -> Settlement:
        """Append the events, or none of them."""
        if found:
            return Settlement((), Refusal(RefusalReason.CONFLICT, "the log has changed meanwhile"))
        return Settlement(self.events, self.reply)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRequest(AppendRequest):
    """A request that is refused, unless the reply to the same request is stored under its idempotency key.

    Attributes
    ----------
    refusal : Refusal
        The refusal.
    """

    refusal: Refusal

    def settle(self, found: Mapping[str, Any]) -> Settlement:
        """Refuse the request."""
        return Settlement((), self.refusal)
