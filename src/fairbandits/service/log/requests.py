"""Requests to the log, and their outcomes: a reply or a refusal."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class RefusalReason(StrEnum):
    """The reason why a request is refused."""

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
    TOO_COSTLY = "too costly"


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
        The index of the refused item, in a request with several items.
    """

    reason: RefusalReason
    detail: str
    item: int = 0


#: The reply to an accepted request, as JSON, or the refusal of a request.
Outcome = bytes | Refusal


class IdempotencyKey(NamedTuple):
    """The key under which the reply of a request is stored, and the digest of the request."""

    key: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRequest:
    """A request that the writer accepts.

    Attributes
    ----------
    idempotency : IdempotencyKey, optional
        The idempotency key. Repeated requests with the same key have one effect and one reply.
    size : int
        The number of items, which limits how many requests share a transaction.
    client : str
        The sender: a key or an address. Clients take turns.
    """

    idempotency: IdempotencyKey | None = None
    size: int = 1
    client: str = ""
